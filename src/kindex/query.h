/* Queries for entries, and which index answers them. */
#ifndef KINDEX_QUERY_H
#define KINDEX_QUERY_H

#include "kindex/reader.h"

/* A query as a client writes it: {"prefix":["users"],
 * "where":[{"path":"/email","eq":"x"}],"order":["/age"],"reverse":true,
 * "fields":["/name"]}. */
struct kx_query;
/* Parses a query into talloc context memory: KX_OK, KX_BAD_JSON,
 * KX_JSON_TOO_DEEP, KX_BAD_INDEX with pointer and detail, KX_NO_MEMORY. */
enum kx_status kx_query_read(void *memory, struct kx_slice text,
                             struct kx_query **query_out,
                             struct kx_fault *fault);
/* The prefix of the queried keys, as encoded parts. */
struct kx_slice kx_query_prefix(const struct kx_query *query);
/* The number of requested members, and their JSON Pointers; 0: whole values. */
size_t kx_query_fields(const struct kx_query *query,
                       const struct kx_slice **fields_out);
/* kx_query_conditions returns the number of conditions; kx_query_condition
 * appends the n-th condition as JSON. */
size_t kx_query_conditions(const struct kx_query *query);
void kx_query_condition(const struct kx_query *query, size_t n,
                        struct kx_buffer *out);
/* True if kx_where_read can read the n-th condition, because it concerns the
 * unchanged value at a path. */
bool kx_query_condition_plain(const struct kx_query *query, size_t n);

/* Why an index does not answer a query. */
enum kx_mismatch {
    KX_MISMATCH_NOT_READY,
    KX_MISMATCH_OTHER_PREFIX,
    KX_MISMATCH_COVERS_MORE, /* the query's prefix begins with the index's */
    KX_MISMATCH_COVERS_LESS, /* the index's prefix begins with the query's */
    KX_MISMATCH_OTHER_DEPTH,
    KX_MISMATCH_TOTALS,     /* it holds totals of groups, no entries */
    KX_MISMATCH_PARTIAL,    /* its `where` may exclude matching entries */
    KX_MISMATCH_LEAVES_OUT, /* it omits entries that lack one of its fields */
    KX_MISMATCH_REPEATS,    /* it has an entry for each element of an array */
    KX_MISMATCH_FOLDS,      /* a field is folded differently */
    KX_MISMATCH_UNUSED,     /* no condition concerns its first field */
    KX_MISMATCH_CONDITIONS, /* its order does not answer all conditions */
    KX_MISMATCH_ORDER,
    KX_MISMATCH_NULLS,      /* it has entries without a value, too */
    KX_MISMATCH_TOMBSTONES, /* it has removals as well */
    KX_MISMATCH_COUNT       /* number of reasons */
};
/* The code of a reason in JSON, such as "other-order", and a sentence for it.
 */
const char *kx_mismatch_code(enum kx_mismatch mismatch);
const char *kx_mismatch_text(enum kx_mismatch mismatch);

/* How an index answers a query. The slices lie in the query's memory. */
struct kx_index_match {
    struct kx_slice index; /* its name; empty: the entries themselves */
    unsigned mismatches;   /* bit set of enum kx_mismatch; 0: it answers */
    uint32_t left; /* bit set: conditions that the client has to check */
    /* Encoded parts for a scan, not folded; empty: none. The bounds begin with
     * the prefix. */
    struct kx_slice prefix;
    struct kx_slice start;
    struct kx_slice end;
    /* If there are any: encoded parts that follow the prefix, a range for each;
     * start and end are then empty. */
    const struct kx_slice *values;
    size_t value_count;
    bool merge; /* these ranges are merged; else one follows another */
    bool reverse;
    bool may_leave_out; /* by its declaration, the index may leave out entries
                         * that the query asks for. Without the mismatch
                         * KX_MISMATCH_LEAVES_OUT it leaves out none now. False
                         * if no index key has room for the query's values. */
    bool followed;      /* each index entry costs a read of its entry */
};
/* How the n-th index in name order answers the query. Inside a view. KX_OK,
 * KX_END after the last, KX_NO_MEMORY; KX_BAD_INDEX with pointer and detail
 * when the query has been compared with KX_MATCH_MAX. */
enum kx_status kx_index_match_at(struct kx_reader *reader,
                                 struct kx_query *query, size_t n,
                                 struct kx_index_match *match_out,
                                 struct kx_fault *fault);
/* How a scan of the entries themselves answers it. KX_OK, KX_NO_MEMORY. */
enum kx_status kx_index_match_entries(struct kx_query *query,
                                      struct kx_index_match *match_out);
/* Appends the declaration of an index that would answer the query. Inside a
 * view. With check_name the name is one that is free in the store; without it
 * the name does not depend on stored data. KX_OK; KX_ABSENT: no index would
 * answer it; KX_NO_MEMORY. */
enum kx_status kx_advise(struct kx_reader *reader, const struct kx_query *query,
                         bool check_name, struct kx_buffer *out);

#endif
