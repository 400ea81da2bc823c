/* kindex watch --prefix: shows the entries under a prefix whenever they change,
 * by the events of GET /watch?prefix=. */
#include "cli/commands/cli_watch.h"

#include <stdio.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"

struct watching_prefix {
    struct cli *cli;
    uint64_t count;
    uint64_t resets;
    bool change; /* the current event is a change */
};

static bool show_changes(struct watching_prefix *watching, struct kx_slice data)
{
    struct kx_json_iter iter;
    struct kx_slice entries, name, entry;
    if (!cli_json_member(data, "entries", &entries) ||
        !kx_json_iterate(entries, &iter))
        return false;
    while (!cli_watch_enough(watching->cli, watching->count) &&
           kx_json_next(&iter, &name, &entry)) {
        cli_show_entry(watching->cli, entry);
        watching->count++;
    }
    fflush(stdout);
    return !cli_watch_enough(watching->cli, watching->count);
}

/* The first reset event only says that the watch has begun. */
static void take_reset(struct watching_prefix *watching)
{
    if (watching->resets++ > 0)
        fputs("kindex: more may have changed than is shown; kindex ls shows "
              "what is there\n",
              stderr);
}

static void take_event(struct watching_prefix *watching, struct kx_slice event)
{
    watching->change = kx_equal(event, kx_text("change"));
    if (kx_equal(event, kx_text("reset")))
        take_reset(watching);
}

static bool take_line(void *target, struct kx_slice line)
{
    struct watching_prefix *watching = target;
    struct kx_fault fault;
    if (kx_starts_with(line, kx_text("event: ")))
        take_event(watching, kx_slice(line.data + 7, line.size - 7));
    if (!watching->change || !kx_starts_with(line, kx_text("data: ")))
        return true;
    struct kx_slice data = kx_slice(line.data + 6, line.size - 6);
    return kx_json_check_document(data, &fault) == KX_OK &&
           show_changes(watching, data);
}

int cli_watch_prefix(struct cli *cli)
{
    struct watching_prefix watching = {.cli = cli};
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/watch");
    cli_add_key_parameter(&path, "prefix", cli->prefix);
    struct cli_call call = {.method = "GET",
                            .path = cli_whole(&path),
                            .accept = "text/event-stream",
                            .line = take_line,
                            .target = &watching};
    return cli_watch_ask(cli, &call, &watching.count);
}
