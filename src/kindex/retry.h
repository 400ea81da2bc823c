/* Commits that may come again: one whose sender does not know what became of
 * it is sent once more under the same key, and gets the first outcome. */
#ifndef KINDEX_RETRY_H
#define KINDEX_RETRY_H

#include "kindex/bytes.h"
#include "kindex/limit.h"

/* Part of a KX_WRITE that is not dry; lies in the caller's memory, as the
 * commit does.
 *
 * The first commit under a key is carried out, and its outcome is stored with
 * it, in the same transaction. So is a refusal for which the commit itself or
 * the entries are the reason; a lack of memory or space, or a failure, is not:
 * after it the commit is carried out when it comes again. A later commit under
 * the key changes nothing. With the same digest it gets the stored outcome in
 * its result, otherwise KX_RETRY_DIFFERS. */
struct kx_retry {
    struct kx_slice key; /* of the sender and the commit; 1 to KX_RETRY_KEY_MAX
                          * bytes */
    uint8_t digest[KX_FINGERPRINT_SIZE]; /* of all that the sender asks for */
    int64_t until_ms; /* Unix time until which the outcome is stored */
    bool makes_keys;  /* the caller makes the mutations' keys, other ones each
                       * time: those of the first commit are stored, and
                       * replace them */
    /* Result. */
    bool replayed; /* the outcome is that of an earlier commit */
};

#endif
