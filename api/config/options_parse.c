/* Reads the text of one option by the type of its row. The whole text must be
 * valid; nothing is guessed or truncated. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/options.h"
#include "kindex.h"

/* ---- The sites of --cors-origin ----------------------------------------- */

/* An item that no browser sends would never match and is refused: one with a
 * path or a slash at its end, with the default port of its scheme, or without a
 * scheme. */

enum { SHOWN_MAX = 64 /* bytes of an item that is corrected */ };

/* An item and the sizes of its parts; a missing part has size 0. */
struct origin {
    const char *text; /* without the spaces around it */
    int size;
    int scheme; /* with its "://" */
    int host;
    int port; /* with its ':' */
};

static int scheme_size(const char *text)
{
    int size = 0;
    if (!isalpha((unsigned char)*text))
        return 0;
    while (isalnum((unsigned char)text[size]) || text[size] == '+' ||
           text[size] == '-' || text[size] == '.')
        size++;
    return strncmp(text + size, "://", 3) == 0 ? size + 3 : 0;
}

static int host_size(const char *text)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (*text != '[')
        return (int)strspn(text, NAME);
    int size = 1 + (int)strspn(text + 1, "0123456789abcdefABCDEF:.");
    return size > 1 && text[size] == ']' ? size + 1 : 0;
}

static int port_size(const char *text)
{
    int size = *text == ':' ? 1 + (int)strspn(text + 1, "0123456789") : 0;
    if (size < 2 || size > 6)
        return 0;
    int port = atoi(text + 1);
    return port > 0 && port <= 65535 ? size : 0;
}

/* Reads the first item of text; returns the text of the next item, NULL after
 * the last. */
static const char *read_item(const char *text, struct origin *origin_out)
{
    const char *next = strchr(text, ',');
    text += strspn(text, " ");
    size_t size = next != NULL ? (size_t)(next - text) : strlen(text);
    while (size > 0 && text[size - 1] == ' ')
        size--;
    int scheme = scheme_size(text);
    int host = host_size(text + scheme);
    *origin_out = (struct origin){.text = text,
                                  .size = (int)size,
                                  .scheme = scheme,
                                  .host = host,
                                  .port = port_size(text + scheme + host)};
    return next != NULL ? next + 1 : NULL;
}

/* Browsers leave out the default port of the scheme. */
static bool has_default_port(const struct origin *origin)
{
    const char *port = origin->text + origin->scheme + origin->host;
    return (strncasecmp(origin->text, "http:", 5) == 0 && origin->port == 3 &&
            strncmp(port, ":80", 3) == 0) ||
           (strncasecmp(origin->text, "https:", 6) == 0 && origin->port == 4 &&
            strncmp(port, ":443", 4) == 0);
}

static bool is_valid(const struct origin *origin)
{
    return origin->scheme > 0 && origin->host > 0 &&
           origin->scheme + origin->host + origin->port == origin->size &&
           !has_default_port(origin);
}

/* True if every item of the list (separated by commas) is a text that a browser
 * can send as Origin. */
static bool origins_valid(const char *list)
{
    while (list != NULL) {
        struct origin origin;
        list = read_item(list, &origin);
        if (!is_valid(&origin))
            return false;
    }
    return true;
}

/* Guesses the missing scheme of an item: a port or the name of this machine
 * suggests a site on this machine. */
static const char *likely_scheme(const struct origin *origin)
{
    if (origin->scheme > 0)
        return "";
    bool local = origin->port > 0 || strncmp(origin->text, "localhost", 9) == 0;
    return local ? "http://" : "https://";
}

/* The size of the part that the correction of an item keeps. */
static int kept_size(const struct origin *origin)
{
    int size = origin->scheme + origin->host;
    return has_default_port(origin) ? size : size + origin->port;
}

/* True if the only fault of the item is a missing scheme, a path or a default
 * port. */
static bool is_nearly_valid(const struct origin *origin)
{
    int size = origin->scheme + origin->host + origin->port;
    return origin->host > 0 && origin->size <= SHOWN_MAX &&
           (size == origin->size || origin->text[size] == '/') &&
           strncmp(origin->text, "null", 4) != 0;
}

/* For an invalid list writes the end of the sentence "LIST is not ...": the
 * first wrong item and, if known, its correction. Truncated to `size` bytes. */
static void origins_expected(const char *list, char *out, size_t size)
{
    struct origin origin = {.size = 0};
    do
        list = read_item(list, &origin);
    while (list != NULL && is_valid(&origin));
    static const char SITES[] = "a list of sites as browsers name them, "
                                "scheme://host or scheme://host:port";
    if (is_nearly_valid(&origin))
        snprintf(out, size, "%s: write %s%.*s instead of %.*s", SITES,
                 likely_scheme(&origin), kept_size(&origin), origin.text,
                 origin.size, origin.text);
    else
        snprintf(out, size,
                 "%s: name each site whose pages may use the service, such as "
                 "https://app.example.org",
                 SITES);
}

struct option_unit {
    const char *name;
    uint64_t factor;
};

/* ---- Other types -------------------------------------------------------- */

/* Units by type of option, each table ended by NULL. A size without a unit is
 * in bytes; K, M and G are KiB, MiB and GiB. A duration needs a unit, because a
 * bare number could be seconds or milliseconds. */
static const struct option_unit NO_UNITS[] = {{"", 1}, {NULL, 0}};
static const struct option_unit SIZES[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1000},
    {"MB", 1000 * 1000},
    {"GB", 1000000000},
    {"KiB", 1ull << 10},
    {"K", 1ull << 10},
    {"MiB", 1ull << 20},
    {"M", 1ull << 20},
    {"GiB", 1ull << 30},
    {"G", 1ull << 30},
    {NULL, 0},
};
static const struct option_unit DURATIONS[] = {
    {"ms", 1},          {"s", 1000},     {"m", 60 * 1000},
    {"h", 3600 * 1000}, {"d", 86400000}, {NULL, 0},
};

/* Reads the digits at the beginning of text; *end_out is set to the text after
 * them. */
static bool parse_digits(const char *text, uint64_t *number_out,
                         const char **end_out)
{
    uint64_t number = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at); at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    *number_out = number;
    *end_out = at;
    return at != text;
}

/* Reads digits and one of the units; false for any other text. */
static bool parse_amount(const char *text, const struct option_unit *units,
                         const struct option_row *row, uint64_t *amount_out)
{
    uint64_t number;
    if (!parse_digits(text, &number, &text))
        return false;
    while (units->name != NULL && strcmp(units->name, text) != 0)
        units++;
    if (units->name == NULL ||
        __builtin_mul_overflow(number, units->factor, &number) ||
        number < row->least || number > row->most)
        return false;
    *amount_out = number;
    return true;
}

static bool parse_level(const char *text, int *level_out)
{
    static const char *const NAMES[] = {[KX_LOG_ERROR] = "error",
                                        [KX_LOG_WARNING] = "warning",
                                        [KX_LOG_INFO] = "info",
                                        [KX_LOG_DEBUG] = "debug"};
    for (int level = KX_LOG_ERROR; level <= KX_LOG_DEBUG; level++)
        if (strcmp(text, NAMES[level]) == 0) {
            *level_out = level;
            return true;
        }
    return false;
}

static bool parse_forward(const char *text, int *mode_out)
{
    *mode_out = strcmp(text, "redirect") == 0 ? FORWARD_REDIRECT
                : strcmp(text, "proxy") == 0  ? FORWARD_PROXY
                                              : FORWARD_OFF;
    return *mode_out != FORWARD_OFF || strcmp(text, "off") == 0;
}

static bool parse_switch(const char *text, bool *on_out)
{
    *on_out = strcmp(text, "on") == 0;
    return *on_out || strcmp(text, "off") == 0;
}

static bool parse_flag(const char *text, bool *flag_out)
{
    if (strcmp(text, "1") != 0 && strcmp(text, "0") != 0)
        return false;
    *flag_out = *text == '1';
    return true;
}

static bool parse_text(const char *text, const char **text_out)
{
    *text_out = text;
    return *text != '\0';
}

/* Allows only characters that are safe in a header, because the name becomes
 * the value of one. */
static bool parse_node(const char *text, const char **text_out)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    *text_out = text;
    return size > 0 && size <= KX_NODE_MAX && text[size] == '\0';
}

/* Allows no path, because paths are appended to the URL. */
static bool parse_url(const char *text, const char **text_out)
{
    size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;
    size_t size = strspn(text + scheme, "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789.-:[]");
    *text_out = text;
    return scheme > 0 && size > 0 && scheme + size <= KX_NODE_ADDRESS_MAX &&
           text[scheme + size] == '\0';
}

/* Writes what was expected: the end of the sentence "... is not ...". */
static void describe(const struct option_row *row, const char *text, char *out,
                     size_t size)
{
    unsigned long long least = row->least;
    unsigned long long most = row->most;
    switch (row->type) {
    case OPTION_TEXT:
    case OPTION_LIST:
        snprintf(out, size, "a string of at least one character");
        break;
    case OPTION_ORIGINS:
        origins_expected(text, out, size);
        break;
    case OPTION_SIZE:
        snprintf(out, size,
                 "a size such as 64KiB, 64K or 1G, from %llu to %llu bytes",
                 least, most);
        break;
    case OPTION_DURATION:
        snprintf(out, size,
                 "a time such as 500ms, 30s or 5m, from %llums to "
                 "%llums",
                 least, most);
        break;
    case OPTION_NUMBER:
        snprintf(out, size, "a number from %llu to %llu", least, most);
        break;
    case OPTION_ADDRESSES:
        snprintf(out, size,
                 "an address such as 127.0.0.1:4512 or [::1]:4512, a port, or "
                 "several of them separated by commas, at most %d",
                 ADDRESSES_MAX);
        break;
    case OPTION_NODE:
        snprintf(out, size,
                 "a name of 1 to %d letters, digits, '.', '-' and '_'",
                 KX_NODE_MAX);
        break;
    case OPTION_URL:
        snprintf(out, size,
                 "an address such as https://one.example.org:4512, without a "
                 "path");
        break;
    case OPTION_FORWARD:
        snprintf(out, size, "proxy, redirect or off");
        break;
    case OPTION_LEVEL:
        snprintf(out, size, "error, warning, info or debug");
        break;
    case OPTION_SWITCH:
        snprintf(out, size, "on or off");
        break;
    case OPTION_FLAG:
    case OPTION_ACTION:
        snprintf(out, size, "1 or 0");
        break;
    }
}

static bool parse(const struct option_row *row, const char *text, void *member)
{
    switch (row->type) {
    case OPTION_TEXT:
    case OPTION_LIST:
        return parse_text(text, member);
    case OPTION_ORIGINS:
        return parse_text(text, member) && origins_valid(text);
    case OPTION_SIZE:
        return parse_amount(text, SIZES, row, member);
    case OPTION_DURATION:
        return parse_amount(text, DURATIONS, row, member);
    case OPTION_NUMBER:
        return parse_amount(text, NO_UNITS, row, member);
    case OPTION_ADDRESSES:
        return addresses_add(member, text);
    case OPTION_NODE:
        return parse_node(text, member);
    case OPTION_URL:
        return parse_url(text, member);
    case OPTION_FORWARD:
        return parse_forward(text, member);
    case OPTION_LEVEL:
        return parse_level(text, member);
    case OPTION_SWITCH:
        return parse_switch(text, member);
    case OPTION_FLAG:
    case OPTION_ACTION:
        return parse_flag(text, member);
    }
    return false;
}

bool option_parse(const struct option_row *row, const char *text,
                  void *settings, char *expected_out, size_t size)
{
    if (parse(row, text, (char *)settings + row->offset))
        return true;
    describe(row, text, expected_out, size);
    return false;
}
