/* Verification: an index compared with its entries. */
#ifndef KINDEX_VERIFICATION_H
#define KINDEX_VERIFICATION_H

#include "kindex/key.h"

/* The differences that a verification finds. */
enum kx_damage {
    KX_MISSING,   /* an entry lacks its index entry, or another entry has it */
    KX_DANGLING,  /* an index entry points to an entry that does not exist */
    KX_STALE,     /* an index entry does not match its entry */
    KX_DUPLICATE, /* two entries have the same value in a unique index */
    KX_DAMAGES
};
/* The name in JSON, such as "missing". */
const char *kx_damage_text(enum kx_damage damage);

/* One difference: the key of the index entry, and the key of the entry, which
 * may be empty. Keys over KX_SAMPLE_KEY_MAX bytes are left out. */
struct kx_damaged {
    struct kx_sample index_key;
    struct kx_sample key;
};

/* A comparison of an index with the entries, in both directions. */
struct kx_verification {
    bool running;
    bool repair;    /* differences are corrected */
    bool back;      /* false: index entries are compared with their entries;
                     * true: that is done, and entries are compared with their
                     * index entries */
    uint64_t done;  /* entries and index entries compared */
    uint64_t total; /* estimated */
    uint64_t counts[KX_DAMAGES];
    struct kx_damaged samples[KX_DAMAGES][KX_SAMPLES_MAX];
    size_t sample_counts[KX_DAMAGES];
    uint64_t miscounted; /* sum of the differences between the stored and the
                          * counted numbers of entries that are left out */
    uint64_t repaired;   /* corrected differences */
    int64_t started_at_ms;
    int64_t ended_at_ms; /* 0: not yet */
};

#endif
