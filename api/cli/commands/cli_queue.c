/* The commands kindex queue, except queue work (cli_work.c). */
#include "cli/cli_http.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"

/* Calls `show` for each element of a member that is an array. Returns their
 * number. */
static size_t show_each(const struct cli *cli, struct kx_slice document,
                        const char *member,
                        void (*show)(const struct cli *, struct kx_slice))
{
    struct kx_json_iter iter;
    struct kx_slice list, none, element;
    size_t count = 0;
    if (cli_json_member(document, member, &list) &&
        kx_json_iterate(list, &iter))
        for (; kx_json_next(&iter, &none, &element); count++)
            show(cli, element);
    return count;
}

/* Prints a text member in raw output, otherwise the whole element. */
static void show_by(const struct cli *cli, struct kx_slice element,
                    const char *name)
{
    const char *text = cli_text(cli, element, name);
    if (cli->form == CLI_RAW)
        puts(text != NULL ? text : "?");
    else
        cli_show_bytes(cli, element);
}

/* Appends /queues/NAME and the action. */
static void add_path(const struct cli *cli, const char *action,
                     struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/queues/");
    cli_add_key(path, cli->words[0]);
    kx_add_text(path, action);
}

/* ---- ls, show ------------------------------------------------------------ */

static void show_queue(const struct cli *cli, struct kx_slice queue)
{
    const char *name = cli_text(cli, queue, "name");
    const char *state = cli_text(cli, queue, "state");
    if (cli->form == CLI_JSON || cli->form == CLI_RAW)
        show_by(cli, queue, "name");
    else
        printf("%s%-28s%s %s\n", cli_tint(cli), name != NULL ? name : "?",
               cli_plain(cli), state != NULL ? state : "?");
}

static int list_queues(struct cli *cli)
{
    struct cli_reply reply;
    int status = cli_fetch(cli, "/queues", &reply);
    if (status != CLI_OK)
        return status;
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE)
        printf("%s%-28s %s%s\n", cli_bold(cli), "QUEUE", "STATE",
               cli_plain(cli));
    show_each(cli, kx_buffer_slice(&reply.body), "queues", show_queue);
    return CLI_OK;
}

int cli_queue_show(struct cli *cli)
{
    struct cli_reply reply;
    struct kx_buffer path;
    if (cli->count == 0)
        return list_queues(cli);
    if (strcmp(cli->command->name, "queue peek") == 0) {
        cli->index = cli->words[0];
        cli->leases = true;
        cli->count = 0;
        return cli_ls(cli);
    }
    add_path(cli, "", &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

/* ---- claim --------------------------------------------------------------- */

static void show_job(const struct cli *cli, struct kx_slice job)
{
    const char *receipt = cli_text(cli, job, "receipt");
    if (cli->form != CLI_TABLE) {
        show_by(cli, job, "receipt");
        return;
    }
    printf("%4" PRIu64 " %s ", cli_number(job, "attempts"),
           receipt != NULL ? receipt : "?");
    cli_show_entry(cli, job);
}

int cli_queue_claim(struct cli *cli)
{
    char limit[24];
    char seconds[24];
    struct cli_reply reply;
    struct kx_buffer path;
    snprintf(limit, sizeof limit, "%" PRIu64, cli->limit);
    snprintf(seconds, sizeof seconds, "%" PRIu64, cli->wait_seconds);
    add_path(cli, "/claim", &path);
    cli_add_parameter(&path, "wait", cli->wait_seconds != 0 ? seconds : NULL);
    cli_add_parameter(&path, "limit", cli->limit != 0 ? limit : NULL);
    cli_add_key_parameter(&path, "prefix", cli->prefix);
    struct cli_call call = {.method = "POST", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    size_t count =
        show_each(cli, kx_buffer_slice(&reply.body), "jobs", show_job);
    return count > 0 ? CLI_OK : CLI_ABSENT;
}

/* ---- Receipts ------------------------------------------------------------ */

static void add_text(const char *name, const char *text, struct kx_buffer *out)
{
    if (text == NULL)
        return;
    kx_add_text(out, name);
    kx_json_escape(kx_text(text), out);
}

/* Sends the receipts, which are all words but the first, and prints the number
 * of jobs. The command's second word is the last segment of the address. */
int cli_queue_change(struct cli *cli)
{
    struct cli_reply reply;
    struct kx_buffer path, document;
    add_path(cli, "/", &path);
    kx_add_text(&path, strchr(cli->command->name, ' ') + 1);
    kx_buffer_init(&document, cli->memory);
    for (int i = 1; i < cli->count; i++)
        add_text(i == 1 ? "{\"receipts\":[" : ",", cli->words[i], &document);
    kx_add_byte(&document, ']');
    add_text(",\"delay\":", cli->delay, &document);
    add_text(",\"error\":", cli->error, &document);
    kx_add_byte(&document, '}');
    struct cli_call call = {.method = "POST",
                            .path = cli_whole(&path),
                            .body = cli_whole(&document)};
    int status = document.failed ? cli_fail("out of memory")
                                 : cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (cli->form == CLI_JSON || cli->form == CLI_TABLE)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    else
        printf("%" PRIu64 "\n",
               cli_number(kx_buffer_slice(&reply.body), "jobs"));
    return CLI_OK;
}
