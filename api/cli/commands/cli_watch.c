/* kindex watch: shows entries whenever they have changed, by the events of GET
 * /watch. */
#include "cli/cli_http.h"

#include <stdio.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"

enum watch_event { OTHER, CHANGE, FAILURE };

struct watching {
    struct cli *cli;
    uint64_t count; /* lines shown */
    uint64_t resets;
    enum watch_event event; /* the current one */
    int status; /* exit status for a failure that the server has sent */
};

/* True if the limit of lines is reached or the output has failed. */
static bool enough(const struct watching *watching)
{
    uint64_t limit = watching->cli->limit;
    return ferror(stdout) || (limit > 0 && watching->count >= limit);
}

/* ---- Events ------------------------------------------------------------- */

/* Changes of an index are shown to the end of their commit, whose id --since
 * takes to continue. */
static bool show_changes(struct watching *watching, struct kx_slice data)
{
    bool whole = watching->cli->index != NULL;
    struct kx_json_iter iter;
    struct kx_slice entries, name, entry;
    if (!cli_json_member(data, "entries", &entries) ||
        !kx_json_iterate(entries, &iter))
        return false;
    while ((whole || !enough(watching)) && kx_json_next(&iter, &name, &entry)) {
        cli_show_entry(watching->cli, entry);
        watching->count++;
    }
    fflush(stdout);
    return whole ? !ferror(stdout) : !enough(watching);
}

/* The first reset event only says that the watch of a prefix has begun. */
static void take_reset(struct watching *watching)
{
    if (watching->resets++ > 0)
        fputs("kindex: more entries may have changed than are shown; kindex ls "
              "lists the current ones\n",
              stderr);
}

static void take_event(struct watching *watching, struct kx_slice event)
{
    watching->event = kx_equal(event, kx_text("change"))  ? CHANGE
                      : kx_equal(event, kx_text("error")) ? FAILURE
                                                          : OTHER;
    if (kx_equal(event, kx_text("reset")))
        take_reset(watching);
}

/* Prints the problem document that ends a watch, and ends the stream. */
static bool show_failure(struct watching *watching, struct kx_slice document)
{
    struct cli_reply reply = {.status = (long)cli_number(document, "status")};
    kx_buffer_init(&reply.body, watching->cli->memory);
    kx_add_slice(&reply.body, document);
    watching->status = cli_problem(watching->cli, &reply);
    return false;
}

static bool take_line(void *target, struct kx_slice line)
{
    struct watching *watching = target;
    struct kx_fault fault;
    if (kx_starts_with(line, kx_text("event: ")))
        take_event(watching, kx_slice(line.data + 7, line.size - 7));
    if (kx_starts_with(line, kx_text("id: ")))
        return !enough(watching);
    if (watching->event == OTHER || !kx_starts_with(line, kx_text("data: ")))
        return true;
    struct kx_slice data = kx_slice(line.data + 6, line.size - 6);
    if (kx_json_check_document(data, &fault) != KX_OK)
        return false;
    return watching->event == CHANGE ? show_changes(watching, data)
                                     : show_failure(watching, data);
}

/* ---- The request -------------------------------------------------------- */

/* Appends the parameters for the keys. False: one is not valid, and the message
 * has been printed. */
static bool add_keys(struct cli *cli, struct kx_buffer *path)
{
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    for (int i = 0; i < cli->count; i++) {
        key.size = 0;
        if (!cli_read_key(cli, cli->words[i], &key))
            return false;
        cli_add_key_parameter(path, "key", cli->words[i]);
    }
    return true;
}

/* Prints a hint for each key that may have been taken for a prefix. */
static int tell_below(struct cli *cli)
{
    enum cli_presence presence;
    int status = CLI_OK;
    for (int i = 0; status == CLI_OK && i < cli->count; i++) {
        status = cli_presence_ask(cli, cli->words[i], &presence);
        if (status == CLI_OK && presence == PRESENCE_BELOW)
            cli_presence_tell(cli->words[i], "watch --prefix",
                              "prints those that change");
    }
    return status;
}

/* Shows the changes until there are enough. Returns the exit status:
 * CLI_UNAVAILABLE, after the message, if the server ends the watch before. */
static int watch(struct cli *cli, struct kx_slice path)
{
    struct watching watching = {.cli = cli};
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = path,
                            .accept = "text/event-stream",
                            .may_pause = true,
                            .line = take_line,
                            .target = &watching};
    cli_show_heading(cli);
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK || enough(&watching))
        return status;
    if (watching.status != CLI_OK)
        return watching.status;
    cli_fail("the server ended the watch");
    return CLI_UNAVAILABLE;
}

/* Returns why the words and options contradict each other, or NULL if they do
 * not. */
static const char *contradiction(const struct cli *cli)
{
    if (cli->since != NULL && cli->index == NULL)
        return "--since needs --index";
    if (cli->index != NULL && cli->count > 0)
        return "--index excludes keys";
    if (cli->prefix != NULL && cli->count > 0)
        return "--prefix excludes keys";
    if (cli->prefix == NULL && cli->index == NULL && cli->count == 0)
        return "a key, --prefix or --index is missing";
    return NULL;
}

int cli_watch(struct cli *cli)
{
    struct kx_buffer path;
    const char *wrong = contradiction(cli);
    if (wrong != NULL)
        return cli_misuse(cli, "%s", wrong);
    if (cli->form == CLI_DEFAULT)
        cli->form = CLI_JSON;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/watch");
    cli_add_parameter(&path, "index", cli->index);
    cli_add_parameter(&path, "since", cli->since);
    cli_add_key_parameter(&path, "prefix", cli->prefix);
    if (!add_keys(cli, &path))
        return CLI_MISUSE;
    int status = tell_below(cli);
    return status == CLI_OK ? watch(cli, cli_whole(&path)) : status;
}
