/* Whether an index answers a query. The first fields that the query compares
 * with eq make a prefix; the next may have bounds, or be one of several values;
 * from there on the entries come in the order of the remaining fields, and then
 * of their keys. */
#include "read/index_match.h"

#include "schema/indexable.h"

#include <talloc.h>

enum { PAIR_COST = 8 }; /* of comparing two values, in bytes that are copied */

/* An index and a query while they are compared. */
struct matcher {
    const struct declaration *index;
    const struct declaration *asked;
    struct kx_index_match *match;
    uint32_t used;        /* conditions that the bounds answer, by number */
    size_t equal;         /* fields that are compared with eq */
    struct kx_slice last; /* what the last of them must equal */
    bool ranged;          /* the next one has bounds */
    const struct condition *in; /* of one of these fields, or NULL */
    size_t in_at;               /* the number of this field */
    bool by_value;              /* the order asked for begins with it */
    bool indexed;               /* the entries are those of an index */
    size_t sorted; /* fields and key parts after the equal ones that the order
                    * asks for */
    bool turned;   /* the order asked for is the opposite of the index's */
    bool partial;  /* conditions are answered by the index's own */
};

static void mismatch(struct matcher *matcher, enum kx_mismatch mismatch)
{
    matcher->match->mismatches |= 1u << mismatch;
}

/* ---- Bounds ------------------------------------------------------------- */

static bool is_about(const struct condition *condition,
                     const struct field *field)
{
    struct field subject = query_subject(condition);
    return query_same_place(&subject, field);
}

static bool is_equal(const struct condition *condition)
{
    return condition->comparison == WHERE_EQ && condition->values[0].size != 0;
}

/* Adds the value that the field must equal to the prefix; false if no condition
 * gives one. */
static bool take_equal(struct matcher *matcher, const struct field *field,
                       struct kx_buffer *prefix)
{
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        if (!is_equal(condition) || !is_about(condition, field) ||
            match_values_reach_null(matcher->index, condition))
            continue;
        if (condition->fold != field->fold) {
            mismatch(matcher, KX_MISMATCH_FOLDS);
            continue;
        }
        matcher->last = condition->values[0];
        kx_add_slice(prefix, matcher->last);
        matcher->used |= 1u << i;
        return true;
    }
    return false;
}

static void take_equals(struct matcher *matcher, struct kx_buffer *prefix)
{
    const struct declaration *index = matcher->index;
    while (matcher->equal < index->field_count &&
           take_equal(matcher, &index->fields[matcher->equal], prefix))
        matcher->equal++;
}

static void take_range(struct matcher *matcher, const struct field *field,
                       struct match_bounds *bounds)
{
    const struct declaration *asked = matcher->asked;
    uint32_t before = matcher->used;
    bounds->signed_zero = field->key_part != 0;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        if (condition->comparison < WHERE_GT || !is_about(condition, field) ||
            match_values_reach_null(matcher->index, condition))
            continue;
        if (condition->fold != field->fold)
            mismatch(matcher, KX_MISMATCH_FOLDS);
        else if (field->each)
            mismatch(matcher, KX_MISMATCH_REPEATS);
        else if (match_bounds_narrow(bounds, condition)) {
            matcher->used |= 1u << i;
            matcher->ranged = true;
        }
    }
    match_bounds_close(bounds);
    if (field->descending && !match_bounds_turn(bounds))
        matcher->used = before;
}

/* If the next field is to be one of several values, each of them is a range,
 * and fields after it may be equal. */
static bool take_in(struct matcher *matcher, void *mem)
{
    const struct field *field = &matcher->index->fields[matcher->equal];
    struct kx_buffer suffix;
    matcher->in = match_values_find(matcher->index, matcher->asked, field,
                                    &matcher->used);
    if (matcher->in == NULL)
        return true;
    kx_buffer_init(&suffix, mem);
    matcher->in_at = matcher->equal++;
    take_equals(matcher, &suffix);
    return !suffix.failed &&
           match_values_make(mem, matcher->in, kx_buffer_slice(&suffix),
                             matcher->match);
}

static bool take_bounds(struct matcher *matcher, void *mem)
{
    const struct declaration *index = matcher->index;
    struct kx_index_match *match = matcher->match;
    struct kx_buffer prefix;
    struct match_bounds bounds = {.bounded = false};
    kx_buffer_init(&prefix, mem);
    kx_buffer_init(&bounds.low, mem);
    kx_buffer_init(&bounds.high, mem);
    take_equals(matcher, &prefix);
    if (matcher->indexed && matcher->equal < index->field_count &&
        !take_in(matcher, mem))
        return false;
    if (matcher->in == NULL && matcher->equal < index->field_count)
        take_range(matcher, &index->fields[matcher->equal], &bounds);
    bool failed = prefix.failed || bounds.low.failed || bounds.high.failed;
    match->prefix = kx_buffer_slice(&prefix);
    match->start = match_bounds_join(mem, match->prefix,
                                     kx_buffer_slice(&bounds.low), &failed);
    match->end = match_bounds_join(mem, match->prefix,
                                   kx_buffer_slice(&bounds.high), &failed);
    return !failed;
}

/* ---- Order -------------------------------------------------------------- */

/* The fields of an index that is not unique are followed by the parts of the
 * key. */
static struct field field_at(const struct declaration *index, size_t n)
{
    if (n < index->field_count)
        return index->fields[n];
    return (struct field){.key_part = n - index->field_count + 1};
}

static bool is_fixed(const struct matcher *matcher, const struct field *field)
{
    for (size_t i = 0; i < matcher->equal; i++)
        if ((matcher->in == NULL || i != matcher->in_at) &&
            query_same_field(&matcher->index->fields[i], field))
            return true;
    return false;
}

/* Is it the order of the values of `in`? They are compared as they are given.
 */
static bool is_by_value(struct matcher *matcher, const struct field *asked)
{
    const struct field *field = &matcher->index->fields[matcher->in_at];
    if (matcher->in == NULL || matcher->sorted > 0 || field->each ||
        field->fold != FOLD_NONE || !query_same_field(asked, field))
        return false;
    matcher->by_value = true;
    match_values_sort(matcher->match,
                      matcher->match->reverse != asked->descending);
    return true;
}

/* Are the entries in its order by now? */
static bool is_settled(struct matcher *matcher, const struct field *asked,
                       bool alone)
{
    bool single = matcher->in == NULL || matcher->by_value;
    return is_fixed(matcher, asked) || is_by_value(matcher, asked) ||
           (alone && single && match_implied_given(matcher->asked, asked));
}

/* Takes the next field of the order asked for. One scan reads all fields either
 * as they lie or the other way round. */
static bool take_sorted(struct matcher *matcher, const struct field *asked,
                        const struct field *place)
{
    bool turned = asked->descending != place->descending;
    if (!query_same_field(asked, place) ||
        (matcher->sorted > 0 && turned != matcher->turned))
        return false;
    matcher->turned = turned;
    matcher->sorted++;
    return true;
}

/* After all fields of a unique index nothing is left to be ordered, but entries
 * without a place in the order must not be among the results. After the fields
 * of another index come the parts of the key, also for entries that lack the
 * part that is asked for. */
static void check_order(struct matcher *matcher)
{
    const struct declaration *index = matcher->index;
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < asked->field_count; i++) {
        size_t at = matcher->equal + matcher->sorted;
        struct field place = field_at(index, at);
        bool alone = index->unique && at >= index->field_count;
        if (is_settled(matcher, &asked->fields[i], alone))
            continue;
        bool lacking = at >= index->field_count &&
                       !match_implied_given(matcher->asked, &place);
        if (alone || lacking ||
            !take_sorted(matcher, &asked->fields[i], &place)) {
            mismatch(matcher, KX_MISMATCH_ORDER);
            return;
        }
    }
    matcher->match->reverse ^= matcher->turned;
    matcher->match->merge =
        matcher->in != NULL && matcher->sorted > 0 && !matcher->by_value;
}

/* ---- What the index leaves out ------------------------------------------ */

static bool is_present(const struct matcher *matcher, const struct field *field)
{
    if (field->key_part != 0 && matcher->index->missing == MISSING_NULL)
        return true;
    return match_implied_given(matcher->asked, field) ||
           (field->key_part == 0 &&
            (match_implied_order(matcher->asked, field->path) ||
             matcher->index->missing == MISSING_ERROR));
}

/* Does the order asked for begin or end with entries that have no value for it?
 * Bounds leave them out. */
static bool has_nulls(const struct matcher *matcher, size_t n)
{
    return matcher->index->missing == MISSING_NULL &&
           n < matcher->equal + matcher->sorted &&
           !(n == matcher->equal && matcher->ranged) &&
           !match_implied_given(matcher->asked, &matcher->index->fields[n]);
}

static void check_fields(struct matcher *matcher)
{
    const struct declaration *index = matcher->index;
    if (index->sum_count > 0 && index->missing != MISSING_ERROR)
        mismatch(matcher, KX_MISMATCH_LEAVES_OUT);
    for (size_t i = matcher->equal; i < index->field_count; i++) {
        const struct field *field = &index->fields[i];
        if (field->each)
            mismatch(matcher, KX_MISMATCH_REPEATS);
        if (has_nulls(matcher, i))
            mismatch(matcher, KX_MISMATCH_NULLS);
        if (i >= matcher->equal + matcher->sorted &&
            !is_present(matcher, field))
            mismatch(matcher, KX_MISMATCH_LEAVES_OUT);
    }
}

/* The query must not ask for entries that the index's conditions exclude. */
static void check_where(struct matcher *matcher)
{
    const struct declaration *index = matcher->index;
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < index->where_count; i++) {
        const struct condition *own = &index->where[i];
        bool exists = own->comparison == WHERE_EXISTS && own->exists;
        if (!match_implied(asked->where, asked->where_count, own) &&
            !(exists && (match_implied_value(asked, own->path, true) ||
                         match_implied_order(asked, own->path))))
            mismatch(matcher, KX_MISMATCH_PARTIAL);
    }
}

static bool shares_entries(const struct declaration *index,
                           const struct declaration *asked)
{
    return kx_starts_with(asked->prefix, index->prefix) ||
           kx_starts_with(index->prefix, asked->prefix);
}

static void check_prefix(struct matcher *matcher)
{
    struct kx_slice index = matcher->index->prefix;
    struct kx_slice asked = matcher->asked->prefix;
    if (!shares_entries(matcher->index, matcher->asked)) {
        mismatch(matcher, KX_MISMATCH_OTHER_PREFIX);
        return;
    }
    if (index.size < asked.size)
        mismatch(matcher, KX_MISMATCH_COVERS_MORE);
    if (index.size > asked.size)
        mismatch(matcher, KX_MISMATCH_COVERS_LESS);
    if (matcher->index->depth != matcher->asked->depth)
        mismatch(matcher, KX_MISMATCH_OTHER_DEPTH);
    if (declaration_aggregates(matcher->index))
        mismatch(matcher, KX_MISMATCH_TOTALS);
}

/* ---- What is left for the client ---------------------------------------- */

static bool is_answered(struct matcher *matcher, size_t n)
{
    const struct declaration *index = matcher->index;
    const struct declaration *asked = matcher->asked;
    const struct condition *condition = &asked->where[n];
    if ((matcher->used >> n & 1) != 0)
        return true;
    if (!match_implied_is_plain(condition))
        return false;
    bool own = match_implied(index->where, index->where_count, condition);
    matcher->partial |= own;
    if (own || match_implied_fields(index, condition))
        return true;
    for (size_t i = 0; i < asked->where_count; i++)
        if ((matcher->used >> i & 1) != 0 &&
            match_implied(&asked->where[i], 1, condition))
            return true;
    return false;
}

static void check_conditions(struct matcher *matcher)
{
    for (size_t i = 0; i < matcher->asked->where_count; i++)
        if (!is_answered(matcher, i))
            matcher->match->left |= 1u << i;
    if (matcher->match->left != 0)
        mismatch(matcher, KX_MISMATCH_CONDITIONS);
    const unsigned tried = 1u << KX_MISMATCH_FOLDS | 1u << KX_MISMATCH_REPEATS;
    if (matcher->equal == 0 && !matcher->ranged && matcher->sorted == 0 &&
        !matcher->partial && (matcher->match->mismatches & tried) == 0)
        mismatch(matcher, KX_MISMATCH_UNUSED);
}

/* ---- The whole ---------------------------------------------------------- */

/* No key and no index entry has a prefix or bound longer than a key. */
static void check_room(struct matcher *matcher)
{
    const struct kx_index_match *match = matcher->match;
    size_t room = KX_KEY_MAX - matcher->index->name_key.size;
    if (match->prefix.size + match_values_longest(match) > room ||
        match->start.size > room || match->end.size > room)
        mismatch(matcher, KX_MISMATCH_LEAVES_OUT);
}

static enum kx_status compare(void *mem, struct matcher *matcher)
{
    if (!take_bounds(matcher, mem))
        return KX_NO_MEMORY;
    check_order(matcher);
    check_conditions(matcher);
    return KX_OK;
}

size_t index_match_values(const struct declaration *asked)
{
    size_t count = 0;
    for (size_t i = 0; i < asked->where_count; i++)
        count += asked->where[i].value_count;
    return count;
}

size_t index_match_cost(const struct declaration *index,
                        const struct kx_query *query)
{
    const struct declaration *asked = query->asked;
    size_t values = index_match_values(asked);
    size_t cost = values * (sizeof(struct kx_slice) +
                            PAIR_COST * index_match_values(index));
    for (size_t i = 0; i < asked->where_count; i++)
        for (size_t n = 0; n < asked->where[i].value_count; n++)
            cost += asked->where[i].values[n].size;
    return shares_entries(index, asked) ? cost : 0;
}

enum kx_status index_match_make(void *mem, const struct declaration *index,
                                const struct kx_query *query,
                                struct kx_index_match *match_out)
{
    struct matcher matcher = {.index = index,
                              .asked = query->asked,
                              .match = match_out,
                              .indexed = true};
    *match_out = (struct kx_index_match){.reverse = query->reverse};
    check_prefix(&matcher);
    if (match_out->mismatches == 1u << KX_MISMATCH_OTHER_PREFIX)
        return KX_OK; /* nothing else matters */
    enum kx_status status = compare(mem, &matcher);
    check_room(&matcher);
    check_fields(&matcher);
    check_where(&matcher);
    if (index->tombstones_ms != 0)
        mismatch(&matcher, KX_MISMATCH_TOMBSTONES);
    match_out->followed = query_reads_entries(query->asked, index);
    return status;
}

/* A scan with a prefix leaves out the key that equals the prefix; a scan with
 * bounds does not. */
static bool include_key(void *mem, struct matcher *matcher)
{
    struct kx_index_match *match = matcher->match;
    struct kx_buffer next;
    bool failed = false;
    if (matcher->equal == 0 || matcher->ranged)
        return true;
    kx_buffer_init(&next, mem);
    match->start = match->prefix;
    match->prefix.size -= matcher->last.size;
    if (match_bounds_next_part(matcher->last, true, &next))
        match->end = match_bounds_join(mem, match->prefix,
                                       kx_buffer_slice(&next), &failed);
    return !failed && !next.failed;
}

/* An index has only entries with all of its fields, but the entries themselves
 * have any number of key parts. */
static void check_parts(struct matcher *matcher)
{
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < asked->field_count; i++)
        if (asked->fields[i].key_part != 0 &&
            !is_fixed(matcher, &asked->fields[i]) &&
            !match_implied_given(matcher->asked, &asked->fields[i]))
            mismatch(matcher, KX_MISMATCH_ORDER);
}

/* The entries are treated as an index whose fields are the parts of the key. */
enum kx_status index_match_entries(void *mem, const struct kx_query *query,
                                   struct kx_index_match *match_out)
{
    struct declaration *keys = talloc_zero(mem, struct declaration);
    if (keys == NULL)
        return KX_NO_MEMORY;
    struct kx_slice prefix = query->asked->prefix;
    struct matcher matcher = {
        .index = keys, .asked = query->asked, .match = match_out};
    while (keys->field_count < KX_FIELDS_MAX) {
        size_t n = keys->field_count++;
        keys->fields[n].key_part = n + 1;
    }
    *match_out = (struct kx_index_match){.reverse = query->reverse};
    enum kx_status status = compare(mem, &matcher);
    check_parts(&matcher);
    bool failed = !include_key(mem, &matcher);
    match_out->mismatches &= ~(1u << KX_MISMATCH_UNUSED);
    if (query->asked->depth != 0)
        mismatch(&matcher, KX_MISMATCH_OTHER_DEPTH);
    match_out->start =
        match_bounds_join(mem, prefix, match_out->start, &failed);
    match_out->end = match_bounds_join(mem, prefix, match_out->end, &failed);
    if (match_out->prefix.size == 0)
        match_out->prefix = prefix;
    else
        match_out->prefix =
            match_bounds_join(mem, prefix, match_out->prefix, &failed);
    check_room(&matcher);
    return failed ? KX_NO_MEMORY : status;
}
