/* Preferences are separated by commas, their parameters by semicolons; a value
 * may stand in quotes. */
#include "http/prefer.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* The text after the name of a preference, without leading space; NULL when the
 * preference is missing. */
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
