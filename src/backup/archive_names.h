/* The objects of an archive: for each store that was ever archived there a
 * directory with the name of its timeline, and in it backups, called bases
 * (base-STAMP-LOG-TIME.tar.zst), compressed log files (log.0000000007.zst), and
 * the present part of the log file that is being written (log.0000000008.tail).
 * A restored store begins a new timeline: two stores that continue from one
 * state never mix their logs. */
#ifndef ARCHIVE_NAMES_H
#define ARCHIVE_NAMES_H

#include "kindex.h"

enum { ARCHIVE_PATH = 4096, ARCHIVE_NAME = 96 };

struct archive_base {
    char timeline[ARCHIVE_PATH]; /* its directory */
    char name[ARCHIVE_NAME];
    uint64_t stamp;     /* no commit in it has a higher one */
    uint32_t first_log; /* in it */
    int64_t at_ms;      /* when it was complete */
};

/* Makes the name of a base from its other members. */
void archive_base_name(struct archive_base *base);

/* Compares two bases of one timeline by what is in them, as strcmp. Their times
 * are not enough, because the clock may have been set back. */
int archive_compare_bases(const struct archive_base *left,
                          const struct archive_base *right);

/* The path of a file of a timeline, to out, which holds ARCHIVE_PATH bytes. */
void archive_log_path(const char *timeline, uint32_t number, char *out);
void archive_tail_path(const char *timeline, uint32_t number, char *out);
/* The number in the name of a log file, or of a part of one; 0: it is no such
 * name. */
uint32_t archive_log_number(const char *name);
/* The highest number of a log file, or of a part of one; 0: there are no files.
 * Other statuses than KX_OK are those of `list`. */
enum kx_status archive_last_log(const struct kx_object_store *objects,
                                const char *timeline, uint32_t *last_out,
                                struct kx_fault *fault);

/* Calls `each` for every base of one timeline, in no order. Statuses are those
 * of `list`; unless it is KX_OK there may be others. */
typedef void archive_base_fn(void *target, const struct archive_base *base);
enum kx_status archive_bases(const struct kx_object_store *objects,
                             const char *timeline, archive_base_fn *each,
                             void *target, struct kx_fault *fault);
/* The same for all timelines of an archive. */
enum kx_status archive_all_bases(const struct kx_object_store *objects,
                                 const char *archive, archive_base_fn *each,
                                 void *target, struct kx_fault *fault);

#endif
