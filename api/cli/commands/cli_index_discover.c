/* kindex index discover: indexes that an application keeps by hand. */
#include "cli/commands/cli_index.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

static const char *const DAMAGES[] = {"dangling", "missing", "stale",
                                      "duplicate"};
enum { DAMAGE_COUNT = sizeof DAMAGES / sizeof DAMAGES[0] };

static void show_key(const struct cli *cli, struct kx_slice key)
{
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    if (cli_key_path(cli, key, &path))
        cli_put(stdout, kx_buffer_slice(&path));
    kx_buffer_free(&path);
}

static void show_sample(const struct cli *cli, struct kx_slice sample)
{
    struct kx_slice key;
    const char *damage = cli_text(cli, sample, "damage");
    printf("  %-10s", damage != NULL ? damage : "?");
    if (cli_json_member(sample, "indexKey", &key))
        show_key(cli, key);
    if (cli_json_member(sample, "key", &key)) {
        fputs(" of ", stdout);
        show_key(cli, key);
    }
    putchar('\n');
}

static void show_samples(const struct cli *cli, struct kx_slice found)
{
    struct kx_slice samples;
    struct kx_slice none;
    struct kx_slice sample;
    struct kx_json_iter iter;
    if (!cli_json_member(found, "samples", &samples) ||
        !kx_json_iterate(samples, &iter))
        return;
    while (kx_json_next(&iter, &none, &sample))
        show_sample(cli, sample);
}

/* What the index is, beside its name and its numbers. */
static void show_form(const struct cli *cli, struct kx_slice found,
                      struct kx_slice declaration)
{
    struct kx_slice part;
    const char *holds = cli_text(cli, found, "holds");
    bool unique = cli_json_member(declaration, "unique", &part);
    printf(" %-7s %-7s ", unique ? "unique" : "", holds != NULL ? holds : "?");
    if (cli_json_member(declaration, "prefix", &part))
        cli_put(stdout, part);
    putchar(' ');
    if (cli_json_member(declaration, "fields", &part))
        cli_put(stdout, part);
    if (cli_json_member(declaration, "where", &part)) {
        fputs(" where ", stdout);
        cli_put(stdout, part);
    }
    putchar('\n');
}

static void show_found(const struct cli *cli, struct kx_slice found)
{
    struct kx_slice declaration = {0};
    struct kx_slice part;
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    if (!cli_json_member(found, "declaration", &declaration) ||
        !cli_json_member(found, "prefix", &part) ||
        !cli_key_path(cli, part, &path))
        return;
    fputs(cli_tint(cli), stdout);
    cli_put_column(stdout, kx_buffer_slice(&path), 28);
    printf("%s %9" PRIu64 " %9" PRIu64, cli_plain(cli),
           cli_number(found, "entries"), cli_number(found, "agree"));
    for (size_t i = 0; i < DAMAGE_COUNT; i++)
        printf(" %9" PRIu64, cli_number(found, DAMAGES[i]));
    show_form(cli, found, declaration);
    kx_buffer_free(&path);
    show_samples(cli, found);
}

/* Returns how many entries are wrong or missing. */
static uint64_t count_damage(struct kx_slice found)
{
    uint64_t count = 0;
    for (size_t i = 0; i < DAMAGE_COUNT; i++)
        count += cli_number(found, DAMAGES[i]);
    return count;
}

/* Appends the member of the file that index apply takes. */
static void add_declaration(struct kx_slice found, struct kx_buffer *out)
{
    struct kx_slice declaration;
    struct kx_slice name;
    if (!cli_json_member(found, "declaration", &declaration) ||
        !cli_json_member(declaration, "name", &name))
        return;
    kx_add(out, ",", out->size > 1);
    kx_add_slice(out, name);
    kx_add_byte(out, ':');
    kx_json_merge(declaration, kx_text("{\"name\":null}"), out);
}

static void show_all(const struct cli *cli, struct kx_json_iter iter)
{
    struct kx_slice none;
    struct kx_slice found;
    printf("%s%-28s %9s %9s", cli_bold(cli), "KEPT BY HAND", "ENTRIES",
           "AGREE");
    for (size_t i = 0; i < DAMAGE_COUNT; i++)
        printf(" %9s", DAMAGES[i]);
    printf("         HOLDS   PREFIX FIELDS%s\n", cli_plain(cli));
    while (kx_json_next(&iter, &none, &found))
        show_found(cli, found);
}

static void show_declarations(struct cli *cli, struct kx_json_iter iter)
{
    struct kx_buffer out;
    struct kx_slice none;
    struct kx_slice found;
    kx_buffer_init(&out, cli->memory);
    kx_add_byte(&out, '{');
    while (kx_json_next(&iter, &none, &found))
        add_declaration(found, &out);
    kx_add_byte(&out, '}');
    cli_show_document(cli, kx_buffer_slice(&out));
    kx_buffer_free(&out);
}

/* Prints the answer, in the form that was asked for, and returns the exit
 * status. */
static int show_answer(struct cli *cli, struct kx_slice document,
                       struct kx_json_iter iter)
{
    struct kx_slice none;
    struct kx_slice found;
    uint64_t damage = 0;
    if (cli->form == CLI_DECLARATIONS)
        show_declarations(cli, iter);
    else if (cli->form == CLI_JSON)
        cli_show_document(cli, document);
    else
        show_all(cli, iter);
    while (kx_json_next(&iter, &none, &found))
        damage += count_damage(found);
    return damage == 0 ? CLI_OK : CLI_CONFLICT;
}

int cli_index_discover(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice indexes;
    struct kx_json_iter iter;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/indexes/discover");
    if (cli->count > 0)
        cli_add_key_parameter(&path, "prefix", cli->words[0]);
    struct cli_call call = {
        .method = "POST", .path = cli_whole(&path), .may_pause = true};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    struct kx_slice document = kx_buffer_slice(&reply.body);
    if (!cli_json_member(document, "indexes", &indexes) ||
        !kx_json_iterate(indexes, &iter))
        return cli_fail("the server's answer is not a list of indexes");
    return show_answer(cli, document, iter);
}
