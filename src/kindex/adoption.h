/* Adoption: an index takes over the entries that clients have stored under its
 * name. */
#ifndef KINDEX_ADOPTION_H
#define KINDEX_ADOPTION_H

#include "kindex/key.h"
#include "kindex/reader.h"

/* How adoption treats each entry under the index's name. */
enum kx_adopted {
    KX_KEPT,     /* correct: unchanged, with its versionstamp */
    KX_REPLACED, /* its value differed from the index entry, which was replaced
                  */
    KX_ADDED,    /* it was missing */
    KX_REMOVED,  /* no entry yields such an index entry */
    KX_ADOPTED_KINDS
};
/* The name in JSON, such as "kept". */
const char *kx_adopted_text(enum kx_adopted kind);

/* All zero: the index adopts nothing. */
struct kx_adoption {
    bool asked;
    bool gathered; /* all entries have been indexed; the remaining entries
                    * under the name are removed next */
    bool done;
    uint64_t counts[KX_ADOPTED_KINDS];
    struct kx_sample samples[KX_ADOPTED_KINDS][KX_SAMPLES_MAX];
    size_t sample_counts[KX_ADOPTED_KINDS];
};

/* A dry run: what a declaration with `adopt` would do to the entries under its
 * name. Nothing is changed. One thread.
 *
 * kx_dry_run_begin allocates the dry run in talloc context mem. It returns the
 * errors of a declaration (KX_BAD_INDEX and so on) or KX_NO_MEMORY.
 *
 * kx_dry_run_next, inside a view, examines about `limit` more entries. KX_OK:
 * there are more; KX_END: all are examined; otherwise a storage error.
 *
 * kx_dry_run_result is the result so far, owned by the dry run. If `done`
 * is still false after KX_END, there were too many entries for a result. */
struct kx_dry_run;
enum kx_status kx_dry_run_begin(void *mem, struct kx_slice declaration,
                                struct kx_dry_run **dry_run_out,
                                struct kx_fault *fault);
enum kx_status kx_dry_run_next(struct kx_dry_run *dry_run,
                               struct kx_reader *reader, size_t limit);
const struct kx_adoption *kx_dry_run_result(const struct kx_dry_run *dry_run);

#endif
