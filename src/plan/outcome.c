/* Numbers are little endian, and bytes follow their size (4):
 *
 *   status (1)   its position in STATUSES
 *   keys         that the commit named by values, or that the caller generated
 *   of a success: stamp (8), in_range (4), flags (1), the position of the last
 *                entry of a range, results
 *   of a refusal: the members of struct kx_refusal in their order; last are
 *                `expected` of KX_RULE_VIOLATED and `referring` (4) of
 *                KX_REFERENCED
 *
 * The bytes come from the disk, so everything that is read is checked. Only the
 * commit is known to fit: its digest is that of the commit that was written. */
#include "plan/outcome.h"

#include <stdio.h>
#include <talloc.h>

/* The place of a status in this list is stored: only add at the end. */
static const enum kx_status STATUSES[] = {
    KX_OK,
    KX_ABSENT,
    KX_CHECK_FAILED,
    KX_UNIQUE_VIOLATION,
    KX_TYPE_MISMATCH,
    KX_NUMBER_RANGE,
    KX_PATH_ABSENT,
    KX_TEST_FAILED,
    KX_OUT_OF_BOUNDS,
    KX_BAD_KEY,
    KX_KEY_TOO_LONG,
    KX_BAD_VALUE,
    KX_JSON_TOO_DEEP,
    KX_VALUE_TOO_LARGE,
    KX_COMMIT_TOO_LARGE,
    KX_INDEX_ABSENT,
    KX_INDEX_NOT_UNIQUE,
    KX_INDEX_OWNED_KEY,
    KX_NOT_INDEXABLE,
    KX_RULE_VIOLATED,
    KX_RECEIPT_STALE,
    KX_QUEUE_ABSENT,
    KX_REFERENCED,
};
enum { STATUS_COUNT = sizeof STATUSES / sizeof *STATUSES };

/* Flags of a success. */
enum { CREATED = 1, MORE = 2, RESULTS = 4, LAST = 8 };

/* Flags of a result; OMITTED: its value was not stored. */
enum { ASKED = 1, SKIPPED = 2, PRESENT = 4, OMITTED = 8 };

/* Tells whether a refusal has a value, and whether the value was stored. */
enum { HELD_NOT = 0, HELD = 1, HELD_OMITTED = 2 };

static int number_of(enum kx_status status)
{
    int number = 0;
    while (number < STATUS_COUNT && STATUSES[number] != status)
        number++;
    return number;
}

bool outcome_is_definite(enum kx_status status)
{
    return number_of(status) < STATUS_COUNT;
}

/* True if the key of this mutation is part of the outcome. */
static bool names_key(const struct kx_commit *commit,
                      const struct kx_mutation *mutation)
{
    return (mutation->by != NULL && !kx_mutates_range(mutation)) ||
           (commit->idempotency != NULL && commit->idempotency->makes_keys);
}

/* ---- To bytes ----------------------------------------------------------- */

static void put(struct kx_buffer *out, uint64_t number, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    kx_add(out, bytes, size);
}

static void put_bytes(struct kx_buffer *out, struct kx_slice bytes)
{
    put(out, bytes.size, 4);
    kx_add_slice(out, bytes);
}

/* Takes the size from what is left for values. False if it does not fit. */
static bool fits(size_t *room, size_t size)
{
    if (size > *room)
        return false;
    *room -= size;
    return true;
}

static bool value_fits(size_t *room, const struct kx_value *value)
{
    return fits(room, value->data.size + value->media_type.size);
}

static void put_value(struct kx_buffer *out, const struct kx_value *value)
{
    put(out, value->encoding, 1);
    put_bytes(out, value->data);
    put_bytes(out, value->media_type);
}

static void put_keys(struct kx_buffer *out, const struct kx_commit *commit)
{
    for (size_t i = 0; i < commit->check_count; i++)
        if (commit->checks[i].by != NULL)
            put_bytes(out, commit->checks[i].key);
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (names_key(commit, &commit->mutations[i]))
            put_bytes(out, commit->mutations[i].key);
}

/* The value that a deletion returns exists nowhere else, and a request of that
 * size has stored it, so it is always stored. */
static void put_result(struct kx_buffer *out, const struct kx_result *result,
                       bool deleted, size_t *room)
{
    bool omitted = result->asked && result->present && !deleted &&
                   !value_fits(room, &result->entry.value);
    put(out,
        (result->asked ? ASKED : 0) | (result->skipped ? SKIPPED : 0) |
            (result->present ? PRESENT : 0) | (omitted ? OMITTED : 0),
        1);
    if (!result->asked)
        return;
    put_bytes(out, result->entry.key);
    if (!result->present)
        return;
    put(out, result->entry.stamp, 8);
    put(out, (uint64_t)result->entry.expires_at_ms, 8);
    if (!omitted)
        put_value(out, &result->entry.value);
}

static void put_success(struct kx_buffer *out, const struct kx_commit *commit)
{
    size_t room = KX_OUTCOME_VALUES_MAX;
    put(out, commit->stamp, 8);
    put(out, commit->in_range, 4);
    put(out,
        (commit->created ? CREATED : 0) | (commit->more ? MORE : 0) |
            (commit->results != NULL ? RESULTS : 0) |
            (commit->last.size > 0 ? LAST : 0),
        1);
    if (commit->last.size > 0)
        put_bytes(out, commit->last);
    for (size_t i = 0; commit->results != NULL && i < commit->mutation_count;
         i++)
        put_result(out, &commit->results[i],
                   commit->mutations[i].type == KX_DELETE, &room);
}

/* The number of the check or mutation that has `by`: 0 for none, then the
 * checks, then the mutations. */
static size_t by_number(const struct kx_commit *commit, const struct kx_by *by)
{
    for (size_t i = 0; by != NULL && i < commit->check_count; i++)
        if (commit->checks[i].by == by)
            return 1 + i;
    for (size_t i = 0; by != NULL && i < commit->mutation_count; i++)
        if (commit->mutations[i].by == by)
            return 1 + commit->check_count + i;
    return 0;
}

static void put_fault(struct kx_buffer *out, const struct kx_fault *fault)
{
    put_bytes(out, kx_text(fault->detail));
    put_bytes(out, kx_text(fault->pointer));
    put(out, fault->offset, 8);
    put(out, fault->inexact, 1);
    put_bytes(out, kx_text(fault->suggestion));
}

static void put_refusal(struct kx_buffer *out, const struct kx_commit *commit)
{
    const struct kx_refusal *refusal = &commit->refusal;
    size_t room = KX_OUTCOME_VALUES_MAX;
    put_fault(out, &refusal->fault);
    put(out, refusal->check_count, 4);
    for (size_t i = 0; i < refusal->check_count; i++) {
        const struct kx_failed_check *failed = &refusal->checks[i];
        put(out, failed->check, 4);
        put(out, failed->actual, 8);
        put_bytes(out, failed->key);
        put_bytes(out, failed->condition);
        put_bytes(out, fits(&room, failed->found.size) ? failed->found
                                                       : kx_slice(NULL, 0));
    }
    put(out, refusal->mutation, 4);
    put(out, by_number(commit, refusal->by), 4);
    put_bytes(out, kx_text(refusal->index));
    put_bytes(out, refusal->field);
    put_bytes(out, refusal->index_value);
    put_bytes(out, refusal->existing_key);
    put_bytes(out, refusal->attempted_key);
    bool kept = refusal->held && value_fits(&room, &refusal->holds);
    put(out, kept ? HELD : refusal->held ? HELD_OMITTED : HELD_NOT, 1);
    if (kept)
        put_value(out, &refusal->holds);
    if (commit->status == KX_RULE_VIOLATED)
        put_bytes(out, refusal->expected);
    if (commit->status == KX_REFERENCED)
        put(out, refusal->referring, 4);
}

void outcome_write(const struct kx_commit *commit, struct kx_buffer *out)
{
    put(out, (uint64_t)number_of(commit->status), 1);
    put_keys(out, commit);
    if (commit->status == KX_OK)
        put_success(out, commit);
    else
        put_refusal(out, commit);
}

/* ---- From bytes --------------------------------------------------------- */

struct outcome_reader {
    struct kx_slice rest; /* bytes left to read */
    bool whole;           /* false: bytes were missing, and what follows is 0 */
    bool starved;         /* memory ran out */
};

static struct kx_slice take(struct outcome_reader *reading, size_t size)
{
    if (reading->rest.size < size) {
        reading->whole = false;
        reading->rest.size = 0;
        return kx_slice(NULL, 0);
    }
    struct kx_slice taken = kx_slice(reading->rest.data, size);
    reading->rest.data += size;
    reading->rest.size -= size;
    return taken;
}

static uint64_t get(struct outcome_reader *reading, size_t size)
{
    struct kx_slice bytes = take(reading, size);
    uint64_t number = 0;
    for (size_t i = bytes.size; i > 0; i--)
        number = number << 8 | bytes.data[i - 1];
    return number;
}

static struct kx_slice get_bytes(struct outcome_reader *reading)
{
    return take(reading, (size_t)get(reading, 4));
}

static void get_text(struct outcome_reader *reading, char *out, size_t size)
{
    struct kx_slice bytes = get_bytes(reading);
    snprintf(out, size, "%.*s", (int)bytes.size,
             bytes.size != 0 ? (const char *)bytes.data : "");
}

static void get_value(struct outcome_reader *reading, struct kx_value *value)
{
    value->encoding = (enum kx_encoding)get(reading, 1);
    value->data = get_bytes(reading);
    value->media_type = get_bytes(reading);
}

static void get_keys(struct outcome_reader *reading, struct kx_commit *commit)
{
    for (size_t i = 0; i < commit->check_count; i++)
        if (commit->checks[i].by != NULL)
            commit->checks[i].key = get_bytes(reading);
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (names_key(commit, &commit->mutations[i]))
            commit->mutations[i].key = get_bytes(reading);
}

static void get_result(struct outcome_reader *reading, struct kx_result *result)
{
    unsigned flags = (unsigned)get(reading, 1);
    result->asked = (flags & ASKED) != 0;
    result->skipped = (flags & SKIPPED) != 0;
    result->present = (flags & PRESENT) != 0;
    if (!result->asked)
        return;
    result->entry.key = get_bytes(reading);
    if (!result->present)
        return;
    result->entry.stamp = get(reading, 8);
    result->entry.expires_at_ms = (int64_t)get(reading, 8);
    result->omitted = (flags & OMITTED) != 0;
    if (!result->omitted)
        get_value(reading, &result->entry.value);
}

static void get_success(struct outcome_reader *reading,
                        struct kx_commit *commit)
{
    commit->stamp = get(reading, 8);
    commit->in_range = (size_t)get(reading, 4);
    unsigned flags = (unsigned)get(reading, 1);
    commit->created = (flags & CREATED) != 0;
    commit->more = (flags & MORE) != 0;
    if ((flags & LAST) != 0)
        commit->last = get_bytes(reading);
    if ((flags & RESULTS) == 0)
        return;
    commit->results = talloc_zero_array(commit->memory, struct kx_result,
                                        (unsigned)commit->mutation_count);
    reading->starved = commit->results == NULL;
    for (size_t i = 0; commit->results != NULL && i < commit->mutation_count;
         i++)
        get_result(reading, &commit->results[i]);
}

static const struct kx_by *by_of(const struct kx_commit *commit, size_t number)
{
    if (number == 0)
        return NULL;
    number--;
    if (number < commit->check_count)
        return commit->checks[number].by;
    number -= commit->check_count;
    return number < commit->mutation_count ? commit->mutations[number].by
                                           : NULL;
}

static void get_fault(struct outcome_reader *reading, enum kx_status status,
                      struct kx_fault *fault)
{
    fault->status = status;
    get_text(reading, fault->detail, sizeof fault->detail);
    get_text(reading, fault->pointer, sizeof fault->pointer);
    fault->offset = (size_t)get(reading, 8);
    fault->inexact = get(reading, 1) != 0;
    get_text(reading, fault->suggestion, sizeof fault->suggestion);
}

static void get_checks(struct outcome_reader *reading, struct kx_commit *commit)
{
    struct kx_refusal *refusal = &commit->refusal;
    size_t count = (size_t)get(reading, 4);
    if (count > commit->check_count)
        reading->whole = false;
    if (count == 0 || count > commit->check_count)
        return;
    refusal->checks = talloc_zero_array(commit->memory, struct kx_failed_check,
                                        (unsigned)count);
    reading->starved = refusal->checks == NULL;
    for (size_t i = 0; refusal->checks != NULL && i < count; i++) {
        struct kx_failed_check *failed = &refusal->checks[i];
        failed->check = (size_t)get(reading, 4);
        failed->actual = get(reading, 8);
        failed->key = get_bytes(reading);
        failed->condition = get_bytes(reading);
        failed->found = get_bytes(reading);
        if (failed->check >= commit->check_count)
            reading->whole = false;
        refusal->check_count = i + 1;
    }
}

static void get_refusal(struct outcome_reader *reading,
                        struct kx_commit *commit)
{
    struct kx_refusal *refusal = &commit->refusal;
    get_fault(reading, commit->status, &refusal->fault);
    get_checks(reading, commit);
    refusal->mutation = (size_t)get(reading, 4);
    refusal->by = by_of(commit, (size_t)get(reading, 4));
    get_text(reading, refusal->index, sizeof refusal->index);
    refusal->field = get_bytes(reading);
    refusal->index_value = get_bytes(reading);
    refusal->existing_key = get_bytes(reading);
    refusal->attempted_key = get_bytes(reading);
    uint64_t held = get(reading, 1);
    refusal->held = held != HELD_NOT;
    refusal->omitted = held == HELD_OMITTED;
    if (held == HELD)
        get_value(reading, &refusal->holds);
    if (commit->status == KX_RULE_VIOLATED)
        refusal->expected = get_bytes(reading);
    if (commit->status == KX_REFERENCED)
        refusal->referring = get(reading, 4);
}

enum kx_status outcome_read(struct kx_slice bytes, struct kx_commit *commit)
{
    if (!kx_slice_copy(commit->memory, bytes, &bytes))
        return KX_NO_MEMORY;
    struct outcome_reader reading = {bytes, true, false};
    size_t number = (size_t)get(&reading, 1);
    if (number >= STATUS_COUNT)
        return KX_FAILED;
    commit->status = STATUSES[number];
    get_keys(&reading, commit);
    if (commit->status == KX_OK)
        get_success(&reading, commit);
    else
        get_refusal(&reading, commit);
    if (reading.starved)
        return KX_NO_MEMORY;
    return reading.whole && reading.rest.size == 0 ? KX_OK : KX_FAILED;
}
