/* The numbered pieces of an archive that standbys follow. A server that
 * archives there creates an object for each piece of its log, after the bytes
 * of the piece are in the archive. The objects of all timelines have one
 * sequence of numbers, and a number can be created only once: a standby that is
 * promoted takes the next number, so the server before it finds that number
 * taken, and stops. An object names the process that took its number, and the
 * place up to which the log of that timeline is in the archive.
 *
 * The first piece of each process stays for ever: a process that was frozen
 * meanwhile must find its next number taken. */
#ifndef ARCHIVE_FENCE_H
#define ARCHIVE_FENCE_H

#include "backup/archive_names.h"
#include "base/uuid.h"
#include "storage/log_files.h"

/* Name of the directory of the pieces in an archive. */
#define ARCHIVE_PIECES "pieces"

/* A piece, as its object says. */
struct archive_piece {
    uint64_t number;
    char timeline[UUID_SIZE]; /* of the server that archives from here on */
    char process[UUID_SIZE];  /* the process that took the number */
    struct log_place end;     /* of the timeline's log in the archive */
    uint64_t lease_ms;        /* a server acknowledges nothing when this time
                               * has passed since it began to take a number */
};

struct archive_fence {
    const struct kx_object_store *objects;
    char directory[ARCHIVE_PATH]; /* of the pieces */
    struct archive_piece piece;   /* the last one taken; number 0: none */
    struct archive_piece before;  /* the one before the first; number 0: none */
    uint64_t first;               /* its first number; 0: none */
};

/* Fills in a fence for a process that archives, or will, in the timeline of
 * options->directory, which gets a name if it has none. `archive`, a member of
 * options, may be the path of a timeline in the archive. lease_ms 0: that of
 * the piece before. KX_OK, KX_BAD_DIRECTORY, KX_FAILED. */
enum kx_status archive_fence_init(struct archive_fence *fence,
                                  const struct kx_options *options,
                                  const char *archive, uint64_t lease_ms,
                                  struct kx_fault *fault);

/* Finds the last piece of all timelines. KX_OK, KX_ABSENT: no piece exists;
 * KX_BAD_ARCHIVE: the piece is damaged; statuses of the object store. */
enum kx_status archive_fence_last(const struct archive_fence *fence,
                                  struct archive_piece *last_out,
                                  struct kx_fault *fault);

/* Takes the next number for the log up to `end`. The first call takes the
 * number after the last one, provided that this one is of fence's timeline, or
 * of `from` (NULL: of no other); a call after that takes the number after its
 * own. KX_OK; KX_IN_USE: another process has taken it, and this one must not
 * archive any more; the fault says so. KX_BAD_ARCHIVE, statuses of the object
 * store: unknown; call again. */
enum kx_status archive_fence_take(struct archive_fence *fence,
                                  struct log_place end, const char *from,
                                  struct kx_fault *fault);

#endif
