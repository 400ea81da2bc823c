/* kindex tree: the parts of keys, each level indented. Parts below the depth
 * are not shown; the number of their entries is. */
#include "cli/cli_entries.h"

#include <stdio.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "rest/key_text.h"

struct tree {
    struct cli *cli;
    struct kx_buffer last; /* the key shown last, encoded, cut to the depth */
    struct kx_buffer key;
    uint64_t below; /* hidden entries under that key */
    uint64_t shown;
    size_t depth;
};

static void end_line(struct tree *tree)
{
    if (tree->shown == 0)
        return;
    if (tree->below > 0)
        printf("/  %s%llu%s", tree->cli->colour ? "\033[2m" : "",
               (unsigned long long)tree->below, cli_plain(tree->cli));
    putchar('\n');
    tree->below = 0;
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
    if (at < key.size)
        tree->below++;
    tree->last.size = 0;
    kx_add(&tree->last, key.data, at);
    return !tree->last.failed;
}

/* ---- For programs ------------------------------------------------------- */

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
        printf("{\"key\":%.*s,\"below\":%llu}\n", (int)key.size,
               (const char *)key.data, (unsigned long long)tree->below);
    } else {
        key_text_to_path(last, &key);
        cli_show_bytes(kx_buffer_slice(&key));
    }
    kx_buffer_free(&key);
    tree->below = 0;
}

/* Makes one row for each key prefix of at most `depth` parts. */
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
    tree->below += at < key.size;
    return !tree->last.failed;
}

static bool for_programs(const struct tree *tree)
{
    return tree->cli->form == CLI_JSON || tree->cli->form == CLI_RAW;
}

static bool take_entry(void *target, struct kx_slice entry)
{
    struct tree *tree = target;
    struct kx_slice array;
    struct input_error error;
    tree->key.size = 0;
    return cli_json_member(entry, "key", &array) &&
           key_text_from_json(array, &tree->key, &error) &&
           (for_programs(tree) ? gather_key(tree) : show_key(tree)) &&
           !ferror(stdout);
}

int cli_tree(struct cli *cli)
{
    struct tree tree = {.cli = cli,
                        .depth = cli->depth > 0 ? cli->depth : SIZE_MAX};
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    kx_buffer_init(&tree.last, cli->memory);
    kx_buffer_init(&tree.key, cli->memory);
    kx_add_text(&path, "/list?keys=true");
    cli_add_selection(cli, &path);
    int status = cli_entries(cli, cli_whole(&path), take_entry, &tree);
    if (for_programs(&tree))
        end_row(&tree);
    else
        end_line(&tree);
    return status;
}
