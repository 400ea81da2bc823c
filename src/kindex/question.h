/* Queries for entries, and which index answers them. */
#ifndef KINDEX_QUESTION_H
#define KINDEX_QUESTION_H

#include "kindex/reader.h"

/* A query as a client writes it: {"prefix":["users"],
 * "where":[{"path":"/email","eq":"x"}],"order":["/age"],"reverse":true,
 * "fields":["/name"]}. */
struct kx_question;
/* Parses a query into talloc context memory: KX_OK, KX_BAD_JSON,
 * KX_JSON_TOO_DEEP,
 * KX_BAD_INDEX with pointer and detail, KX_NO_MEMORY. */
enum kx_status kx_question_read(void *memory, struct kx_slice text,
                                struct kx_question **question_out,
                                struct kx_fault *fault);
/* The prefix of the queried keys, as encoded parts. */
struct kx_slice kx_question_prefix(const struct kx_question *question);
/* The number of requested members, and their JSON Pointers; 0: whole values. */
size_t kx_question_fields(const struct kx_question *question,
                          const struct kx_slice **fields_out);
/* The number of conditions; appends the n-th as JSON. */
size_t kx_question_conditions(const struct kx_question *question);
void kx_question_condition(const struct kx_question *question, size_t n,
                           struct kx_buffer *out);

/* Why an index does not answer a query. */
enum kx_misfit {
    KX_MISFIT_NOT_READY,
    KX_MISFIT_OTHER_PREFIX,
    KX_MISFIT_COVERS_MORE, /* the query's prefix begins with the index's */
    KX_MISFIT_COVERS_LESS, /* the index's prefix begins with the query's */
    KX_MISFIT_OTHER_DEPTH,
    KX_MISFIT_PARTIAL,    /* its `where` may exclude matching entries */
    KX_MISFIT_LEAVES_OUT, /* it omits entries that lack one of its fields */
    KX_MISFIT_REPEATS,    /* it has an entry for each element of an array */
    KX_MISFIT_FOLDS,      /* a field is folded in another way */
    KX_MISFIT_UNUSED,     /* no condition concerns its first field */
    KX_MISFIT_CONDITIONS, /* its order does not answer all conditions */
    KX_MISFIT_ORDER,
    KX_MISFIT_COUNT /* number of misfits */
};
/* The code of a misfit in JSON, such as "other-order", and a sentence for it.
 */
const char *kx_misfit_code(enum kx_misfit misfit);
const char *kx_misfit_text(enum kx_misfit misfit);

/* How an index answers a query. The slices lie in the query's memory. */
struct kx_fit {
    struct kx_slice index; /* its name; empty: the entries themselves */
    unsigned misfits;      /* bit set of enum kx_misfit; 0: it answers */
    uint32_t left; /* bit set: conditions that the client has to check */
    /* Encoded parts for a scan, not folded; empty: none. The bounds begin with
     * the prefix. */
    struct kx_slice prefix;
    struct kx_slice start;
    struct kx_slice end;
    bool reverse;
    bool followed; /* each index entry costs a read of its entry */
};
/* How the n-th index in name order answers the query. Inside a view. KX_OK,
 * KX_END after the last, KX_NO_MEMORY. */
enum kx_status kx_fit_at(struct kx_reader *reader, struct kx_question *question,
                         size_t n, struct kx_fit *fit_out);
/* How a scan of the entries themselves answers it. KX_OK, KX_NO_MEMORY. */
enum kx_status kx_fit_entries(struct kx_question *question,
                              struct kx_fit *fit_out);
/* Appends the declaration of an index that would answer the query. Inside a
 * view. With check_name the name is one that is free in the store; without it
 * the name does not depend on stored data. KX_OK; KX_ABSENT: no index would
 * answer it; KX_NO_MEMORY. */
enum kx_status kx_advise(struct kx_reader *reader,
                         const struct kx_question *question, bool check_name,
                         struct kx_buffer *out);

#endif
