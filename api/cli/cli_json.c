/* Reading the members of replies. */
#include "cli/cli_json.h"

#include "cli/cli_terminal.h"

#include <stdlib.h>
#include <string.h>

bool cli_json_member(struct kx_slice object, const char *name,
                     struct kx_slice *value_out)
{
    struct kx_json_iter iter;
    struct kx_slice found;
    size_t size = strlen(name);
    if (!kx_json_iterate(object, &iter) || !iter.object)
        return false;
    while (kx_json_next(&iter, &found, value_out))
        if (found.size == size + 2 && memcmp(found.data + 1, name, size) == 0)
            return true;
    return false;
}

char *cli_text(const struct cli *cli, struct kx_slice object, const char *name)
{
    struct kx_slice value;
    struct kx_buffer raw, text;
    if (!cli_json_member(object, name, &value) ||
        kx_json_type(value) != KX_JSON_STRING)
        return NULL;
    kx_buffer_init(&raw, cli->memory);
    kx_buffer_init(&text, cli->memory);
    kx_json_unescape(value, &raw);
    cli_escape(kx_buffer_slice(&raw), &text);
    kx_add_byte(&text, '\0');
    bool failed = raw.failed || text.failed;
    kx_buffer_free(&raw);
    return failed ? NULL : (char *)text.data;
}

uint64_t cli_number(struct kx_slice object, const char *name)
{
    struct kx_slice value;
    if (!cli_json_member(object, name, &value))
        return 0;
    return strtoull((const char *)value.data, NULL, 10);
}
