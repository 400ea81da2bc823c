/* Preferences are separated by commas, their parameters by semicolons; a value
 * may stand in quotes. */
#include "prefer.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t");
}

/* A number without sign and with nothing behind it; 0 otherwise. */
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

unsigned prefer_wait(const char *prefer)
{
    while (prefer != NULL && *prefer != '\0') {
        prefer = skip_space(prefer);
        if (strncasecmp(prefer, "wait", 4) == 0) {
            const char *value = skip_space(prefer + 4);
            if (*value == '=')
                return number(skip_space(value + 1));
        }
        prefer += strcspn(prefer, ",");
        prefer += *prefer == ',';
    }
    return 0;
}

bool prefer_has(const char *prefer, const char *name)
{
    size_t size = strlen(name);
    while (prefer != NULL && *prefer != '\0') {
        prefer = skip_space(prefer);
        if (strncasecmp(prefer, name, size) == 0 &&
            strchr(",;= \t", prefer[size]) != NULL)
            return true;
        prefer += strcspn(prefer, ",");
        prefer += *prefer == ',';
    }
    return false;
}
