/* Guards the free space of a data directory's disk. If there is too little,
 * commits fail, so that checkpoints and the log keep enough space and reads
 * continue. Commits that free space still succeed down to half of the floor. */
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
    /* Checkpointer thread only. */
    bool no_ballast; /* the file system cannot reserve space */
    /* Writer thread only. */
    uint64_t looked_at_ns; /* kx_monotonic_ns */
    /* Any thread. */
    atomic_bool full;         /* commits fail */
    atomic_bool exhausted;    /* commits that free space fail, too */
    _Atomic uint64_t reserve; /* bytes that commits must leave free */
};

/* Makes or removes the ballast according to the free space, then sets `full`
 * and `exhausted`, and logs a change of `full`. Called before the store's
 * threads start, then by the checkpointer only. */
void disk_guard_keep(struct disk_guard *disk);

/* Sets `full` and `exhausted` again, unless that was done a moment ago: a fast
 * writer can fill much of a disk between two checks of the checkpointer. Only
 * the thread that does the writer's work calls it. */
void disk_guard_look_soon(struct disk_guard *disk);

/* Returns how much space commits have. Any thread. */
enum engine_space disk_guard_space(const struct disk_guard *disk);

#endif
