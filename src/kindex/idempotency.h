/* Idempotent commits: a sender that does not know the outcome of a commit sends
 * the commit again under the same key, and gets the outcome of the first one.
 */
#ifndef KINDEX_IDEMPOTENCY_H
#define KINDEX_IDEMPOTENCY_H

#include "kindex/bytes.h"
#include "kindex/limit.h"

/* Part of a KX_WRITE that is not dry; lies in the caller's memory, like the
 * commit.
 *
 * The first commit under a key is carried out, and its outcome is stored in the
 * same transaction. A refusal is stored, too, if the commit itself or the
 * entries are the reason. Failures, and lack of memory or space, are not
 * stored: the commit is then carried out when it is sent again. A later commit
 * under the key changes nothing. With the same digest it gets the stored
 * outcome as its result; otherwise KX_IDEMPOTENCY_DIFFERS.
 *
 * An outcome stores at most KX_OUTCOME_VALUES_MAX bytes of the values in the
 * result, and all values that deletions return. A larger value is read again if
 * its entry has not changed; otherwise the result says that it is omitted.
 *
 * While the outcomes of a sender take outcome_quota bytes (struct kx_options),
 * its new commits under a key are refused with KX_IDEMPOTENCY_QUOTA, which is
 * not stored. */
struct kx_idempotency {
    struct kx_slice key; /* the sender, a slash, and the commit's own key; 1 to
                          * KX_IDEMPOTENCY_KEY_MAX bytes */
    uint8_t digest[KX_FINGERPRINT_SIZE]; /* of everything the sender asks for */
    int64_t until_ms; /* Unix time in ms until which the outcome is stored */
    bool makes_keys;  /* the caller generates other keys for each try: the
                       * stored keys of the first commit replace them */
    /* Result. */
    bool replayed; /* the outcome is that of an earlier commit */
};

#endif
