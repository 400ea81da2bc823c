/* Entries as lines of a table, of JSON, or bare. */
#include "cli_show.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli_member.h"
#include "keyjson.h"
#include "path.h"

enum {
    KEY_WIDTH = 32,
    STAMP_WIDTH = 20,
    NAME_WIDTH = 16,
    LINE_WIDTH = 80,
    VALUE_LEAST = 16
};

const char *cli_bold(const struct cli *cli)
{
    return cli->colour ? "\033[1m" : "";
}

const char *cli_tint(const struct cli *cli)
{
    return cli->colour ? "\033[36m" : "";
}

const char *cli_plain(const struct cli *cli)
{
    return cli->colour ? "\033[0m" : "";
}

bool cli_key_path(const struct cli *cli, struct kx_slice array,
                  struct kx_buffer *out)
{
    struct kx_buffer key;
    struct flaw flaw;
    kx_buffer_init(&key, cli->memory);
    bool read = keyjson_read(array, &key, &flaw);
    if (read)
        path_write(kx_buffer_slice(&key), out);
    kx_buffer_free(&key);
    return read && !out->failed;
}

void cli_show_bytes(struct kx_slice bytes)
{
    if (bytes.size == 0)
        return;
    fwrite(bytes.data, 1, bytes.size, stdout);
    if (bytes.data[bytes.size - 1] != '\n')
        putchar('\n');
}

void cli_show_document(const struct cli *cli, struct kx_slice document)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    if (cli->form != CLI_TABLE || !kx_json_iterate(document, &iter) ||
        !iter.object) {
        cli_show_bytes(document);
        return;
    }
    while (kx_json_next(&iter, &name, &value)) {
        if (kx_json_type(value) == KX_JSON_STRING)
            value = kx_slice(value.data + 1, value.size - 2);
        printf("%s%-*.*s%s %.*s\n", cli_tint(cli), NAME_WIDTH,
               (int)name.size - 2, (const char *)name.data + 1, cli_plain(cli),
               (int)value.size, (const char *)value.data);
    }
}

/* Characters of a terminal's line, 0 when standard output is none. */
static size_t line_width(void)
{
    struct winsize window = {.ws_col = 0};
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
        return LINE_WIDTH;
    return window.ws_col;
}

/* How many bytes of a value fit behind the key. */
static size_t value_room(struct kx_slice value, size_t used)
{
    size_t width = line_width();
    size_t room = width > used + VALUE_LEAST ? width - used : VALUE_LEAST;
    return width == 0 ? value.size : kx_utf8_fit(value, room);
}

static struct kx_slice value_of(struct kx_slice entry)
{
    struct kx_slice value;
    if (cli_member(entry, "value", &value) ||
        cli_member(entry, "typed", &value))
        return value;
    return kx_text("");
}

static void show_row(const struct cli *cli, struct kx_slice entry,
                     struct kx_slice path)
{
    struct kx_slice stamp = kx_text("");
    struct kx_slice value = value_of(entry);
    size_t wide = path.size > KEY_WIDTH ? path.size : KEY_WIDTH;
    size_t room = value_room(value, wide + STAMP_WIDTH + 2);
    if (cli_member(entry, "versionstamp", &stamp))
        stamp = kx_json_type(stamp) == KX_JSON_STRING
                    ? kx_slice(stamp.data + 1, stamp.size - 2)
                    : kx_text("-");
    printf("%s%.*s%s%*s %-*.*s %.*s\n", cli_tint(cli), (int)path.size,
           (const char *)path.data, cli_plain(cli), (int)(wide - path.size), "",
           STAMP_WIDTH, (int)stamp.size, (const char *)stamp.data, (int)room,
           (const char *)value.data);
}

void cli_show_heading(const struct cli *cli)
{
    if (cli->form == CLI_TABLE)
        printf("%s%-*s %-*s %s%s\n", cli_bold(cli), KEY_WIDTH, "KEY",
               STAMP_WIDTH, "VERSIONSTAMP", "VALUE", cli_plain(cli));
}

/* The table's row, or the path alone. */
static void show_path(const struct cli *cli, struct kx_slice entry)
{
    struct kx_buffer path;
    struct kx_slice array;
    kx_buffer_init(&path, cli->memory);
    if (!cli_member(entry, "key", &array) || !cli_key_path(cli, array, &path))
        kx_add_text(&path, "?");
    if (cli->form == CLI_RAW)
        cli_show_bytes(kx_buffer_slice(&path));
    else
        show_row(cli, entry, kx_buffer_slice(&path));
    kx_buffer_free(&path);
}

void cli_show_entry(const struct cli *cli, struct kx_slice entry)
{
    if (cli->form == CLI_RAW)
        cli_show_bytes(value_of(entry));
    else
        cli_show_listed(cli, entry);
}

void cli_show_listed(const struct cli *cli, struct kx_slice entry)
{
    if (cli->form == CLI_JSON)
        cli_show_bytes(entry);
    else
        show_path(cli, entry);
}
