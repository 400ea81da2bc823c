/* Prints entries as a table, as JSON or raw. */
#include "cli/cli_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_json.h"
#include "cli/cli_terminal.h"
#include "rest/key_text.h"
#include "http/percent.h"

enum {
    KEY_WIDTH = 32,
    STAMP_WIDTH = 20,
    NAME_WIDTH = 16,
    LINE_WIDTH = 80,
    VALUE_LEAST = 16,
    EXPIRY_SIZE = 64
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
    struct input_error error;
    kx_buffer_init(&key, cli->memory);
    bool read = key_text_from_json(array, &key, &error);
    if (read)
        key_text_to_path(kx_buffer_slice(&key), out);
    kx_buffer_free(&key);
    return read && !out->failed;
}

/* Characters that are invisible or change the text around them. */
static bool is_hidden(uint32_t point)
{
    static const uint32_t RANGES[][2] = {
        {0, 0x9f},        {0xad, 0xad},     {0x61c, 0x61c},
        {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
        {0xfeff, 0xfeff}, {0xfff9, 0xffff}, {0xe0000, 0xffffffff}};
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++)
        if (point >= RANGES[i][0] && point <= RANGES[i][1])
            return true;
    return false;
}

/* True if the text is one visible character of more than one byte. */
static bool is_shown(struct kx_slice character)
{
    return kx_utf8_valid(character) && cli_width(character) == 1 &&
           !is_hidden(cli_code_point(character));
}

/* If the escapes at the start of text stand for a visible character, appends it
 * and returns the number of their bytes; otherwise returns 0. */
static size_t show_escaped(struct kx_slice text, struct kx_buffer *out)
{
    size_t before = out->size;
    for (size_t size = 2; size <= 4 && 3 * size <= text.size; size++) {
        bool read = percent_decode(kx_slice(text.data, 3 * size), out) &&
                    !out->failed && out->size - before == size;
        if (read && is_shown(kx_slice(out->data + before, size)))
            return 3 * size;
        out->size = before;
    }
    return 0;
}

void cli_show_path(struct kx_slice path, struct kx_buffer *out)
{
    while (path.size > 0) {
        size_t size = *path.data == '%' ? show_escaped(path, out) : 0;
        if (size == 0) {
            kx_add_byte(out, *path.data);
            size = 1;
        }
        path = kx_slice(path.data + size, path.size - size);
    }
}

void cli_show_value(const struct cli *cli, struct kx_slice bytes)
{
    if (cli->form == CLI_RAW)
        fwrite(bytes.data, 1, bytes.size, stdout);
    else
        cli_put(stdout, bytes);
}

void cli_show_bytes(const struct cli *cli, struct kx_slice bytes)
{
    if (bytes.size == 0)
        return;
    cli_show_value(cli, bytes);
    if (bytes.data[bytes.size - 1] != '\n')
        putchar('\n');
}

void cli_show_document(const struct cli *cli, struct kx_slice document)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    if (cli->form != CLI_TABLE || !kx_json_iterate(document, &iter) ||
        !iter.object) {
        cli_show_bytes(cli, document);
        return;
    }
    while (kx_json_next(&iter, &name, &value)) {
        if (kx_json_type(value) == KX_JSON_STRING)
            value = kx_slice(value.data + 1, value.size - 2);
        fputs(cli_tint(cli), stdout);
        cli_put_column(stdout, kx_slice(name.data + 1, name.size - 2),
                       NAME_WIDTH);
        printf("%s ", cli_plain(cli));
        cli_put(stdout, value);
        putchar('\n');
    }
}

/* The width of the terminal; 0 if standard output is not a terminal. */
static size_t line_width(void)
{
    struct winsize window = {.ws_col = 0};
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
        return LINE_WIDTH;
    return window.ws_col;
}

/* The number of bytes of the value that fit in the line after `used` columns.
 */
static size_t value_room(struct kx_slice value, size_t used)
{
    size_t width = line_width();
    size_t room = width > used + VALUE_LEAST ? width - used : VALUE_LEAST;
    return width == 0 ? value.size : kx_utf8_fit(value, room);
}

static struct kx_slice value_of(struct kx_slice entry)
{
    struct kx_slice value;
    if (cli_json_member(entry, "value", &value) ||
        cli_json_member(entry, "typed", &value) ||
        cli_json_member(entry, "preview", &value))
        return value;
    return kx_text("");
}

/* Writes "until 2026-11-25T17:00:00.123Z " for an entry that expires, otherwise
 * nothing. A time outside the calendar is written as a number. Returns the
 * width in columns. */
static size_t add_expiry(struct kx_slice entry, char text[EXPIRY_SIZE])
{
    struct kx_slice member;
    struct tm parts;
    double ms;
    char moment[32] = "";
    text[0] = '\0';
    if (!cli_json_member(entry, "expiresAt", &member) ||
        !kx_number_parse(member, &ms) || !(ms >= 0 && ms < 1e16))
        return 0;
    int64_t whole = (int64_t)ms;
    time_t seconds = whole / 1000;
    if (gmtime_r(&seconds, &parts) != NULL && parts.tm_year < 8100)
        strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%S", &parts);
    int size = moment[0] == '\0'
                   ? snprintf(text, EXPIRY_SIZE, "until %" PRId64 " ", whole)
                   : snprintf(text, EXPIRY_SIZE, "until %s.%03dZ ", moment,
                              (int)(whole % 1000));
    return size > 0 ? (size_t)size : 0;
}

static void show_row(const struct cli *cli, struct kx_slice entry,
                     struct kx_slice path)
{
    struct kx_slice stamp = kx_text("");
    struct kx_buffer scratch;
    kx_buffer_init(&scratch, cli->memory);
    struct kx_slice value = cli_shown(stdout, value_of(entry), &scratch);
    size_t width = cli_width(path);
    size_t wide = width > KEY_WIDTH ? width : KEY_WIDTH;
    char expiry[EXPIRY_SIZE];
    size_t used = add_expiry(entry, expiry);
    size_t room = value_room(value, wide + STAMP_WIDTH + 2 + used);
    if (cli_json_member(entry, "versionstamp", &stamp))
        stamp = kx_json_type(stamp) == KX_JSON_STRING
                    ? kx_slice(stamp.data + 1, stamp.size - 2)
                    : kx_text("-");
    printf("%s%.*s%s%*s ", cli_tint(cli), (int)path.size,
           (const char *)path.data, cli_plain(cli), (int)(wide - width), "");
    cli_put_column(stdout, stamp, STAMP_WIDTH);
    printf(" %s%.*s\n", expiry, (int)room, (const char *)value.data);
    kx_buffer_free(&scratch);
}

void cli_show_heading(const struct cli *cli)
{
    if (cli->form == CLI_TABLE)
        printf("%s%-*s %-*s %s%s\n", cli_bold(cli), KEY_WIDTH, "KEY",
               STAMP_WIDTH, "VERSIONSTAMP", "VALUE", cli_plain(cli));
}

/* Prints the row of the table, or only the path. */
static void show_path(const struct cli *cli, struct kx_slice entry)
{
    struct kx_buffer path, shown;
    struct kx_slice array;
    kx_buffer_init(&path, cli->memory);
    kx_buffer_init(&shown, cli->memory);
    if (!cli_json_member(entry, "key", &array) ||
        !cli_key_path(cli, array, &path))
        kx_add_text(&path, "?");
    cli_show_path(kx_buffer_slice(&path), &shown);
    if (cli->form == CLI_RAW)
        cli_show_bytes(cli, kx_buffer_slice(&path));
    else
        show_row(cli, entry, kx_buffer_slice(&shown));
    kx_buffer_free(&shown);
    kx_buffer_free(&path);
}

void cli_show_entry(const struct cli *cli, struct kx_slice entry)
{
    if (cli->form == CLI_RAW)
        cli_show_bytes(cli, value_of(entry));
    else
        cli_show_listed(cli, entry);
}

void cli_show_listed(const struct cli *cli, struct kx_slice entry)
{
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, entry);
    else
        show_path(cli, entry);
}
