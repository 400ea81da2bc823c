/* Searches the environment, ignoring the variables that Kubernetes sets for a
 * service named kindex (KINDEX_SERVICE_HOST, KINDEX_PORT_80_TCP). */
#include "cli/variables.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "config/flags.h"

enum { VARIABLE_MAX = 64 };
static const char PREFIX[] = "KINDEX_";

static bool is_of(const struct option_row *row, const char *variable)
{
    char name[VARIABLE_MAX];
    option_variable(row, name, sizeof name);
    return strcmp(name, variable) == 0;
}

static bool is_read(const char *variable)
{
    size_t count;
    const struct option_row *rows = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].type != OPTION_ACTION && is_of(&rows[i], variable))
            return true;
    const struct cli_option *options = cli_options(&count);
    for (size_t i = 0; i < count; i++)
        if (cli_has_variable(&options[i]) && is_of(&options[i].row, variable))
            return true;
    return false;
}

static bool is_of_kubernetes(const char *variable, const char *value)
{
    const char *port = strstr(variable, "_PORT_");
    return strstr(variable, "_SERVICE_") != NULL ||
           (port != NULL && isdigit((unsigned char)port[6])) ||
           strncmp(value, "tcp://", 6) == 0 || strncmp(value, "udp://", 6) == 0;
}

/* Returns the option of either table that was probably meant, such as
 * "idle-timeout" for KINDEX_IDEL_TIMEOUT. */
static struct kx_slice find_meant(struct kx_slice name)
{
    size_t count;
    struct suggestion suggestion = suggestion_of(name, flags_synonyms());
    const struct option_row *rows = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].type != OPTION_ACTION)
            suggestion_offer(&suggestion, kx_text(rows[i].name));
    const struct cli_option *options = cli_options(&count);
    for (size_t i = 0; i < count; i++)
        if (cli_has_variable(&options[i]))
            suggestion_offer(&suggestion, kx_text(options[i].row.name));
    return suggestion.name;
}

static void complain(const char *variable)
{
    char name[VARIABLE_MAX], meant[VARIABLE_MAX];
    snprintf(name, sizeof name, "%s", variable + sizeof PREFIX - 1);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    struct kx_slice option = find_meant(kx_text(name));
    snprintf(name, sizeof name, "%.*s", (int)option.size,
             (const char *)option.data);
    option_variable(&(struct option_row){.name = name}, meant, sizeof meant);
    cli_fail("warning: no option reads the variable %s%s%s%s", variable,
             option.size > 0 ? " (did you mean " : "",
             option.size > 0 ? meant : "", option.size > 0 ? "?)" : "");
}

void variables_check(void)
{
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        char variable[VARIABLE_MAX];
        const char *equals = strchr(*at, '=');
        if (equals == NULL || strncmp(*at, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        snprintf(variable, sizeof variable, "%.*s", (int)(equals - *at), *at);
        if (!is_read(variable) && !is_of_kubernetes(variable, equals + 1))
            complain(variable);
    }
}
