/* kindex index ls, show, get, watch, verify, pause, resume, throttle,
 * conflicts, rm. The commands that declare indexes are in cli_index_add.c. */
#include "cli/commands/cli_index.h"

#include <stdio.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

#include "cli/cli_lists.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

/* Sets *path, which need not be initialized, to /indexes/NAME. The caller frees
 * it. */
static void cli_index_address(struct cli *cli, const char *name,
                              struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/indexes/");
    cli_add_key(path, name);
}

void cli_index_path(struct cli *cli, const char *tail, struct kx_buffer *path)
{
    cli_index_address(cli, cli->words[0], path);
    kx_add_text(path, tail);
}

int cli_index_call(struct cli *cli, const char *method, const char *tail,
                   struct kx_slice body)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, tail, &path);
    struct cli_call call = {
        .method = method, .path = cli_whole(&path), .body = body};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

const char *cli_index_state(const struct cli *cli, struct kx_slice index)
{
    struct kx_slice migration;
    if (cli_json_member(index, "migration", &migration)) {
        const char *state = cli_text(cli, migration, "state");
        if (state != NULL && strcmp(state, "conflicted") == 0)
            return state;
    }
    return cli_text(cli, index, "state");
}

/* ---- ls ----------------------------------------------------------------- */

enum { PREFIX_WIDTH = 16 };

static struct kx_slice member_or(struct kx_slice object, const char *name,
                                 const char *other)
{
    struct kx_slice value;
    return cli_json_member(object, name, &value) ? value : kx_text(other);
}

/* Prints the prefix as a path. */
static void show_prefix(const struct cli *cli, struct kx_slice prefix)
{
    struct kx_buffer path;
    struct kx_buffer shown;
    kx_buffer_init(&path, cli->memory);
    kx_buffer_init(&shown, cli->memory);
    if (cli_key_path(cli, prefix, &path))
        cli_show_path(kx_buffer_slice(&path), &shown);
    cli_put_column(stdout, kx_buffer_slice(&shown), PREFIX_WIDTH);
    kx_buffer_free(&shown);
    kx_buffer_free(&path);
}

/* Prints a field in the syntax of `index add`, and in brackets what is an
 * option there. */
static void show_field(const struct cli *cli, struct kx_slice field)
{
    const char *path = cli_text(cli, field, "path");
    const char *order = cli_text(cli, field, "order");
    const char *fold = cli_text(cli, field, "fold");
    struct kx_slice part;
    if (path != NULL)
        printf(" %s", path + (path[0] == '/' && path[1] != '\0'));
    else if (cli_json_member(field, "key", &part))
        printf(" key:%.*s", (int)part.size, (const char *)part.data);
    else
        fputs(" versionstamp", stdout);
    if (order != NULL)
        printf(":%s", order);
    if (fold != NULL)
        printf(" (%s)", fold);
    if (cli_json_member(field, "each", &part))
        fputs(" (each)", stdout);
}

static void show_fields(const struct cli *cli, struct kx_slice fields)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice field;
    if (!kx_json_iterate(fields, &iter))
        return;
    while (kx_json_next(&iter, &name, &field))
        show_field(cli, field);
}

/* The members that distinguish indexes with the same fields. */
static void show_rest(struct kx_slice index)
{
    struct kx_slice store = member_or(index, "store", "\"pointer\"");
    struct kx_slice where;
    if (!kx_equal(store, kx_text("\"pointer\""))) {
        fputs(" store ", stdout);
        cli_put(stdout, store);
    }
    if (cli_json_member(index, "where", &where)) {
        fputs(" where ", stdout);
        cli_put(stdout, where);
    }
    putchar('\n');
}

/* Prints the number of entries that the index leaves out, or "?" if the server
 * has not counted them. */
static void show_left_out(struct kx_slice index)
{
    struct kx_slice left_out = member_or(index, "leftOut", "{}");
    cli_put_column(stdout, member_or(left_out, "entries", "?"), -10);
}

static void show_row(const struct cli *cli, struct kx_slice index)
{
    struct kx_slice entries = member_or(index, "entries", "");
    struct kx_slice prefix = member_or(index, "prefix", "");
    struct kx_slice fields = member_or(index, "fields", "");
    bool unique = kx_equal(member_or(index, "unique", ""), kx_text("true"));
    const char *name = cli_text(cli, index, "name");
    const char *state = cli_index_state(cli, index);
    printf("%s%-28s%s %-10s ", cli_tint(cli), name != NULL ? name : "?",
           cli_plain(cli), state != NULL ? state : "?");
    cli_put_column(stdout, entries, -10);
    putchar(' ');
    show_left_out(index);
    printf(" %-7s ", unique ? "unique" : "");
    show_prefix(cli, prefix);
    show_fields(cli, fields);
    show_rest(index);
}

static void show_heading(const struct cli *cli)
{
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE)
        printf("%s%-28s %-10s %10s %10s %-7s %-*s %s%s\n", cli_bold(cli),
               "INDEX", "STATE", "ENTRIES", "LEFT OUT", "", PREFIX_WIDTH,
               "PREFIX", "FIELDS", cli_plain(cli));
}

static void show_index(const struct cli *cli, void *target,
                       struct kx_slice index)
{
    bool *headed = target;
    const char *name = cli_text(cli, index, "name");
    if (!*headed)
        show_heading(cli);
    *headed = true;
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, index);
    else if (cli->form == CLI_RAW)
        puts(name != NULL ? name : "?");
    else
        show_row(cli, index);
}

static int show_declarations(struct cli *cli)
{
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/indexes?declarations=true")};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

int cli_index_ls(struct cli *cli)
{
    if (cli->form == CLI_DECLARATIONS)
        return show_declarations(cli);
    bool headed = false;
    int status =
        cli_pages(cli, kx_text("/indexes"), "indexes", show_index, &headed);
    if (status == CLI_OK && !headed)
        show_heading(cli);
    return status;
}

/* ---- One index ---------------------------------------------------------- */

int cli_index_show(struct cli *cli)
{
    return cli_index_call(cli, "GET", "", kx_slice(NULL, 0));
}

int cli_index_rm(struct cli *cli)
{
    return cli_index_call(cli, "DELETE", "", kx_slice(NULL, 0));
}

/* Also resumes. */
int cli_index_pause(struct cli *cli)
{
    bool resumes = strcmp(cli->command->name, "index resume") == 0;
    return cli_index_call(cli, "POST", resumes ? "/resume" : "/pause",
                          kx_slice(NULL, 0));
}

int cli_index_throttle(struct cli *cli)
{
    struct kx_fault fault;
    char *body =
        talloc_asprintf(cli->memory, "{\"perSecond\":%s}", cli->words[1]);
    if (body == NULL)
        return cli_fail("memory ran out");
    if (kx_json_check(kx_text(cli->words[1]), &fault) != KX_OK)
        return cli_misuse(cli, "\"%s\" is neither a number nor null",
                          cli->words[1]);
    return cli_index_call(cli, "POST", "/throttle", kx_text(body));
}

int cli_index_get(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, "/get/", &path);
    cli_add_key(&path, cli->words[1]);
    cli_add_parameter(&path, "fields", cli->fields);
    struct cli_call call = {
        .method = "GET", .path = cli_whole(&path), .any = true};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_bytes(cli, kx_buffer_slice(&reply.body));
    return status;
}

static void show_key(const struct cli *cli, struct kx_slice key)
{
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    cli_key_path(cli, key, &path);
    printf("%.*s", (int)path.size, (const char *)path.data);
    kx_buffer_free(&path);
}

/* Prints the value and, indented, its entries; raw: only the entries' paths. */
static void show_group(const struct cli *cli, void *target,
                       struct kx_slice group)
{
    struct kx_slice value = member_or(group, "value", "?");
    struct kx_slice keys, name, key;
    struct kx_json_iter iter;
    *(bool *)target = true;
    if ((cli->form != CLI_TABLE && cli->form != CLI_RAW) ||
        !cli_json_member(group, "keys", &keys) ||
        !kx_json_iterate(keys, &iter)) {
        cli_show_bytes(cli, group);
        return;
    }
    if (cli->form == CLI_TABLE) {
        fputs(cli_bold(cli), stdout);
        cli_put(stdout, value);
        printf("%s\n", cli_plain(cli));
    }
    while (kx_json_next(&iter, &name, &key)) {
        fputs(cli->form == CLI_TABLE ? "  " : "", stdout);
        show_key(cli, key);
        putchar('\n');
    }
}

/* Returns CLI_CONFLICT if there are any conflicts. */
int cli_index_conflicts(struct cli *cli)
{
    struct kx_buffer path;
    bool found = false;
    cli_index_path(cli, "/conflicts", &path);
    int status =
        cli_pages(cli, cli_whole(&path), "conflicts", show_group, &found);
    return status == CLI_OK && found ? CLI_CONFLICT : status;
}

/* ---- watch, and --wait of other commands -------------------------------- */

/* The events of one index until it is ready or conflicted, or of all indexes.
 */

struct following {
    struct cli *cli;
    struct cli_progress progress;
    char state[32];
    bool ended; /* no event follows: the index is ready, conflicted or removed
                 */
    bool gone;
};

static void show_event(struct following *following, struct kx_slice index)
{
    struct kx_slice build;
    const char *state = cli_index_state(following->cli, index);
    snprintf(following->state, sizeof following->state, "%s",
             state != NULL ? state : "");
    if (following->ended || following->cli->form == CLI_JSON) {
        cli_progress_clear(&following->progress);
        cli_show_document(following->cli, index);
        fflush(stdout);
    } else if (cli_json_member(index, "build", &build)) {
        uint64_t done = cli_number(build, "done");
        cli_progress_show(&following->progress, done, done,
                          cli_number(build, "total"));
    }
}

/* Takes a line of server-sent events; only `event:` and `data:` are used. */
static bool take_line(void *target, struct kx_slice line)
{
    struct following *following = target;
    struct kx_fault fault;
    struct kx_slice data;
    if (kx_equal(line, kx_text("event: settled")))
        following->ended = true;
    if (kx_equal(line, kx_text("event: gone")))
        following->ended = following->gone = true;
    if (!kx_starts_with(line, kx_text("data: ")))
        return true;
    data = kx_slice(line.data + 6, line.size - 6);
    if (kx_json_check_document(data, &fault) != KX_OK)
        return false;
    show_event(following, data);
    return !following->ended;
}

int cli_index_follow(struct cli *cli, const char *name)
{
    struct following following = {.cli = cli};
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_address(cli, name, &path);
    cli_progress_begin(&following.progress, "indexed");
    struct cli_call call = {.method = "GET",
                            .path = cli_whole(&path),
                            .accept = "text/event-stream",
                            .may_pause = true,
                            .line = take_line,
                            .target = &following};
    int status = cli_ask(cli, &call, &reply);
    cli_progress_clear(&following.progress);
    if (status != CLI_OK)
        return status;
    if (following.gone) {
        cli_fail("the index is gone");
        return CLI_ABSENT;
    }
    if (!following.ended) {
        cli_fail("the server stopped before the index was ready or conflicted");
        return CLI_UNAVAILABLE;
    }
    if (strcmp(following.state, "conflicted") == 0)
        return CLI_CONFLICT;
    return strcmp(following.state, "failed") == 0 ? CLI_ERROR : CLI_OK;
}

/* ---- All indexes -------------------------------------------------------- */

struct overlooking {
    struct cli *cli;
    uint64_t count; /* lines shown */
};

/* An index that is gone has no state. */
static void show_line(const struct cli *cli, struct kx_slice index)
{
    struct kx_slice build;
    const char *name = cli_text(cli, index, "name");
    const char *state = cli_index_state(cli, index);
    printf("%s%-28s%s %s", cli_tint(cli), name != NULL ? name : "?",
           cli_plain(cli), state != NULL ? state : "gone");
    if (cli_json_member(index, "build", &build))
        printf(" %llu of %llu", (unsigned long long)cli_number(build, "done"),
               (unsigned long long)cli_number(build, "total"));
    putchar('\n');
}

static bool take_any(void *target, struct kx_slice line)
{
    struct overlooking *overlooking = target;
    const struct cli *cli = overlooking->cli;
    struct kx_fault fault;
    if (!kx_starts_with(line, kx_text("data: ")))
        return true;
    struct kx_slice index = kx_slice(line.data + 6, line.size - 6);
    if (kx_json_check_document(index, &fault) != KX_OK)
        return false;
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, index);
    else
        show_line(cli, index);
    fflush(stdout);
    overlooking->count++;
    return !ferror(stdout) && overlooking->count != cli->limit;
}

static int overlook(struct cli *cli)
{
    struct overlooking overlooking = {.cli = cli};
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/indexes"),
                            .accept = "text/event-stream",
                            .may_pause = true,
                            .line = take_any,
                            .target = &overlooking};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK || ferror(stdout) ||
        (cli->limit > 0 && overlooking.count >= cli->limit))
        return status;
    cli_fail("the server ended the watch");
    return CLI_UNAVAILABLE;
}

int cli_index_watch(struct cli *cli)
{
    return cli->count == 0 ? overlook(cli)
                           : cli_index_follow(cli, cli->words[0]);
}

/* ---- verify: starts a verification and shows its progress --------------- */

enum { PAUSE_US = 20000, PAUSE_MAX_US = 500000 };

static bool running(const struct cli *cli, struct kx_slice report)
{
    const char *state = cli_text(cli, report, "state");
    return state != NULL && strcmp(state, "running") == 0;
}

/* Polls until the report is complete and leaves it in *reply. */
static int wait_for_end(struct cli *cli, struct cli_reply *reply)
{
    struct kx_buffer path;
    struct cli_progress progress;
    useconds_t pause = PAUSE_US;
    int status = CLI_OK;
    cli_index_path(cli, "/verify", &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    cli_progress_begin(&progress, "compared");
    while (status == CLI_OK && running(cli, kx_buffer_slice(&reply->body))) {
        struct kx_slice report = kx_buffer_slice(&reply->body);
        uint64_t done = cli_number(report, "done");
        cli_progress_show(&progress, done, done, cli_number(report, "total"));
        usleep(pause);
        pause = pause * 2 > PAUSE_MAX_US ? PAUSE_MAX_US : pause * 2;
        kx_buffer_free(&reply->body);
        status = cli_ask(cli, &call, reply);
    }
    cli_progress_clear(&progress);
    return status;
}

/* Returns CLI_CONFLICT if a difference was not repaired. */
static int judge(const struct cli *cli, struct kx_slice report)
{
    const char *state = cli_text(cli, report, "state");
    if (state == NULL || strcmp(state, "done") != 0)
        return cli_fail("the server's answer is not a finished report");
    uint64_t wrong =
        cli_number(report, "missing") + cli_number(report, "dangling") +
        cli_number(report, "stale") + cli_number(report, "duplicate") +
        cli_number(report, "miscounted");
    return wrong > cli_number(report, "mended") ? CLI_CONFLICT : CLI_OK;
}

int cli_index_verify(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, cli->repair ? "/verify?repair=true" : "/verify", &path);
    struct cli_call call = {.method = "POST", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        status = wait_for_end(cli, &reply);
    if (status != CLI_OK)
        return status;
    cli_show_document(cli, kx_buffer_slice(&reply.body));
    return judge(cli, kx_buffer_slice(&reply.body));
}
