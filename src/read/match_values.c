/* The values of a condition `in` as ranges of an index. */
#include "read/index_match.h"

#include <stdlib.h>
#include <talloc.h>

#include "schema/indexable.h"

static bool is_bytes(struct kx_slice encoded)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, encoded);
    return kx_key_next(&reader, &part) == KX_OK && part.type == KX_BYTES_PART;
}

/* Bounds among byte strings may include the empty one. */
bool match_values_reach_null(const struct declaration *index,
                             const struct condition *condition)
{
    bool found = false;
    for (size_t i = 0; i < condition->value_count; i++)
        found |= indexable_is_null(condition->values[i]) ||
                 (condition->comparison >= WHERE_GT &&
                  is_bytes(condition->values[i]));
    return found && index->missing == MISSING_NULL;
}

/* No index has a place for null alone. */
static bool is_possible(const struct condition *condition)
{
    if (condition->comparison != WHERE_IN ||
        condition->value_count > KX_RANGES_MAX)
        return false;
    for (size_t i = 0; i < condition->value_count; i++)
        if (condition->values[i].size == 0)
            return false;
    return condition->value_count > 0;
}

const struct condition *match_values_find(const struct declaration *index,
                                          const struct declaration *asked,
                                          const struct field *field,
                                          uint32_t *used)
{
    const struct condition *found = NULL;
    uint32_t bit = 0;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        struct field subject = query_subject(condition);
        if (!query_same_place(&subject, field))
            continue;
        if (condition->comparison >= WHERE_GT)
            return NULL;
        if (condition->fold == field->fold && is_possible(condition) &&
            !match_values_reach_null(index, condition)) {
            found = condition;
            bit = 1u << i;
        }
    }
    *used |= bit;
    return found;
}

bool match_values_make(void *mem, const struct condition *condition,
                       struct kx_slice suffix, struct kx_index_match *match)
{
    struct kx_slice *values =
        talloc_array(mem, struct kx_slice, condition->value_count);
    struct kx_buffer all;
    kx_buffer_init(&all, mem);
    for (size_t i = 0; i < condition->value_count; i++) {
        kx_add_slice(&all, condition->values[i]);
        kx_add_slice(&all, suffix);
    }
    kx_buffer_fit(&all);
    if (values == NULL || all.failed)
        return false;
    size_t at = 0;
    for (size_t i = 0; i < condition->value_count; i++) {
        size_t size = condition->values[i].size + suffix.size;
        values[i] = kx_slice(all.data + at, size);
        at += size;
    }
    match->values = values;
    match->value_count = condition->value_count;
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    return kx_compare(*(const struct kx_slice *)a, *(const struct kx_slice *)b);
}

static int by_bytes_reversed(const void *a, const void *b)
{
    return by_bytes(b, a);
}

void match_values_sort(struct kx_index_match *match, bool descending)
{
    qsort((void *)match->values, match->value_count, sizeof *match->values,
          descending ? by_bytes_reversed : by_bytes);
}

size_t match_values_longest(const struct kx_index_match *match)
{
    size_t longest = 0;
    for (size_t i = 0; i < match->value_count; i++)
        if (match->values[i].size > longest)
            longest = match->values[i].size;
    return longest;
}
