/* Builds request paths from keys as the user typed them: escapes characters
 * that a URL must not contain, and leaves existing escapes alone. */
#include "cli/cli_http.h"

#include <ctype.h>
#include <string.h>

#include "rest/key_text.h"
#include "http/percent.h"

struct kx_slice cli_whole(const struct kx_buffer *path)
{
    return path->failed ? kx_slice(NULL, 0) : kx_buffer_slice(path);
}

void cli_add_key(struct kx_buffer *path, const char *key)
{
    for (; *key != '\0'; key++) {
        unsigned char byte = (unsigned char)*key;
        if (byte < 0x80 && (isalnum(byte) || strchr("-._~%/=:@!$'()*,;", byte)))
            kx_add_byte(path, byte);
        else
            percent_encode(kx_slice(key, 1), path);
    }
}

bool cli_read_key(const struct cli *cli, const char *text,
                  struct kx_buffer *out)
{
    struct kx_buffer path;
    struct input_error error;
    kx_buffer_init(&path, cli->memory);
    cli_add_key(&path, text);
    if (key_text_from_path(cli_whole(&path), out, &error))
        return true;
    cli_misuse(cli, "%s: %s", text, error.detail);
    return false;
}

static void add_name(struct kx_buffer *path, const char *name)
{
    bool first = path->size == 0 || memchr(path->data, '?', path->size) == NULL;
    kx_add_byte(path, first ? '?' : '&');
    kx_add_text(path, name);
    kx_add_byte(path, '=');
}

void cli_add_key_parameter(struct kx_buffer *path, const char *name,
                           const char *key)
{
    if (key == NULL)
        return;
    add_name(path, name);
    cli_add_key(path, key);
}

void cli_add_parameter(struct kx_buffer *path, const char *name,
                       const char *text)
{
    if (text == NULL)
        return;
    add_name(path, name);
    percent_encode(kx_text(text), path);
}

void cli_entry_path(const struct cli *cli, const char *key,
                    struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/kv/");
    cli_add_key(path, key);
}
