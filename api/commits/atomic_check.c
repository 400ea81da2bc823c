/* One check of the document of POST /atomic (atomic_read.c): a key or a
 * prefix, and one condition. */
#include "commits/atomic.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "rest/document.h"

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_REQUEST, "%s", detail);
}

/* The check being read, and which members it had. */
struct check_reading {
    void *memory;
    struct kx_check *check;
    size_t subjects; /* key, by, prefix */
    bool has_prefix;
    size_t conditions;
};

static void set_condition(struct check_reading *reading,
                          enum kx_condition condition)
{
    reading->conditions++;
    reading->check->condition = condition;
}

static bool check_key(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct check_reading *reading = target;
    reading->subjects++;
    return key_text_entry_from_json(value, reading->memory,
                                    &reading->check->key, error);
}

static bool check_by(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct check_reading *reading = target;
    reading->subjects++;
    return atomic_read_by(value, reading->memory, &reading->check->by, error);
}

static bool read_stamp(struct check_reading *reading, struct kx_slice value,
                       const char *detail, struct input_error *error)
{
    uint64_t *stamp = talloc(reading->memory, uint64_t);
    if (stamp == NULL)
        return input_error_no_memory(error);
    reading->check->stamps = stamp;
    reading->check->stamp_count = 1;
    return (kx_json_type(value) == KX_JSON_STRING &&
            kx_stamp_parse(kx_slice(value.data + 1, value.size - 2), stamp) &&
            *stamp != 0) ||
           bad(error, detail);
}

/* A text asks for that very version, null for the entry's absence, as in Deno's
 * atomic().check(). No entry has the first of all versions. */
static bool check_stamp(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct check_reading *reading = target;
    bool absent = kx_json_type(value) == KX_JSON_NULL;
    set_condition(reading, absent ? KX_IS_ABSENT : KX_IS_ONE_OF);
    return absent ||
           read_stamp(reading, value,
                      "A versionstamp is a string of 20 hexadecimal digits, as "
                      "an entry shows it, or null if the entry must be absent.",
                      error);
}

static bool check_exists(void *target, struct kx_slice value,
                         struct input_error *error)
{
    bool exists = false;
    if (!document_flag(value, &exists, error))
        return false;
    set_condition(target, exists ? KX_IS_PRESENT : KX_IS_ABSENT);
    return true;
}

static bool check_at_most(void *target, struct kx_slice value,
                          struct input_error *error)
{
    set_condition(target, KX_IS_AT_MOST);
    return read_stamp(target, value,
                      "atMost is a versionstamp: a string of 20 hexadecimal "
                      "digits, as an entry shows it.",
                      error);
}

static bool check_where(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct check_reading *reading = target;
    struct kx_where *where = NULL;
    struct kx_fault fault = {0};
    set_condition(reading, KX_MEETS);
    fault.status = kx_where_read(reading->memory, value, &where, &fault);
    reading->check->where = where;
    return fault.status == KX_OK || input_error_condition(error, &fault);
}

/* The bounds of the keys that begin with the parts of the prefix and have more,
 * as in lists (selector.c). */
static bool check_prefix(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct check_reading *reading = target;
    struct kx_check *check = reading->check;
    struct kx_buffer start;
    struct kx_buffer end;
    reading->subjects++;
    reading->has_prefix = true;
    kx_buffer_init(&start, reading->memory);
    kx_buffer_init(&end, reading->memory);
    if (!key_text_from_json(value, &start, error))
        return false;
    if (start.size > KX_KEY_MAX)
        return input_error_set(error, PROBLEM_KEY_TOO_LONG,
                               "The prefix has %zu encoded bytes; the limit is "
                               "%d.",
                               start.size, KX_KEY_MAX);
    kx_add_slice(&end, kx_buffer_slice(&start));
    kx_add_byte(&start, 0x00);
    kx_add_byte(&end, 0xff);
    if (start.failed || end.failed)
        return input_error_no_memory(error);
    check->start = kx_buffer_slice(&start);
    check->end = kx_buffer_slice(&end);
    check->key = kx_slice(start.data, start.size - 1);
    return true;
}

static bool check_none(void *target, struct kx_slice value,
                       struct input_error *error)
{
    bool none = false;
    set_condition(target, KX_RANGE_EMPTY);
    return (document_flag(value, &none, error) && none) ||
           bad(error, "none is true: there is no entry under the prefix.");
}

static const struct member CHECK_MEMBERS[] = {
    {"key", check_key},
    {"by", check_by},
    {"versionstamp", check_stamp},
    {"exists", check_exists},
    {"atMost", check_at_most},
    {"where", check_where},
    {"prefix", check_prefix},
    {"none", check_none},
    {NULL, NULL},
};

/* atMost goes with both. */
static bool fits(struct check_reading *reading, struct input_error *error)
{
    struct kx_check *check = reading->check;
    if (reading->has_prefix && check->condition == KX_IS_AT_MOST)
        check->condition = KX_RANGE_AT_MOST;
    return (reading->conditions == 1 &&
            reading->has_prefix == kx_check_of_range(check)) ||
           bad(error,
               "A check has a key or by, with one of versionstamp, "
               "exists, atMost and where; or a prefix, with none or atMost.");
}

bool atomic_read_check(struct kx_slice value, void *memory,
                       struct kx_check *check, struct input_error *error)
{
    struct check_reading reading = {.memory = memory, .check = check};
    if (!document_read(value, CHECK_MEMBERS, &reading, error))
        return false;
    if (reading.subjects != 1)
        return bad(error, "A check has a key, a prefix or by.");
    return fits(&reading, error);
}
