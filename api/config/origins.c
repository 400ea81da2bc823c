/* Checks the items of --cors-origin. An item that no browser sends would never
 * match and is refused: one with a path or a slash at its end, with the default
 * port of its scheme, or without a scheme. */
#include "config/origins.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

bool origins_valid(const char *list)
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

void origins_expected(const char *list, char *out, size_t size)
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
