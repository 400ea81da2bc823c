/* The header Accept: a list of media ranges, compared by name without regard to
 * case (RFC 9110 section 8.3.1). All parameters except a weight of 0 are
 * ignored. */
#include "http/accept.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Wildcards stand for JSON, so that curl's default of any type gets a page;
 * NDJSON and events must be named. */
static const struct {
    const char *name;
    enum accept_form form;
} FORMS[] = {
    {"application/json", FORM_JSON},
    {"application/*", FORM_JSON},
    {"*/*", FORM_JSON},
    {"application/x-ndjson", FORM_NDJSON},
    {"application/jsonl", FORM_NDJSON},
    {"text/event-stream", FORM_EVENTS},
};

static enum accept_form form_of(const char *range, size_t size)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (strlen(FORMS[i].name) == size &&
            strncasecmp(range, FORMS[i].name, size) == 0)
            return FORMS[i].form;
    return FORM_OTHER;
}

/* True if the weight of the media range is 0, which excludes it. */
static bool is_unwanted(const char *range)
{
    size_t size = strcspn(range, ",");
    for (const char *at = range; at < range + size; at++)
        if (*at == ';') {
            at += 1 + strspn(at + 1, " \t");
            if (strncasecmp(at, "q=0", 3) == 0)
                return strspn(at + 3, ".0") == strcspn(at + 3, " \t,;");
        }
    return false;
}

enum accept_form accept_form(const char *accept, unsigned makes)
{
    if (accept == NULL || *accept == '\0')
        return FORM_JSON;
    while (*accept != '\0') {
        accept += strspn(accept, " \t,");
        enum accept_form form = form_of(accept, strcspn(accept, " \t,;"));
        if ((makes >> form & 1) != 0 && !is_unwanted(accept))
            return form;
        accept += strcspn(accept, ",");
    }
    return FORM_OTHER;
}

bool accept_names(const char *accept, const char *name)
{
    size_t size = strlen(name);
    while (accept != NULL && *accept != '\0') {
        accept += strspn(accept, " \t,");
        if (strcspn(accept, " \t,;") == size &&
            strncasecmp(accept, name, size) == 0 && !is_unwanted(accept))
            return true;
        accept += strcspn(accept, ",");
    }
    return false;
}

/* ---- Prefer ------------------------------------------------------------- */

/* Preferences are separated by commas, their parameters by semicolons; a value
 * may be quoted. */

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t");
}

/* Reads a number without sign and with nothing after it; 0 for other texts. */
static unsigned number(const char *text)
{
    bool quoted = *text == '"';
    unsigned seconds = 0;
    text += quoted;
    while (isdigit((unsigned char)*text)) {
        seconds = seconds * 10 + (unsigned)(*text++ - '0');
        if (seconds > PREFER_WAIT_MAX)
            seconds = PREFER_WAIT_MAX;
    }
    if (quoted && *text++ != '"')
        return 0;
    text = skip_space(text);
    return strchr(",;", *text) != NULL ? seconds : 0;
}

/* Returns the text after the name of a preference, without leading space, or
 * NULL. */
static const char *find(const char *prefer, const char *name)
{
    size_t size = strlen(name);
    while (prefer != NULL && *prefer != '\0') {
        prefer = skip_space(prefer);
        if (strncasecmp(prefer, name, size) == 0 &&
            strchr(",;= \t", prefer[size]) != NULL)
            return skip_space(prefer + size);
        prefer += strcspn(prefer, ",");
        prefer += *prefer == ',';
    }
    return NULL;
}

unsigned prefer_wait(const char *prefer)
{
    const char *rest = find(prefer, "wait");
    return rest != NULL && *rest == '=' ? number(skip_space(rest + 1)) : 0;
}

bool prefer_has(const char *prefer, const char *name)
{
    return find(prefer, name) != NULL;
}

bool prefer_says(const char *prefer, const char *name, const char *value)
{
    size_t size = strlen(value);
    const char *rest = find(prefer, name);
    if (rest == NULL || *rest != '=')
        return false;
    rest = skip_space(rest + 1);
    bool quoted = *rest == '"';
    rest += quoted;
    if (strncmp(rest, value, size) != 0 || (quoted && rest[size] != '"'))
        return false;
    rest = skip_space(rest + size + quoted);
    return strchr(",;", *rest) != NULL;
}
