/* Lists in pages and as streams, and changes of all selected entries. */
#include "cli/cli_lists.h"

#include "cli/cli_json.h"

/* Requests page after page, each with the cursor of the previous page. */

static int take_page(struct cli *cli, struct kx_slice page, const char *list,
                     cli_element_fn *take, void *target)
{
    struct kx_json_iter iter;
    struct kx_slice elements, name, element;
    if (!cli_json_member(page, list, &elements) ||
        !kx_json_iterate(elements, &iter))
        return cli_fail("the server's answer has no %s", list);
    while (kx_json_next(&iter, &name, &element))
        take(cli, target, element);
    return CLI_OK;
}

int cli_pages(struct cli *cli, struct kx_slice path, const char *list,
              cli_element_fn *take, void *target)
{
    const char *cursor = NULL;
    int status;
    do {
        struct kx_buffer whole;
        struct cli_reply reply;
        kx_buffer_init(&whole, cli->memory);
        kx_add_slice(&whole, path);
        cli_add_parameter(&whole, "cursor", cursor);
        struct cli_call call = {.method = "GET", .path = cli_whole(&whole)};
        status = cli_ask(cli, &call, &reply);
        if (status != CLI_OK)
            return status;
        struct kx_slice page = kx_buffer_slice(&reply.body);
        status = take_page(cli, page, list, take, target);
        cursor = cli_text(cli, page, "cursor");
    } while (status == CLI_OK && cursor != NULL);
    return status;
}

/* An open stream. Its last line is {"end":true,...}; without that line the list
 * was cut off. */
struct stream_state {
    cli_entry_fn *take;
    void *target;
    bool ended;
    bool stopped;
};

static bool take_line(void *target, struct kx_slice line)
{
    struct stream_state *state = target;
    struct kx_fault fault;
    struct kx_slice member;
    if (kx_json_check_document(line, &fault) != KX_OK)
        return false;
    if (cli_json_member(line, "end", &member)) {
        state->ended = true;
        return true;
    }
    if (!cli_json_member(line, "key", &member))
        return false;
    state->stopped = !state->take(state->target, line);
    return !state->stopped;
}

int cli_entries(struct cli *cli, struct kx_slice path, cli_entry_fn *take,
                void *target)
{
    struct stream_state state = {.take = take, .target = target};
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = path,
                            .accept = "application/x-ndjson",
                            .line = take_line,
                            .target = &state};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK || state.ended || state.stopped)
        return status;
    cli_fail("the list ended early");
    return CLI_UNAVAILABLE;
}

static void add_range(const struct cli *cli, const char *prefix,
                      struct kx_buffer *path)
{
    cli_add_parameter(path, "index", cli->index);
    cli_add_key_parameter(path, "prefix", prefix);
    cli_add_key_parameter(path, "start", cli->start);
    cli_add_key_parameter(path, "end", cli->end);
}

static const char *prefix_of(const struct cli *cli)
{
    return cli->count > 0 ? cli->words[0] : cli->prefix;
}

void cli_add_prefix(const struct cli *cli, struct kx_buffer *path)
{
    cli_add_key_parameter(path, "prefix", prefix_of(cli));
}

void cli_add_selection(const struct cli *cli, struct kx_buffer *path)
{
    add_range(cli, prefix_of(cli), path);
    cli_add_parameter(path, "reverse", cli->reverse ? "true" : NULL);
}

void cli_add_range(const struct cli *cli, struct kx_buffer *path)
{
    add_range(cli, cli->prefix, path);
}

bool cli_names_range(const struct cli *cli)
{
    return cli->prefix != NULL || cli->index != NULL || cli->start != NULL ||
           cli->end != NULL;
}

int cli_change_range(struct cli *cli, struct cli_call call, const char *done,
                     uint64_t *count_out)
{
    const struct kx_slice range = call.path;
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice more;
    *count_out = 0;
    do {
        int status = cli_ask(cli, &call, &reply);
        if (status != CLI_OK)
            return status;
        struct kx_slice answer = kx_buffer_slice(&reply.body);
        if (!cli_json_member(answer, done, &more))
            return cli_fail("the server's answer has no number of entries");
        *count_out += cli_number(answer, done);
        kx_buffer_init(&path, cli->memory);
        kx_add_slice(&path, range);
        cli_add_parameter(&path, "cursor", cli_text(cli, answer, "cursor"));
        call.path = cli_whole(&path);
    } while (cli_json_member(kx_buffer_slice(&reply.body), "more", &more) &&
             kx_equal(more, kx_text("true")));
    return CLI_OK;
}
