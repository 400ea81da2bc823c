/* The member `tombstones` of a declaration: for how long removals are kept, a
 * whole number with a unit. */
#include <inttypes.h>
#include <stdio.h>

#include <talloc.h>

#include "schema/declaration_parse.h"

/* The longest unit first. */
static const struct period_unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};
enum { UNITS = sizeof units / sizeof *units, DAYS_MAX = 3660 };

/* 0: it is no period, or one that is too long. */
static int64_t read_period(struct kx_slice text)
{
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < text.size && digits < 16 &&
           (uint8_t)(text.data[digits] - '0') < 10;
         digits++)
        number = number * 10 + (text.data[digits] - '0');
    struct kx_slice unit = kx_slice(text.data + digits, text.size - digits);
    for (size_t i = 0; digits > 0 && i < UNITS; i++)
        if (kx_equal(unit, kx_text(units[i].name)))
            return number <= DAYS_MAX * units[0].ms / units[i].ms
                       ? number * units[i].ms
                       : 0;
    return 0;
}

enum kx_status declaration_read_tombstones(struct declaration_parse *parse,
                                           struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    struct kx_slice text = kx_slice(NULL, 0);
    enum kx_status status = KX_OK;
    if (kx_json_type(value) == KX_JSON_STRING)
        status = declaration_parse_text(parse, value, &text);
    if (status != KX_OK)
        return status;
    declaration->tombstones_ms = read_period(text);
    if (declaration->tombstones_ms != 0)
        return KX_OK;
    return declaration_parse_bad(parse,
                                 "tombstones is a whole number with a unit, "
                                 "such as \"7d\", from \"1ms\" to \"%dd\"",
                                 DAYS_MAX);
}

void declaration_write_tombstones(const struct declaration *declaration,
                                  struct kx_buffer *out)
{
    char text[64];
    int64_t ms = declaration->tombstones_ms;
    size_t i = 0;
    if (ms == 0)
        return;
    while (ms % units[i].ms != 0)
        i++;
    snprintf(text, sizeof text, ",\"tombstones\":\"%" PRId64 "%s\"",
             ms / units[i].ms, units[i].name);
    kx_add_text(out, text);
}
