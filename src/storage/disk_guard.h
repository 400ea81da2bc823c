/* Free space on the disk of a data directory: when there is too little of it
 * commits are refused, so that enough remains for checkpoints and the log, and
 * reads continue. What frees space is accepted down to half of the floor. */
#ifndef DISK_GUARD_H
#define DISK_GUARD_H

#include <stdatomic.h>

#include "engine/engine.h"

struct env;

struct disk_guard {
    /* Set by env_open. */
    struct env *env;
    const char *directory;
    uint64_t floor; /* bytes; 0: the disk is not watched */
    /* Of the checkpointer. */
    bool no_ballast; /* the file system cannot */
    /* Of the writer. */
    uint64_t looked_at_ns; /* kx_monotonic_ns */
    /* Any thread. */
    atomic_bool full;         /* commits are refused */
    atomic_bool exhausted;    /* those that free space, too */
    _Atomic uint64_t reserve; /* bytes that commits must leave free */
};

/* Removes or makes the ballast according to the free space, then decides
 * whether commits are accepted (`full`) and whether those that free space are
 * (`exhausted`), with a line in the log when that has changed. Called before
 * the store's threads start, then by the checkpointer only. */
void disk_guard_keep(struct disk_guard *disk);

/* Decides again whether commits are accepted, unless the last look was just
 * now: a fast writer fills much of a disk between two looks of the
 * checkpointer. For the thread that does the writer's work. */
void disk_guard_look_soon(struct disk_guard *disk);

/* Any thread. */
enum engine_space disk_guard_space(const struct disk_guard *disk);

#endif
