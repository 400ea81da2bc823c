/* The progress of an index's build, or of the removal of a dropped index's
 * entries. The stored part is where the build continues after a restart. */
#ifndef BUILD_PROGRESS_H
#define BUILD_PROGRESS_H

#include <jansson.h>

#include "engine/engine.h"

struct build_progress {
    uint8_t resume[ROW_KEY_MAX]; /* last key that was read */
    size_t resume_size;          /* 0: none yet */
    /* Where the build began. After its wrap it ends there. */
    uint8_t origin[ROW_KEY_MAX];
    size_t origin_size; /* 0: at the beginning of its prefix */
    bool wrapped;       /* it continues from the beginning */
    uint64_t done;      /* entries read */
    uint64_t total;     /* estimate of entries to read */
    uint64_t skipped;   /* entries read that have no indexable value */
    struct kx_sample samples[KX_SAMPLES_MAX]; /* of the skipped ones */
    size_t sample_count;
    int64_t started_at_ms;
    /* Not stored, and 0 after a restart. What was read after `done`; the index
     * entries gathered from that, of this index and of those that are written
     * before it; those of them that are not written; and how many are written
     * in a second (0: none). */
    uint64_t ahead;
    uint64_t gathered;
    uint64_t unwritten;
    double write_rate;
    uint64_t run_base;       /* done when this process began to read */
    uint64_t run_started_ns; /* and the monotonic time then */
    bool resumed;            /* after a restart */
};

/* Counts an entry that is left out, and keeps its key if there is room and the
 * key is not too long. */
void build_progress_skip(struct build_progress *build, struct kx_slice key);

/* The build's rate is measured from its first step in this process. */
void build_progress_begin(struct build_progress *build);

/* The stored form, a new JSON object; NULL when memory ran out. */
json_t *build_progress_to_json(const struct build_progress *build);

/* Reads the stored form; false if it is not valid. */
bool build_progress_from_json(const json_t *json,
                              struct build_progress *build_out);

/* The same for the adoption of hand-kept entries. NULL, from a row without it,
 * is read as no adoption. */
json_t *build_progress_adoption_to_json(const struct kx_adoption *adoption);
bool build_progress_adoption_from_json(const json_t *json,
                                       struct kx_adoption *adoption_out);

#endif
