/* Requests page after page, each with the cursor of the previous page. */
#include "cli/cli_pages.h"

#include "cli/cli_json.h"

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
