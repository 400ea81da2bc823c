/* Entries: a key, its value, and the versionstamp of the commit that wrote it.
 */
#ifndef KINDEX_ENTRY_H
#define KINDEX_ENTRY_H

#include "kindex/value.h"

/* A versionstamp is 10 bytes: a counter of 8 bytes in big endian, then two zero
 * bytes. It is shown as 20 lower-case hexadecimal digits. In calls it is the
 * counter alone, which grows by one with each commit of a store and is never
 * repeated or lowered. 0 stands for "absent". */
enum kx_stamp_size { KX_STAMP_BYTES = 10, KX_STAMP_DIGITS = 20 };
/* Writes KX_STAMP_DIGITS digits, no NUL. */
void kx_stamp_text(uint64_t stamp, char *out);
/* Reads exactly KX_STAMP_DIGITS digits; false for anything else. */
bool kx_stamp_parse(struct kx_slice text, uint64_t *stamp_out);

/* What the store keeps beside an entry that was claimed from a queue. Any write
 * of the entry, other than the changes of a job (commit.h), removes it. */
struct kx_job {
    int64_t not_before_ms; /* Unix time: the end of the lease, or of the pause
                            * before the next attempt; KX_JOB_DEAD_MS: the job
                            * is dead */
    uint64_t claim;    /* versionstamp of the commit that has leased the job;
                        * 0: it is not leased */
    uint32_t attempts; /* claims, except those that were released */
    struct kx_slice error; /* of the last attempt that failed, UTF-8 */
};

/* The not-before time of a dead job, after all times that can be declared. The
 * job stays in its queue until it is written or removed. */
#define KX_JOB_DEAD_MS ((INT64_C(1) << 53) - 1)

struct kx_entry {
    struct kx_slice key;
    struct kx_value value;
    uint64_t stamp;        /* versionstamp; never 0 */
    int64_t expires_at_ms; /* Unix time, or 0 for never */
    bool deleted; /* a tombstone in an index: the entry was removed with this
                   * versionstamp; its value is null */
    bool reduced; /* totals from which expired entries were subtracted; the
                   * stored totals of this versionstamp still count them */
    bool has_job; /* `job` is set */
    struct kx_job job;
};

#endif
