/* kindex doctor: checks of the server, with a line for each result; kindex
 * ready: the health check alone. */
#include "cli/commands/cli_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/bulk/metrics_scrape.h"
#include "cli/cli_json.h"
#include "cli/cli_lists.h"
#include "cli/cli_show.h"

/* The same limits as in the alerts KindexBackupLate and KindexArchiveLate. */
enum {
    BACKUP_LATE_S = 2 * 24 * 3600, /* age of the last backup */
    ARCHIVE_LATE_S = 600           /* age of the archive's log */
};

enum health { FINE, WARN, FAIL };

struct doctor {
    struct cli *cli;
    bool failed;
    size_t tokens;  /* stored access tokens that the caller may see */
    size_t endless; /* of these, those that never expire */
};

static void say_json(const struct cli *cli, const char *word, const char *what,
                     const char *more)
{
    struct kx_buffer text;
    kx_buffer_init(&text, cli->memory);
    kx_json_escape(kx_text(more), &text);
    printf("{\"verdict\":\"%s\",\"what\":\"%s\",\"more\":%.*s}\n", word, what,
           (int)text.size, (const char *)text.data);
    kx_buffer_free(&text);
}

static void say(struct doctor *doctor, enum health health, const char *what,
                const char *more)
{
    static const char *const WORDS[] = {"ok", "warn", "FAIL"};
    static const char *const COLOURS[] = {"\033[32m", "\033[33m", "\033[31m"};
    doctor->failed |= health == FAIL;
    if (doctor->cli->form == CLI_JSON)
        say_json(doctor->cli, WORDS[health], what, more);
    else
        printf("%s%-5s%s %-24s %s\n",
               doctor->cli->colour ? COLOURS[health] : "", WORDS[health],
               cli_plain(doctor->cli), what, more);
}

static int ask_version(struct doctor *doctor)
{
    struct cli_reply reply;
    int status = cli_fetch(doctor->cli, "/version", &reply);
    if (status != CLI_OK)
        return status;
    const char *version =
        cli_text(doctor->cli, kx_buffer_slice(&reply.body), "version");
    bool same = version != NULL && strcmp(version, KX_VERSION) == 0;
    say(doctor, same ? FINE : WARN, "version",
        version != NULL ? version : "unknown");
    return CLI_OK;
}

/* Skips the check of indexes, because each index gets its own line later. */
static void judge_check(struct doctor *doctor, struct kx_slice check)
{
    const char *name = cli_text(doctor->cli, check, "name");
    const char *state = cli_text(doctor->cli, check, "state");
    const char *detail = cli_text(doctor->cli, check, "detail");
    if (name == NULL || state == NULL || strcmp(name, "indexes") == 0)
        return;
    enum health health = strcmp(state, "ok") == 0        ? FINE
                         : strcmp(state, "warning") == 0 ? WARN
                                                         : FAIL;
    say(doctor, health, name, detail != NULL ? detail : state);
}

/* With a full disk the server is ready, because reads work. */
static bool refuses_writes(const struct cli *cli, struct kx_slice checks)
{
    struct kx_slice name, check;
    struct kx_json_iter iter;
    if (!kx_json_iterate(checks, &iter))
        return false;
    while (kx_json_next(&iter, &name, &check)) {
        const char *what = cli_text(cli, check, "name");
        const char *state = cli_text(cli, check, "state");
        if (what != NULL && state != NULL && strcmp(what, "disk") == 0)
            return strcmp(state, "ok") != 0;
    }
    return false;
}

static void judge_ready(struct doctor *doctor, long status,
                        struct kx_slice checks)
{
    if (status != 200)
        say(doctor, FAIL, "ready", "accepts no writes");
    else if (refuses_writes(doctor->cli, checks))
        say(doctor, WARN, "ready", "accepts reads, but no writes");
    else
        say(doctor, FINE, "ready", "accepts reads and writes");
}

/* A server that is not ready answers with the same checks. */
static int ask_ready(struct doctor *doctor)
{
    struct cli_reply reply;
    struct kx_slice checks = kx_text("[]");
    struct kx_slice name, check;
    struct kx_json_iter iter;
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/readyz?verbose=true")};
    int status = cli_send(doctor->cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (cli_is_json(&reply))
        cli_json_member(kx_buffer_slice(&reply.body), "checks", &checks);
    judge_ready(doctor, reply.status, checks);
    if (kx_json_iterate(checks, &iter))
        while (kx_json_next(&iter, &name, &check))
            judge_check(doctor, check);
    return CLI_OK;
}

/* ---- Access ---------------------------------------------------------------
 */

/* True for an address of this machine, where nothing passes a network. */
static bool is_local(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           strcmp(host, "localhost") == 0 ||
           strncmp(host, "localhost:", 10) == 0;
}

static void judge_transport(struct doctor *doctor)
{
    const char *url = doctor->cli->url;
    if (strncmp(url, "https://", 8) == 0)
        say(doctor, FINE, "tls", "requests are encrypted");
    else if (is_local(url))
        say(doctor, FINE, "tls", "not used, on an address of this machine");
    else
        say(doctor, WARN, "tls", "requests are not encrypted: --tls-cert");
}

static void judge_token(const struct cli *cli, void *target,
                        struct kx_slice token)
{
    struct doctor *doctor = target;
    struct kx_slice value;
    (void)cli;
    if (cli_json_member(token, "fixed", &value))
        return;
    doctor->tokens++;
    doctor->endless += !cli_json_member(token, "expiresAt", &value);
}

/* Counts the tokens, if the caller may list them. */
static int ask_tokens(struct doctor *doctor)
{
    struct cli *cli = doctor->cli;
    struct cli_reply reply;
    char text[80];
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/tokens?limit=1")};
    int status = cli_send(cli, &call, &reply);
    if (status != CLI_OK || reply.status != 200)
        return status;
    status = cli_pages(cli, kx_text("/tokens"), "tokens", judge_token, doctor);
    snprintf(text, sizeof text, "%zu, %zu without an expiry", doctor->tokens,
             doctor->endless);
    if (status == CLI_OK)
        say(doctor, doctor->endless > 0 ? WARN : FINE, "tokens", text);
    return status;
}

static int ask_access(struct doctor *doctor)
{
    struct cli_reply reply;
    struct kx_slice required;
    judge_transport(doctor);
    int status = cli_fetch(doctor->cli, "/tokens/self", &reply);
    if (status != CLI_OK ||
        !cli_json_member(kx_buffer_slice(&reply.body), "required", &required))
        return status;
    if (kx_equal(required, kx_text("true"))) {
        say(doctor, FINE, "access", "requests need a token");
        return ask_tokens(doctor);
    }
    say(doctor, is_local(doctor->cli->url) ? FINE : WARN, "access",
        "every client may do everything, without a token");
    return CLI_OK;
}

/* ---- Copies ----------------------------------------------------------------
 */

static const struct copy {
    const char *what;
    const char *metric; /* the time of the last one */
    double late_s;      /* an older copy has the health `late` */
    enum health late;
    const char *missing;
} COPIES[] = {
    {"backup", "kindex_backup_last_success_timestamp_seconds", BACKUP_LATE_S,
     WARN, "none was made: kindex backup, or --archive"},
    {"archive", "kindex_archive_last_success_timestamp_seconds", ARCHIVE_LATE_S,
     FAIL, "no --archive, or nothing was copied to it since the start"},
};

static void judge_copy(struct doctor *doctor,
                       const struct metrics_scrape *scrape,
                       const struct copy *copy)
{
    double at_s = metrics_scrape_sum(scrape, copy->metric, "");
    double age_s = (double)kx_now_ms() / 1000 - at_s;
    char text[80];
    if (at_s == 0) {
        say(doctor, WARN, copy->what, copy->missing);
        return;
    }
    if (age_s < 0)
        age_s = 0;
    if (age_s < 2 * 3600)
        snprintf(text, sizeof text, "the last is %.0f seconds old", age_s);
    else
        snprintf(text, sizeof text, "the last is %.1f days old",
                 age_s / (24 * 3600));
    say(doctor, age_s > copy->late_s ? copy->late : FINE, copy->what, text);
}

/* Prints how old the copies are, if the caller may see the metrics. A standby
 * makes none, and an empty store has nothing to copy. */
static int ask_copies(struct doctor *doctor)
{
    struct cli_reply reply;
    struct metrics_scrape scrape;
    struct cli_call call = {
        .method = "GET", .path = kx_text("/metrics"), .any = true};
    int status = cli_send(doctor->cli, &call, &reply);
    if (status != CLI_OK || reply.status != 200)
        return status;
    if (!metrics_scrape_parse(doctor->cli->memory, kx_buffer_slice(&reply.body),
                              &scrape))
        return cli_fail("%s/metrics is not the answer of a Kindex server",
                        doctor->cli->url);
    if (metrics_scrape_sum(&scrape, "kindex_versionstamp", "") == 0)
        return CLI_OK;
    for (size_t i = 0; i < sizeof COPIES / sizeof *COPIES; i++)
        judge_copy(doctor, &scrape, &COPIES[i]);
    return CLI_OK;
}

/* ---- Indexes --------------------------------------------------------------
 */

/* Sets the number of entries that meet the conditions of the index but are left
 * out. Returns false if the server has not counted them. */
static bool left_out_of(struct kx_slice index, uint64_t *entries_out)
{
    struct kx_slice left_out;
    *entries_out = 0;
    if (!cli_json_member(index, "leftOut", &left_out) ||
        kx_json_type(left_out) != KX_JSON_OBJECT)
        return false;
    *entries_out =
        cli_number(left_out, "entries") - cli_number(left_out, "where");
    return true;
}

/* Returns the state of an index that works, followed by how many entries it
 * leaves out. */
static const char *tell_left_out(const struct cli *cli, struct kx_slice index,
                                 const char *name, const char *state)
{
    char *text = NULL;
    uint64_t left_out = 0;
    bool counted = left_out_of(index, &left_out);
    if (left_out > 0)
        text = talloc_asprintf(
            cli->memory, "%s: leaves out %" PRIu64 " entries", state, left_out);
    else if (!counted && strcmp(state, "ready") == 0)
        text = talloc_asprintf(cli->memory,
                               "%s: \"kindex index verify %s\" counts the "
                               "entries that it leaves out",
                               state, name);
    return text != NULL ? text : state;
}

/* Returns the state of the index, followed by its failure or by the command
 * that lists its conflicts. */
static const char *tell(const struct cli *cli, struct kx_slice index,
                        const char *name, const char *state)
{
    const char *failure = cli_text(cli, index, "failure");
    char *text = NULL;
    if (failure != NULL)
        text = talloc_asprintf(cli->memory, "%s: %s", state, failure);
    else if (strcmp(state, "conflicted") == 0)
        text = talloc_asprintf(cli->memory,
                               "%s: \"kindex index conflicts %s\" lists the "
                               "entries",
                               state, name);
    return text != NULL ? text : tell_left_out(cli, index, name, state);
}

static void judge_index(const struct cli *cli, void *target,
                        struct kx_slice index)
{
    struct doctor *doctor = target;
    const char *name = cli_text(cli, index, "name");
    const char *state = cli_index_state(cli, index);
    enum health health = WARN;
    uint64_t left_out;
    if (name == NULL || state == NULL)
        return;
    if (left_out_of(index, &left_out) && left_out == 0)
        health = FINE;
    if (strcmp(state, "failed") == 0 || strcmp(state, "conflicted") == 0)
        health = FAIL;
    say(doctor, health, name, tell(cli, index, name, state));
}

/* ---- Rules ---------------------------------------------------------------
 */

static void judge_rule(const struct cli *cli, void *target,
                       struct kx_slice rule)
{
    struct doctor *doctor = target;
    const char *name = cli_text(cli, rule, "name");
    const char *state = cli_text(cli, rule, "state");
    const char *text = state;
    if (name == NULL || state == NULL)
        return;
    bool conflicted = strcmp(state, "conflicted") == 0;
    if (conflicted)
        text = talloc_asprintf(
            cli->memory,
            "%s: \"kindex rule violations %s\" lists %" PRIu64 " entries",
            state, name, cli_number(rule, "violations"));
    enum health health = strcmp(state, "ready") == 0 ? FINE : WARN;
    say(doctor, conflicted ? FAIL : health, name, text != NULL ? text : state);
}

int cli_doctor(struct cli *cli)
{
    struct doctor doctor = {.cli = cli};
    int status = ask_version(&doctor);
    if (status == CLI_OK)
        status = ask_ready(&doctor);
    if (status == CLI_OK)
        status = ask_access(&doctor);
    if (status == CLI_OK)
        status = ask_copies(&doctor);
    if (status == CLI_OK)
        status = cli_pages(cli, kx_text("/indexes"), "indexes", judge_index,
                           &doctor);
    if (status == CLI_OK)
        status =
            cli_pages(cli, kx_text("/rules"), "rules", judge_rule, &doctor);
    if (status != CLI_OK)
        return status;
    return doctor.failed ? CLI_ERROR : CLI_OK;
}

int cli_ready(struct cli *cli)
{
    struct cli_reply reply;
    int status = cli_fetch(cli, "/readyz?verbose=true", &reply);
    if (status != CLI_OK)
        return status;
    if (cli->form == CLI_JSON || cli->form == CLI_TABLE)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    else
        puts("ready");
    return CLI_OK;
}
