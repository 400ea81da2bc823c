/* A 404 of the server has a member with the list of the entries under the key,
 * if there are any. */
#include "cli/cli_presence.h"

#include "cli/cli_json.h"

enum cli_presence cli_presence_of(const struct cli_reply *reply)
{
    struct kx_slice place;
    if (reply->status / 100 == 2)
        return PRESENCE_ENTRY;
    if (reply->status != 404 || !cli_is_json(reply))
        return PRESENCE_UNKNOWN;
    return cli_json_member(kx_buffer_slice(&reply->body), "listedAt", &place)
               ? PRESENCE_BELOW
               : PRESENCE_NOTHING;
}

int cli_presence_ask(struct cli *cli, const char *key,
                     enum cli_presence *presence_out)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_entry_path(cli, key, &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_send(cli, &call, &reply);
    *presence_out = cli_presence_of(&reply);
    kx_buffer_free(&reply.body);
    kx_buffer_free(&path);
    return status;
}

void cli_presence_tell(const char *key, const char *command, const char *does)
{
    cli_fail("there is no entry %s, but there are entries under it: kindex %s "
             "%s %s",
             key, command, key, does);
}
