/* Reads times to live (a whole number and a unit) and times of expiry (a number
 * alone). */
#include "rest/ttl.h"

#include <inttypes.h>

#include "rest/document.h"

static const struct ttl_unit {
    const char *name;
    int64_t ms;
} UNITS[] = {
    {"ms", 1},          {"s", 1000},         {"m", 60 * 1000},
    {"h", 3600 * 1000}, {"d", 86400 * 1000},
};

static int64_t unit_ms(struct kx_slice name)
{
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (kx_equal(name, kx_text(UNITS[i].name)))
            return UNITS[i].ms;
    return 0;
}

/* Reads the leading digits. A number beyond the longest time may lose digits,
 * but stays beyond it. */
static size_t read_digits(struct kx_slice text, int64_t *number_out)
{
    int64_t number = 0;
    size_t i = 0;
    for (; i < text.size && (uint8_t)(text.data[i] - '0') < 10; i++)
        if (number <= TTL_MAX_MS)
            number = number * 10 + (text.data[i] - '0');
    *number_out = number;
    return i;
}

static bool read_time(struct kx_slice text, const char *name,
                      enum problem_code code, int64_t *ms_out,
                      struct input_error *error)
{
    int64_t number;
    size_t i = read_digits(text, &number);
    int64_t ms = unit_ms(kx_slice(text.data + i, text.size - i));
    if (i == 0 || ms == 0)
        return input_error_set(
            error, code,
            "%s is \"%.*s\"; it takes a whole number with a unit: "
            "250ms, 60s, 5m, 1h or 7d.",
            name, (int)(text.size < 40 ? text.size : 40), text.data);
    if (number == 0)
        return input_error_set(error, code, "%s is 0; the shortest is 1ms.",
                               name);
    if (number > TTL_MAX_MS / ms)
        return input_error_set(error, code,
                               "%s is too long; the longest is 36500d.", name);
    *ms_out = number * ms;
    return true;
}

bool ttl_read(struct kx_slice text, enum problem_code code, int64_t *ms_out,
              struct input_error *error)
{
    return read_time(text, "ttl", code, ms_out, error);
}

bool ttl_read_write(struct kx_slice text, enum problem_code code,
                    struct ttl *ttl_out, struct input_error *error)
{
    ttl_out->kind = kx_equal(text, kx_text("keep"))   ? TTL_KEEP
                    : kx_equal(text, kx_text("none")) ? TTL_NONE
                                                      : TTL_TIME;
    return ttl_out->kind != TTL_TIME ||
           ttl_read(text, code, &ttl_out->ms, error);
}

void ttl_apply(const struct ttl *ttl, struct kx_mutation *mutation)
{
    bool has_time = ttl->kind == TTL_TIME;
    mutation->expires_at_ms = has_time ? kx_now_ms() + ttl->ms : 0;
    mutation->ttl_of = ttl->kind == TTL_KEEP ? KX_TTL_NEW : KX_TTL_ALWAYS;
}

static bool member_text(struct kx_slice value, const char *name,
                        struct kx_buffer *text, struct input_error *error)
{
    if (kx_json_type(value) != KX_JSON_STRING)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "%s is a string with a unit, such as \"60s\".",
                               name);
    return document_text(value, text, error);
}

bool ttl_member(struct kx_slice value, const char *name, const void *memory,
                int64_t *ms_out, struct input_error *error)
{
    struct kx_buffer text;
    kx_buffer_init(&text, memory);
    return member_text(value, name, &text, error) &&
           read_time(kx_buffer_slice(&text), name, PROBLEM_BAD_REQUEST, ms_out,
                     error);
}

bool ttl_member_write(struct kx_slice value, const void *memory,
                      struct ttl *ttl_out, struct input_error *error)
{
    struct kx_buffer text;
    kx_buffer_init(&text, memory);
    return member_text(value, "ttl", &text, error) &&
           ttl_read_write(kx_buffer_slice(&text), PROBLEM_BAD_REQUEST, ttl_out,
                          error);
}

bool ttl_expires_at(struct kx_slice value, int64_t *ms_out,
                    struct input_error *error)
{
    double ms;
    if (!kx_number_parse(value, &ms) || !(ms >= 1) ||
        !(ms <= (double)EXPIRES_AT_MAX_MS) || ms != (double)(int64_t)ms)
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "expiresAt takes Unix time in milliseconds, a whole "
            "number from 1 to %" PRId64 ".",
            EXPIRES_AT_MAX_MS);
    *ms_out = (int64_t)ms;
    return true;
}
