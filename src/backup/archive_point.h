/* Cuts the log of a restored directory at the point to restore to. */
#ifndef ARCHIVE_POINT_H
#define ARCHIVE_POINT_H

#include "kindex.h"
#include "storage/log_files.h"

struct archive_cut {
    const struct kx_restore *restore;
    struct log_place base_end;
    uint64_t base_stamp;
    char missing[KX_DETAIL_MAX]; /* what the log lacks; "": nothing */
    struct log_mark last;        /* the last mark up to the point */
    uint64_t known;              /* highest versionstamp in the log */
    bool beyond;                 /* there are marks after the point */
};

/* Checks that the log in restore->directory reaches the wanted point, and cuts
 * it there. Sets restore->at_ms. KX_OK; KX_BAD_ARCHIVE, with a fault that says
 * what can be restored; KX_DAMAGED, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_cut(struct kx_restore *restore, struct archive_cut *cut,
                           struct kx_fault *fault);

#endif
