/* The objects of an archive. Each store that was ever archived there has a
 * directory, named by its timeline. It contains backups, called bases
 * (base-STAMP-LOG-TIME.tar.zst), compressed log files (log.0000000007.zst), and
 * the current part of the log file that is being written (log.0000000008.tail).
 * A restored store begins a new timeline, so two stores that continue from one
 * state never mix their logs. */
#ifndef ARCHIVE_NAMES_H
#define ARCHIVE_NAMES_H

#include "kindex.h"

enum { ARCHIVE_PATH = 4096, ARCHIVE_NAME = 96 };

struct archive_base {
    char timeline[ARCHIVE_PATH]; /* directory of its timeline */
    char name[ARCHIVE_NAME];
    uint64_t stamp;     /* at least that of every commit in it */
    uint32_t first_log; /* number of its first log file */
    int64_t at_ms;      /* Unix time when it was complete */
};

/* Sets the name of a base from its other members. */
void archive_base_name(struct archive_base *base);

/* Compares two bases of one timeline by their contents; returns < 0, 0 or > 0
 * as strcmp does. Times are not enough, because the clock may have been set
 * back. */
int archive_compare_bases(const struct archive_base *left,
                          const struct archive_base *right);

/* Write the path of a complete log file, or of the part of one, to out, which
 * holds ARCHIVE_PATH bytes. */
void archive_log_path(const char *timeline, uint32_t number, char *out);
void archive_tail_path(const char *timeline, uint32_t number, char *out);
/* Returns the number in the name of a log file or of a part of one; 0 for other
 * names. */
uint32_t archive_log_number(const char *name);
/* Sets *last_out to the highest number of a log file or of a part of one; 0 if
 * there are no files. Returns the status of the store's `list`. */
enum kx_status archive_last_log(const struct kx_object_store *objects,
                                const char *timeline, uint32_t *last_out,
                                struct kx_fault *fault);

/* Calls `each` for every base of one timeline, in no particular order. Returns
 * the status of the store's `list`; unless that is KX_OK there may be more
 * bases.
 */
typedef void archive_base_fn(void *target, const struct archive_base *base);
enum kx_status archive_bases(const struct kx_object_store *objects,
                             const char *timeline, archive_base_fn *each,
                             void *target, struct kx_fault *fault);
/* Like archive_bases, for all timelines of an archive. */
enum kx_status archive_all_bases(const struct kx_object_store *objects,
                                 const char *archive, archive_base_fn *each,
                                 void *target, struct kx_fault *fault);

#endif
