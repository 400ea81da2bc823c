/* Adoption: an index takes over the entries that clients have kept under its
 * name.
 */
#ifndef KINDEX_ADOPTION_H
#define KINDEX_ADOPTION_H

#include "kindex/key.h"
#include "kindex/reader.h"

/* What becomes of the entries that clients have kept under the name of an index
 * which is declared to adopt them. */
enum kx_adopted {
    KX_KEPT,    /* right: it keeps its versionstamp */
    KX_MENDED,  /* it said something else than the index */
    KX_ADDED,   /* it was missing */
    KX_REMOVED, /* no entry has such an index entry */
    KX_ADOPTED_KINDS
};
/* The name in JSON, such as "kept". */
const char *kx_adopted_text(enum kx_adopted kind);

/* All zero: the index adopts nothing. */
struct kx_adoption {
    bool asked;
    bool gathered; /* all entries have been indexed: what is left is removed */
    bool done;
    uint64_t counts[KX_ADOPTED_KINDS];
    struct kx_sample samples[KX_ADOPTED_KINDS][KX_SAMPLES_MAX];
    size_t sample_counts[KX_ADOPTED_KINDS];
};

/* What a declaration with `adopt` would do to the entries under its name, found
 * out without doing it. One thread.
 *
 * kx_rehearse: in talloc context mem; as declaring: KX_BAD_INDEX and so on,
 * KX_NO_MEMORY. next, within a view: looks at about `limit` more entries;
 * KX_OK: there are more, KX_END: that was all, errors of the storage. result:
 * as far as it has come; it belongs to the rehearsal; `done` is false when
 * there were too many entries to tell. */
struct kx_rehearsal;
enum kx_status kx_rehearse(void *mem, struct kx_slice declaration,
                           struct kx_rehearsal **rehearsal_out,
                           struct kx_fault *fault);
enum kx_status kx_rehearse_next(struct kx_rehearsal *rehearsal,
                                struct kx_reader *reader, size_t limit);
const struct kx_adoption *
kx_rehearsal_result(const struct kx_rehearsal *rehearsal);

#endif
