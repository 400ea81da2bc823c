/* The progress of a build of an index, or of the removal of a dropped index's
 * entries. After a restart the job continues from the stored part. */
#ifndef BUILD_PROGRESS_H
#define BUILD_PROGRESS_H

#include <jansson.h>

#include "catalog/row_position.h"

struct build_progress {
    struct row_position resume;
    /* The place where the build began, and where it ends after it has wrapped
     * around. Size 0: at the beginning of the prefix. */
    struct row_position origin;
    bool wrapped;     /* the build has continued from the beginning */
    uint64_t done;    /* entries read */
    uint64_t total;   /* estimate of entries to read */
    uint64_t skipped; /* entries read that have no indexable value */
    struct kx_sample samples[KX_SAMPLES_MAX]; /* of the skipped entries */
    size_t sample_count;
    int64_t started_at_ms;
    /* Not stored; 0 after a restart. ahead: entries read in addition to `done`.
     * gathered: index entries gathered from them, for this index and those that
     * are written before it. unwritten: gathered entries not written yet.
     * write_rate: entries written per second (0: unknown). */
    uint64_t ahead;
    uint64_t gathered;
    uint64_t unwritten;
    double write_rate;
    uint64_t run_base;       /* `done` when this process began to read */
    uint64_t run_started_ns; /* kx_monotonic_ns at that time */
    bool resumed;            /* the build continues after a restart */
};

/* Returns whether the build has read the part of its prefix in which this key
 * lies. */
static inline bool build_progress_has_read(const struct build_progress *build,
                                           struct kx_slice key)
{
    bool after = kx_compare(key, row_position_key(&build->origin)) > 0;
    bool before = kx_compare(key, row_position_key(&build->resume)) <= 0;
    return build->wrapped ? after || before : after && before;
}

/* Counts a skipped entry, and keeps its key as a sample if there is room and
 * the key is short enough. */
void build_progress_skip(struct build_progress *build, struct kx_slice key);

/* Starts measuring the rate at the first step in this process. */
void build_progress_begin(struct build_progress *build);

/* Returns the stored form as a new JSON object; NULL if memory ran out. */
json_t *build_progress_to_json(const struct build_progress *build);

/* Reads the stored form. False if it is not valid. */
bool build_progress_from_json(const json_t *json,
                              struct build_progress *build_out);

/* Write and read the stored form of an adoption of hand-kept entries. Returns a
 * new JSON object; NULL if memory ran out. An absent member (NULL) is read as
 * no adoption; false if it is not valid. */
json_t *build_progress_adoption_to_json(const struct kx_adoption *adoption);
bool build_progress_adoption_from_json(const json_t *json,
                                       struct kx_adoption *adoption_out);

#endif
