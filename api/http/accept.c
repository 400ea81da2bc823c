/* The header Accept: a list of media ranges, compared by name without regard to
 * case (RFC 9110 section 8.3.1). All parameters except a weight of 0 are
 * ignored. */
#include "http/accept.h"

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

/* Is the weight of the media range 0, which excludes it? */
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
