/* Progress and findings of a verification of an index. They are stored with the
 * index, so the verification continues after a restart. */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include <jansson.h>

#include "catalog/row_position.h"

struct verify_report {
    struct kx_verification report;
    struct row_position resume; /* in the present direction */
    /* Not stored. rows: index rows seen so far. writes: rows that commits had
     * written when the first of them was seen. counts: both can be compared. */
    uint64_t rows;
    uint64_t writes;
    bool counts;
    /* Not stored: counts what the index leaves out (left_out_tally.h); a child
     * of the index. NULL: entries were read before this process began. */
    struct left_out_tally *left_out;
};

/* Counts one damage, and keeps its keys as a sample if there is room. */
void verify_report_note(struct verify_report *verification,
                        enum kx_damage damage, struct kx_slice index_key,
                        struct kx_slice key);

/* Returns the stored form as a new JSON object; NULL if memory ran out. */
json_t *verify_report_to_json(const struct verify_report *verification);

/* Reads the stored form. False if it is not valid. */
bool verify_report_from_json(const json_t *json,
                             struct verify_report *verification_out);

#endif
