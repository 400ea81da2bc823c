/* Questions about entries, and which index answers them. */
#ifndef KINDEX_QUESTION_H
#define KINDEX_QUESTION_H

#include "kindex/reader.h"

/* What is asked of entries, as a client writes it: {"prefix":["users"],
 * "where":[{"path":"/email","eq":"x"}],"order":["/age"],"reverse":true,
 * "fields":["/name"]}. */
struct kx_question;
/* Reads one into talloc context memory: KX_OK, KX_BAD_JSON, KX_JSON_TOO_DEEP,
 * KX_BAD_INDEX with pointer and detail, KX_NO_MEMORY. */
enum kx_status kx_question_read(void *memory, struct kx_slice text,
                                struct kx_question **question_out,
                                struct kx_fault *fault);
/* The encoded parts that the keys it asks for begin with. */
struct kx_slice kx_question_prefix(const struct kx_question *question);
/* The members it asks for, JSON Pointers; 0: whole values. */
size_t kx_question_fields(const struct kx_question *question,
                          const struct kx_slice **fields_out);
/* The number of its conditions, and the n-th appended as JSON. */
size_t kx_question_conditions(const struct kx_question *question);
void kx_question_condition(const struct kx_question *question, size_t n,
                           struct kx_buffer *out);

/* Why an index does not answer a question. */
enum kx_misfit {
    KX_MISFIT_NOT_READY,
    KX_MISFIT_OTHER_PREFIX,
    KX_MISFIT_COVERS_MORE, /* the index's prefix begins the one asked for */
    KX_MISFIT_COVERS_LESS, /* and the other way round */
    KX_MISFIT_OTHER_DEPTH,
    KX_MISFIT_PARTIAL,    /* its own conditions leave out what is asked for */
    KX_MISFIT_LEAVES_OUT, /* it has no entries without one of its fields */
    KX_MISFIT_REPEATS,    /* it has an entry for each element of an array */
    KX_MISFIT_FOLDS,      /* a field is folded in another way */
    KX_MISFIT_UNUSED,     /* nothing is asked of its first field */
    KX_MISFIT_CONDITIONS, /* its order does not answer all conditions */
    KX_MISFIT_ORDER,
    KX_MISFIT_COUNT /* of them; none itself */
};
/* The code of a misfit in JSON, such as "other-order", and a sentence for it.
 */
const char *kx_misfit_code(enum kx_misfit misfit);
const char *kx_misfit_text(enum kx_misfit misfit);

/* How an index answers a question. The slices lie in the question's memory. */
struct kx_fit {
    struct kx_slice index; /* its name; empty: the entries themselves */
    unsigned misfits;      /* a bit for each; 0: it answers it */
    uint32_t left; /* conditions, by number, that the client has to check */
    /* Encoded parts for a scan, not folded; empty where there is none. The
     * bounds begin with the prefix. */
    struct kx_slice prefix;
    struct kx_slice start;
    struct kx_slice end;
    bool reverse;
    bool followed; /* the entry is read for each entry of the index */
};
/* The fit of the n-th index in name order, inside a view: KX_OK, KX_END after
 * the last, KX_NO_MEMORY. */
enum kx_status kx_fit_at(struct kx_reader *reader, struct kx_question *question,
                         size_t n, struct kx_fit *fit_out);
/* The fit of the entries themselves. KX_OK, KX_NO_MEMORY. */
enum kx_status kx_fit_entries(struct kx_question *question,
                              struct kx_fit *fit_out);
/* Appends the declaration of an index that would answer the question, inside a
 * view; with a name that is free (check_name), or else with one that depends on
 * nothing that is stored. KX_OK; KX_ABSENT: there is none; KX_NO_MEMORY. */
enum kx_status kx_advise(struct kx_reader *reader,
                         const struct kx_question *question, bool check_name,
                         struct kx_buffer *out);

#endif
