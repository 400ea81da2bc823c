/* Commits must leave the floor free (--disk-floor), plus the size of the next
 * checkpoint, because new pages in the cache have no space on disk yet. While
 * the ballast is gone, they must leave twice the floor, so that the ballast can
 * be recreated: the space that it released is for recovery, checkpoints, and
 * commits that free space. Such commits must leave only half of the floor: they
 * may use what the ballast released, but not so much that the ballast would be
 * removed again. */
#include "storage/disk_guard.h"

#include "base/file.h"
#include "bdb/ballast.h"
#include "storage/env.h"

enum { LOOK_NS = 10 * 1000 * 1000 };

static void look(struct disk_guard *disk)
{
    uint64_t bytes = file_free_bytes(disk->directory);
    uint64_t pending = env_log_since_checkpoint(disk->env);
    uint64_t reserve = atomic_load(&disk->reserve) + pending;
    bool full = bytes < reserve;
    atomic_store(&disk->exhausted, bytes < disk->floor / 2 + pending);
    if (full != atomic_exchange(&disk->full, full))
        kx_log(KX_LOG_WARNING, full ? "disk-full" : "disk-has-room",
               "free_bytes=%llu reserve_bytes=%llu", (unsigned long long)bytes,
               (unsigned long long)reserve);
}

/* Returns whether the ballast needs no further space: it exists, or the file
 * system does not support it. */
static bool keep_ballast(struct disk_guard *disk)
{
    const char *directory = disk->directory;
    uint64_t floor = disk->floor;
    ballast_give_if_full(directory, floor);
    if (ballast_is_whole(directory, floor))
        return true;
    if (disk->no_ballast || file_free_bytes(directory) < 2 * floor)
        return disk->no_ballast;
    enum ballast_result result = ballast_take(directory, floor);
    disk->no_ballast = result == BALLAST_UNSUPPORTED;
    return result != BALLAST_NO_ROOM;
}

void disk_guard_keep(struct disk_guard *disk)
{
    uint64_t floor = disk->floor;
    if (floor == 0)
        return;
    atomic_store(&disk->reserve, keep_ballast(disk) ? floor : 2 * floor);
    look(disk);
}

void disk_guard_look_soon(struct disk_guard *disk)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (disk->floor == 0 || now_ns - disk->looked_at_ns < LOOK_NS)
        return;
    disk->looked_at_ns = now_ns;
    look(disk);
}

enum engine_space disk_guard_space(const struct disk_guard *disk)
{
    if (!atomic_load(&disk->full))
        return SPACE_ENOUGH;
    return atomic_load(&disk->exhausted) ? SPACE_NONE : SPACE_LOW;
}
