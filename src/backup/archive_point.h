/* The point to restore to: where the log of the restored directory ends. */
#ifndef ARCHIVE_POINT_H
#define ARCHIVE_POINT_H

#include "kindex.h"
#include "storage/log_marks.h"

struct archive_cut {
    const struct kx_restore *restore;
    struct log_place base_end;
    uint64_t base_stamp;
    char missing[KX_DETAIL_MAX]; /* of the log; "": nothing */
    struct log_mark last;        /* not after the point */
    uint64_t known;
    bool beyond; /* there are marks after it */
};

/* Checks that the log in restore->directory reaches the wanted point, and cuts
 * it there. Sets restore->at_ms. KX_OK; KX_BAD_ARCHIVE, with what can be
 * restored; others of the storage. */
enum kx_status archive_cut(struct kx_restore *restore, struct archive_cut *cut,
                           struct kx_fault *fault);

#endif
