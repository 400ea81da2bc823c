/* How far a verification of an index has come, and what it has found. It is
 * stored with the index: after a restart it goes on where it was.
 */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include <jansson.h>

#include "bdb/table.h"

struct verify_report {
    struct kx_verification report;
    uint8_t resume[ROW_KEY_MAX]; /* last key that was looked at */
    size_t resume_size;          /* 0: none yet in this direction */
    /* Not stored: rows of the index seen so far, and the number of rows that
     * commits had written when the first was; whether that can be compared. */
    uint64_t rows;
    uint64_t writes;
    bool counts;
};

/* Counts one place, and keeps its keys if there is room. */
void verify_report_note(struct verify_report *verification,
                        enum kx_damage damage, struct kx_slice index_key,
                        struct kx_slice key);

/* The stored form, a new JSON object; NULL when memory ran out. */
json_t *verify_report_to_json(const struct verify_report *verification);

/* Reads the stored form; false when it is none. */
bool verify_report_from_json(const json_t *json,
                             struct verify_report *verification_out);

#endif
