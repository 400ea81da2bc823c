/* Verification: an index compared with its entries. */
#ifndef KINDEX_VERIFICATION_H
#define KINDEX_VERIFICATION_H

#include "kindex/key.h"

/* What a verification finds. */
enum kx_damage {
    KX_MISSING,  /* an entry has no index entry, or another entry has its one */
    KX_DANGLING, /* an index entry leads to no entry */
    KX_STALE,    /* an index entry says something else than its entry */
    KX_DUPLICATE, /* two entries have one value of a unique index */
    KX_DAMAGES
};
/* The name in JSON, such as "missing". */
const char *kx_damage_text(enum kx_damage damage);

/* One place: the key of the index entry, and that of the entry concerned, which
 * may be empty. Keys that are too long are left out. */
struct kx_damaged {
    struct kx_sample index_key;
    struct kx_sample key;
};

/* A comparison of an index with the entries, in both directions. */
struct kx_verification {
    bool running;
    bool repair;    /* what is found is mended */
    bool back;      /* index entries are compared with entries first, then the
                     * entries with index entries */
    uint64_t done;  /* of both, looked at */
    uint64_t total; /* estimated */
    uint64_t counts[KX_DAMAGES];
    struct kx_damaged samples[KX_DAMAGES][KX_SAMPLES_MAX];
    size_t sample_counts[KX_DAMAGES];
    uint64_t mended;
    int64_t started_at_ms;
    int64_t ended_at_ms; /* 0: not yet */
};

#endif
