/* kindex ls, count, aggregate and tree. */
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_lists.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"
#include "rest/key_text.h"

/* ---- ls ----------------------------------------------------------------- */

struct list_output {
    const struct cli *cli;
    uint64_t shown;
};

static bool list_entry(void *target, struct kx_slice entry)
{
    struct list_output *output = target;
    if (output->shown == 0)
        cli_show_heading(output->cli);
    cli_show_listed(output->cli, entry);
    output->shown++;
    return !ferror(stdout) &&
           (output->cli->limit == 0 || output->shown < output->cli->limit);
}

/* Appends one parameter for each of the comma-separated values. */
static void add_in(const struct cli *cli, struct kx_buffer *path)
{
    const char *next = cli->in;
    while (next != NULL) {
        size_t size = strcspn(next, ",");
        char *value = talloc_strndup(cli->memory, next, size);
        path->failed |= value == NULL;
        cli_add_key_parameter(path, "in", value);
        next = next[size] == ',' ? next + size + 1 : NULL;
    }
}

int cli_ls(struct cli *cli)
{
    struct list_output output = {.cli = cli};
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/list");
    cli_add_selection(cli, &path);
    add_in(cli, &path);
    cli_add_parameter(&path, "order", cli->order);
    cli_add_parameter(&path, "where", cli->where);
    cli_add_parameter(&path, "fields", cli->fields);
    cli_add_parameter(&path, "preview", cli->preview);
    cli_add_parameter(&path, "share", cli->share);
    cli_add_parameter(&path, "keys",
                      cli->keys || cli->form == CLI_RAW ? "true" : NULL);
    cli_add_parameter(&path, "verbose", cli->leases ? "true" : NULL);
    if (cli->form == CLI_DEFAULT)
        cli->form = CLI_TABLE;
    int status = cli_entries(cli, cli_whole(&path), list_entry, &output);
    if (status == CLI_OK && output.shown == 0)
        cli_show_heading(cli);
    return status;
}

/* ---- count -------------------------------------------------------------- */

int cli_count(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice count, exact;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/count");
    cli_add_selection(cli, &path);
    cli_add_parameter(&path, "estimate", cli->estimate ? "true" : NULL);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    struct kx_slice document = kx_buffer_slice(&reply.body);
    if (cli->form != CLI_JSON && cli_json_member(document, "count", &count)) {
        if (cli_json_member(document, "exact", &exact) &&
            kx_equal(exact, kx_text("false")))
            putchar('~');
        document = count;
    }
    cli_show_bytes(cli, document);
    return CLI_OK;
}

/* ---- aggregate ---------------------------------------------------------- */

int cli_aggregate(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli->index = cli->words[0];
    cli->prefix = cli->count > 1 ? cli->words[1] : NULL;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/aggregate");
    cli_add_range(cli, &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

/* ---- tree --------------------------------------------------------------- */

/* The parts of keys, each level indented. Below the depth only the
 * number of entries is shown. Without a depth the command lists all keys; with
 * a depth it asks for the children of each key that it shows. */

struct tree {
    struct cli *cli;
    struct kx_buffer last; /* the key shown last, encoded, cut to the depth */
    struct kx_buffer key;
    uint64_t below; /* hidden entries under that key */
    bool estimated; /* `below` is an estimate */
    bool unknown;
    uint64_t shown;
    size_t depth;
    int status; /* of the requests for children */
};

static void end_number(struct tree *tree)
{
    tree->below = 0;
    tree->estimated = tree->unknown = false;
}

static void end_line(struct tree *tree)
{
    if (tree->shown == 0)
        return;
    if (tree->unknown)
        fputs("/  ?", stdout);
    else if (tree->below > 0)
        printf("/  %s%s%llu%s", tree->cli->colour ? "\033[2m" : "",
               tree->estimated ? "~" : "", (unsigned long long)tree->below,
               cli_plain(tree->cli));
    putchar('\n');
    end_number(tree);
}

static void show_part(struct tree *tree, struct kx_slice part, size_t level)
{
    struct kx_buffer path, shown;
    end_line(tree);
    kx_buffer_init(&path, tree->cli->memory);
    kx_buffer_init(&shown, tree->cli->memory);
    key_text_to_path(part, &path);
    cli_show_path(kx_buffer_slice(&path), &shown);
    printf("%*s%s%.*s%s", (int)(2 * level), "", cli_tint(tree->cli),
           (int)shown.size, (const char *)shown.data, cli_plain(tree->cli));
    tree->shown++;
    kx_buffer_free(&shown);
    kx_buffer_free(&path);
}

/* Shows the parts of the key up to the depth, from the first part that differs
 * from the key before. */
static bool show_key(struct tree *tree)
{
    struct kx_slice key = kx_buffer_slice(&tree->key);
    struct kx_slice last = kx_buffer_slice(&tree->last);
    size_t at = 0, level = 0, size;
    bool same = tree->shown > 0;
    while (at < key.size && level < tree->depth) {
        size = kx_part_size(kx_slice(key.data + at, key.size - at));
        if (size == 0)
            return false;
        same = same && at + size <= last.size &&
               kx_equal(kx_slice(key.data, at + size),
                        kx_slice(last.data, at + size));
        if (!same)
            show_part(tree, kx_slice(key.data + at, size), level);
        at += size;
        level++;
    }
    tree->last.size = 0;
    kx_add(&tree->last, key.data, at);
    return !tree->last.failed;
}

/* ---- For programs ------------------------------------------------------- */

static void show_row(const struct tree *tree, struct kx_slice key)
{
    fputs("{\"key\":", stdout);
    cli_put(stdout, key);
    fputs(",\"below\":", stdout);
    if (tree->unknown)
        fputs("null", stdout);
    else
        printf("%llu", (unsigned long long)tree->below);
    puts(tree->estimated ? ",\"exact\":false}" : "}");
}

/* Prints the row of the key shown last: with its parts, or as a path. */
static void end_row(struct tree *tree)
{
    struct kx_buffer key;
    struct kx_slice last = kx_buffer_slice(&tree->last);
    if (tree->shown == 0)
        return;
    kx_buffer_init(&key, tree->cli->memory);
    if (tree->cli->form == CLI_JSON) {
        kx_key_to_json(last, &key);
        show_row(tree, kx_buffer_slice(&key));
    } else {
        key_text_to_path(last, &key);
        cli_show_bytes(tree->cli, kx_buffer_slice(&key));
    }
    kx_buffer_free(&key);
    end_number(tree);
}

/* For output as JSON or raw: makes one row for each key prefix of at most
 * `depth` parts. */
static bool gather_key(struct tree *tree)
{
    struct kx_slice key = kx_buffer_slice(&tree->key);
    size_t at = 0;
    for (size_t level = 0; at < key.size && level < tree->depth; level++) {
        size_t size = kx_part_size(kx_slice(key.data + at, key.size - at));
        if (size == 0)
            return false;
        at += size;
    }
    if (tree->shown == 0 ||
        !kx_equal(kx_slice(key.data, at), kx_buffer_slice(&tree->last))) {
        end_row(tree);
        tree->last.size = 0;
        kx_add(&tree->last, key.data, at);
        tree->shown++;
    }
    return !tree->last.failed;
}

static bool for_programs(const struct tree *tree)
{
    return tree->cli->form == CLI_JSON || tree->cli->form == CLI_RAW;
}

/* Shows the key up to the depth and remembers it as the last key shown. */
static bool place(struct tree *tree)
{
    return for_programs(tree) ? gather_key(tree) : show_key(tree);
}

static bool read_key(struct tree *tree, struct kx_slice object)
{
    struct kx_slice array;
    struct input_error error;
    tree->key.size = 0;
    return cli_json_member(object, "key", &array) &&
           key_text_from_json(array, &tree->key, &error);
}

static bool take_entry(void *target, struct kx_slice entry)
{
    struct tree *tree = target;
    if (!read_key(tree, entry) || !place(tree))
        return false;
    tree->below += tree->key.size > tree->last.size;
    return !ferror(stdout);
}

/* ---- By children -------------------------------------------------------- */

static size_t count_parts(struct kx_slice key)
{
    size_t count = 0;
    size_t size;
    while (key.size > 0 && (size = kx_part_size(key)) > 0) {
        key = kx_slice(key.data + size, key.size - size);
        count++;
    }
    return count;
}

static bool is_true(struct kx_slice object, const char *name)
{
    struct kx_slice value;
    return cli_json_member(object, name, &value) &&
           kx_equal(value, kx_text("true"));
}

static cli_element_fn take_child;

static int list_children(struct tree *tree, const char *prefix)
{
    struct kx_buffer path;
    kx_buffer_init(&path, tree->cli->memory);
    kx_add_text(&path, "/tree?limit=1000");
    cli_add_parameter(&path, "index", tree->cli->index);
    if (prefix != NULL)
        cli_add_parameter(&path, "prefix", prefix);
    else
        cli_add_prefix(tree->cli, &path);
    return cli_pages(tree->cli, cli_whole(&path), "children", take_child, tree);
}

/* The numbers of a child are those of the key that is shown for it. */
static void add_number(struct tree *tree, struct kx_slice child)
{
    struct kx_slice below;
    tree->unknown |= cli_json_member(child, "below", &below) &&
                     kx_equal(below, kx_text("null"));
    tree->estimated |= !is_true(child, "exact");
    tree->below += cli_number(child, "below");
    if (tree->key.size > tree->last.size)
        tree->below += is_true(child, "entry");
}

static void descend(struct tree *tree)
{
    struct kx_buffer prefix;
    kx_buffer_init(&prefix, tree->cli->memory);
    kx_key_to_json(kx_buffer_slice(&tree->key), &prefix);
    kx_add_byte(&prefix, '\0');
    tree->status = prefix.failed
                       ? cli_fail("no memory")
                       : list_children(tree, (const char *)prefix.data);
}

static void take_child(const struct cli *cli, void *target,
                       struct kx_slice child)
{
    struct tree *tree = target;
    struct kx_slice below;
    (void)cli;
    if (tree->status != CLI_OK || ferror(stdout))
        return;
    bool done = read_key(tree, child);
    bool inner = count_parts(kx_buffer_slice(&tree->key)) < tree->depth;
    if (done && (!inner || is_true(child, "entry")))
        done = place(tree);
    if (!done)
        tree->status = cli_fail("the server's answer has no key");
    else if (!inner)
        add_number(tree, child);
    else if (cli_json_member(child, "below", &below) &&
             !kx_equal(below, kx_text("0")))
        descend(tree);
}

/* ---- The command -------------------------------------------------------- */

static int list_keys(struct tree *tree)
{
    struct kx_buffer path;
    kx_buffer_init(&path, tree->cli->memory);
    kx_add_text(&path, "/list?keys=true");
    cli_add_selection(tree->cli, &path);
    return cli_entries(tree->cli, cli_whole(&path), take_entry, tree);
}

int cli_tree(struct cli *cli)
{
    bool bounded = cli->start != NULL || cli->end != NULL;
    size_t deepest = cli->index != NULL ? 1 : SIZE_MAX;
    struct tree tree = {.cli = cli,
                        .depth = cli->depth > 0 ? cli->depth : deepest};
    if (cli->index != NULL && bounded)
        return cli_misuse(cli, "--index does not go with --start and --end");
    kx_buffer_init(&tree.last, cli->memory);
    kx_buffer_init(&tree.key, cli->memory);
    int status = tree.depth == SIZE_MAX || bounded ? list_keys(&tree)
                                                   : list_children(&tree, NULL);
    if (for_programs(&tree))
        end_row(&tree);
    else
        end_line(&tree);
    return status == CLI_OK ? tree.status : status;
}
