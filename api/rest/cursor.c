/* Cursors. Decoded from base64url: a format byte, the list (8 bytes), a
 * checksum of all other bytes (4 bytes), the position; big endian. */
#include "rest/cursor.h"

#include "rest/query_params.h"

enum { FORMAT = 1, LIST_AT = 1, SUM_AT = 9, POSITION_AT = 13 };

static uint64_t mix(uint64_t hash, struct kx_slice bytes)
{
    /* The length keeps "ab","c" apart from "a","bc". */
    return (kx_hash(hash, bytes) ^ bytes.size) * KX_HASH_PRIME;
}

uint64_t cursor_list(struct kx_slice index, const struct kx_range *range)
{
    uint8_t reverse = range->reverse;
    uint64_t hash = mix(KX_HASH_START, index);
    hash = mix(hash, range->start);
    hash = mix(hash, range->end);
    return mix(hash, kx_slice(&reverse, 1));
}

/* Writes the low `size` bytes, big endian. */
static void put(uint8_t *out, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> (8 * (size - 1 - i)));
}

static uint32_t checksum(uint64_t list, struct kx_slice position)
{
    uint8_t head[LIST_AT + 8] = {FORMAT};
    put(head + LIST_AT, list, 8);
    uint64_t hash =
        mix(mix(KX_HASH_START, kx_slice(head, sizeof head)), position);
    return (uint32_t)(hash ^ hash >> 32);
}

void cursor_write(uint64_t list, struct kx_slice position,
                  struct kx_buffer *out)
{
    uint8_t head[POSITION_AT] = {FORMAT};
    struct kx_buffer whole;
    put(head + LIST_AT, list, 8);
    put(head + SUM_AT, checksum(list, position), 4);
    kx_buffer_init(&whole, out->owner);
    kx_add(&whole, head, sizeof head);
    kx_add_slice(&whole, position);
    if (whole.failed)
        out->failed = true;
    else
        kx_base64_write(kx_buffer_slice(&whole), out);
    kx_buffer_free(&whole);
}

/* The checksum is compared before the list, so that a damaged cursor is not
 * reported as one of another list. */
static bool open_cursor(struct kx_slice whole, uint64_t list,
                        struct kx_buffer *out, struct input_error *error)
{
    uint8_t expected[8];
    if (whole.size <= POSITION_AT || whole.data[0] != FORMAT)
        return input_error_set(error, PROBLEM_CURSOR_INVALID,
                               "The cursor was not made by this service.");
    struct kx_slice position =
        kx_slice(whole.data + POSITION_AT, whole.size - POSITION_AT);
    uint64_t owner = 0;
    for (unsigned i = 0; i < 8; i++)
        owner = owner << 8 | whole.data[LIST_AT + i];
    put(expected, checksum(owner, position), 4);
    if (memcmp(expected, whole.data + SUM_AT, 4) != 0)
        return input_error_set(error, PROBLEM_CURSOR_INVALID,
                               "The cursor was altered.");
    if (owner != list)
        return input_error_set(
            error, PROBLEM_CURSOR_MISMATCH,
            "The cursor was made with another prefix, start, end, "
            "index or direction.");
    kx_add_slice(out, position);
    return !out->failed || input_error_no_memory(error);
}

bool cursor_read(struct kx_slice text, uint64_t list, struct kx_buffer *out,
                 struct input_error *error)
{
    struct kx_buffer whole;
    kx_buffer_init(&whole, out->owner);
    bool done;
    if (!kx_base64_read(text, &whole))
        done = input_error_set(error, PROBLEM_CURSOR_INVALID,
                               "The cursor was not made by this service.");
    else if (whole.failed)
        done = input_error_no_memory(error);
    else
        done = open_cursor(kx_buffer_slice(&whole), list, out, error);
    kx_buffer_free(&whole);
    return done;
}

bool cursor_page_read(struct request *request, struct cursor_page *paging,
                      struct input_error *error)
{
    struct query_params query;
    struct kx_buffer cursor;
    kx_buffer_init(&cursor, request->memory);
    kx_buffer_init(&paging->after, request->memory);
    if (!query_params_read(request->query, TAKES_LIMIT | TAKES_CURSOR,
                           request->memory, &query, error) ||
        !query_params_limit(&query, &paging->limit, error))
        return false;
    if (!query_params_has(&query, PARAMETER_CURSOR))
        return true;
    bool done = query_params_text(&query, PARAMETER_CURSOR, &cursor, error) &&
                cursor_read(kx_buffer_slice(&cursor), paging->list,
                            &paging->after, error);
    if (!done)
        error->parameter = kx_text(query_params_name(PARAMETER_CURSOR));
    return done;
}
