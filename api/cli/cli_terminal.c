/* Prints messages, checks that standard output was written, and escapes text
 * that a terminal would obey instead of showing. */
#include "cli/cli_terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

enum { ESCAPE_SIZE = 8 };

static bool is_control(uint32_t point)
{
    static const uint32_t RANGES[][2] = {
        {0, 0x08},        {0x0b, 0x1f},     {0x7f, 0x9f},    {0x61c, 0x61c},
        {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++)
        if (point >= RANGES[i][0] && point <= RANGES[i][1])
            return true;
    return false;
}

uint32_t cli_code_point(struct kx_slice character)
{
    static const uint8_t MASKS[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = character.data[0] & MASKS[character.size];
    for (size_t i = 1; i < character.size; i++)
        point = point << 6 | (character.data[i] & 0x3f);
    return point;
}

size_t cli_width(struct kx_slice text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.size; i++)
        width += (text.data[i] & 0xc0) != 0x80;
    return width;
}

/* Returns the first character of text, or an empty slice if its first byte does
 * not begin a character. */
static struct kx_slice first_character(struct kx_slice text)
{
    for (size_t size = 1; size <= 4 && size <= text.size; size++)
        if (kx_utf8_valid(kx_slice(text.data, size)))
            return kx_slice(text.data, size);
    return kx_slice(text.data, 0);
}

void cli_escape(struct kx_slice text, struct kx_buffer *out)
{
    char escape[ESCAPE_SIZE];
    while (text.size > 0) {
        struct kx_slice character = first_character(text);
        size_t size = character.size > 0 ? character.size : 1;
        uint32_t point = character.size > 0 ? cli_code_point(character) : 0;
        if (character.size > 0 && !is_control(point)) {
            kx_add_slice(out, character);
        } else {
            snprintf(escape, sizeof escape,
                     character.size > 0 ? "\\u%04x" : "\\x%02x",
                     character.size > 0 ? point : *text.data);
            kx_add_text(out, escape);
        }
        text = kx_slice(text.data + size, text.size - size);
    }
}

struct kx_slice cli_shown(FILE *stream, struct kx_slice text,
                          struct kx_buffer *scratch)
{
    if (!isatty(fileno(stream)))
        return text;
    scratch->size = 0;
    cli_escape(text, scratch);
    return kx_buffer_slice(scratch);
}

void cli_put(FILE *stream, struct kx_slice text)
{
    cli_put_column(stream, text, 0);
}

void cli_put_column(FILE *stream, struct kx_slice text, int width)
{
    struct kx_buffer scratch;
    kx_buffer_init(&scratch, NULL);
    struct kx_slice shown = cli_shown(stream, text, &scratch);
    int rest = abs(width) - (int)cli_width(shown);
    int padding = rest > 0 ? rest : 0;
    fprintf(stream, "%*s", width < 0 ? padding : 0, "");
    fwrite(shown.data, 1, shown.size, stream);
    fprintf(stream, "%*s", width > 0 ? padding : 0, "");
    kx_buffer_free(&scratch);
}

/* ---- Messages ----------------------------------------------------------- */

/* Prints the line with a single write, because other processes may write to the
 * same file. */
static void print_error(const char *begin, const char *format,
                        va_list arguments, const char *end)
{
    char text[4096];
    struct kx_buffer scratch;
    kx_buffer_init(&scratch, NULL);
    vsnprintf(text, sizeof text, format, arguments);
    struct kx_slice shown = cli_shown(stderr, kx_text(text), &scratch);
    fprintf(stderr, "%s%.*s%s\n", begin, (int)shown.size,
            (const char *)shown.data, end);
    kx_buffer_free(&scratch);
}

int cli_misuse(const struct cli *cli, const char *format, ...)
{
    char end[128];
    va_list arguments;
    snprintf(end, sizeof end, "; see kindex help %s", cli->command->name);
    va_start(arguments, format);
    print_error("kindex: ", format, arguments, end);
    va_end(arguments);
    return CLI_MISUSE;
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_error("kindex: ", format, arguments, "");
    va_end(arguments);
    return CLI_ERROR;
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_error("", format, arguments, "");
    va_end(arguments);
}

/* Reports a failed write, unless the command has printed an error itself or the
 * reader (such as head) has closed the pipe. errno still has the reason of an
 * earlier failed write, unless another call has failed since. */
int cli_finish(int status)
{
    if (!ferror(stdout))
        errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (status != CLI_ERROR && errno != EPIPE)
        cli_fail("the output cannot be written: %s",
                 strerror(errno != 0 ? errno : EIO));
    return status != CLI_OK ? status : CLI_ERROR;
}
