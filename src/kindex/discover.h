/* Discovery: finds the indexes that an application keeps by hand, and counts
 * how right they are. */
#ifndef KINDEX_DISCOVER_H
#define KINDEX_DISCOVER_H

#include "kindex/reader.h"
#include "kindex/verification.h"

/* Bounds of the work, and thresholds of what is proposed. */
enum kx_discover_limit {
    KX_DISCOVER_DEPTH_MAX = 6, /* parts of a constant prefix */
    KX_DISCOVER_REST_MAX = 6,  /* key parts after it */
    KX_DISCOVER_CHILDREN = 64, /* a part with more values is not constant */
    KX_DISCOVER_NODES = 1024,  /* prefixes that are examined at a time */
    KX_DISCOVER_GROUPS = 64,   /* groups of entries that are compared with each
                                * other: the largest ones */
    KX_DISCOVER_SAMPLE = 128,  /* keys sampled of a group */
    KX_DISCOVER_SAMPLE_LEAST = 16, /* fewer if memory is short, down to this */
    KX_DISCOVER_MEMORY = 8 * 1048576, /* bytes of the survey: the prefixes, and
                                       * the samples of their groups */
    KX_DISCOVER_ENTRIES = 10,         /* smaller groups are neither indexes nor
                                       * indexed */
    KX_DISCOVER_VALUE = 16384,        /* larger values are not sampled */
    KX_DISCOVER_AGREE = 80,    /* percent of the index entries that must agree
                                * with their entries */
    KX_DISCOVER_LIKELY = 60,   /* percent of a sample that must agree before
                                * all entries are counted */
    KX_DISCOVER_EVIDENCE = 16, /* bits: equal values must be this surprising;
                                * 20 entries with two values in equal numbers
                                * are worth 20 bits, a constant is worth
                                * none */
    KX_DISCOVER_KEYS = 1048576 /* index keys held in memory; more are counted
                                * in several passes */
};

/* What the index entries hold. */
enum kx_hand_form {
    KX_HAND_KEY,     /* the whole primary key, an array */
    KX_HAND_PARTS,   /* its parts after the prefix, as an index holds them */
    KX_HAND_COPY,    /* a copy of the value */
    KX_HAND_MEMBERS, /* some members of the value, perhaps with the last part
                      * of the primary key as another member */
    KX_HAND_EMPTY,   /* null, true, an empty text or the like */
    KX_HAND_FORMS
};
/* The name in JSON, such as "copy". */
const char *kx_hand_form_text(enum kx_hand_form form);

/* An index that was found. The slices lie in the discovery. */
struct kx_hand_index {
    struct kx_slice declaration; /* JSON text; with `adopt` if `adopts` */
    struct kx_slice prefix;      /* of the index entries, encoded parts */
    enum kx_hand_form form;
    bool adopts; /* an index of that name can adopt the entries: the prefix is
                  * one part, which can be a name */
    bool fits;   /* the entries hold what the declared index would hold;
                  * otherwise adoption rewrites them */
    uint64_t entries; /* index entries */
    uint64_t agree;   /* those that are right */
    uint64_t counts[KX_DAMAGES];
    struct kx_damaged samples[KX_DAMAGES][KX_SAMPLES_MAX];
    size_t sample_counts[KX_DAMAGES];
};

/* A discovery among the entries with a prefix. Nothing is changed, and the
 * entries of declared indexes are left out. Commits continue between the steps,
 * so the numbers do not describe one state of the store. One thread.
 *
 * kx_discover_begin allocates the discovery in talloc context mem; prefix is
 * encoded parts, empty for all entries. KX_OK, KX_NO_MEMORY.
 *
 * kx_discover_next, inside a view, examines about `limit` more entries. KX_OK:
 * there are more; KX_END: the result is complete; otherwise a storage error. */
struct kx_discovery;
enum kx_status kx_discover_begin(void *mem, struct kx_slice prefix,
                                 struct kx_discovery **discovery_out);
enum kx_status kx_discover_next(struct kx_discovery *discovery,
                                struct kx_reader *reader, size_t limit);

/* The n-th index that was found, in the order of prefixes; NULL after the
 * last. */
const struct kx_hand_index *
kx_discover_found(const struct kx_discovery *discovery, size_t n);
/* Entries that were surveyed. */
uint64_t kx_discover_surveyed(const struct kx_discovery *discovery);
/* Groups of entries that were not compared, because there are more than
 * KX_DISCOVER_GROUPS. */
size_t kx_discover_left_out(const struct kx_discovery *discovery);

#endif
