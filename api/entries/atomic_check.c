/* One check of the document of POST /atomic (atomic_read.c). */
#include "entries/atomic.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "rest/member_table.h"

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_REQUEST, "%s", detail);
}

/* The check being read. The versionstamp needs a flag: null is a value of
 * it. */
struct check_reading {
    void *memory;
    struct kx_check *check;
    bool has_stamp;
};

static bool check_key(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct check_reading *reading = target;
    return key_text_entry_from_json(value, reading->memory,
                                    &reading->check->key, error);
}

/* A text asks for that very version, null for the entry's absence, as in Deno's
 * atomic().check(). No entry has the first of all versions. */
static bool check_stamp(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct check_reading *reading = target;
    struct kx_check *check = reading->check;
    reading->has_stamp = true;
    check->condition = KX_IS_ABSENT;
    if (kx_json_type(value) == KX_JSON_NULL)
        return true;
    uint64_t *stamp = talloc(reading->memory, uint64_t);
    if (stamp == NULL)
        return input_error_no_memory(error);
    if (kx_json_type(value) != KX_JSON_STRING ||
        !kx_stamp_parse(kx_slice(value.data + 1, value.size - 2), stamp) ||
        *stamp == 0)
        return bad(error,
                   "A versionstamp is a string of 20 hexadecimal digits, as an "
                   "entry shows it, or null if the entry must be absent.");
    check->condition = KX_IS_ONE_OF;
    check->stamps = stamp;
    check->stamp_count = 1;
    return true;
}

static const struct member CHECK_MEMBERS[] = {
    {"key", check_key},
    {"versionstamp", check_stamp},
    {NULL, NULL},
};

bool atomic_read_check(struct kx_slice value, void *memory,
                       struct kx_check *check, struct input_error *error)
{
    struct check_reading reading = {memory, check, false};
    if (!member_table_read(value, CHECK_MEMBERS, &reading, error))
        return false;
    if (check->key.size == 0 || !reading.has_stamp)
        return bad(error, "A check has a key and a versionstamp.");
    return true;
}
