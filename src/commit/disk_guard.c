/* Commits leave `disk_floor` bytes free, in addition to the volume of the next
 * checkpoint: new pages in the cache have no space on the disk until then.
 * While the ballast is not there they leave twice as much, because the ballast
 * has to be made again first: the space that it released is for recovery and
 * checkpoints, and for commits that free space. Those leave half of the floor:
 * then they may use what the ballast released, except for as much as makes it
 * be released. */
#include "commit/disk_guard.h"

#include "base/file.h"
#include "bdb/ballast.h"

enum { LOOK_NS = 10 * 1000 * 1000 };

static void look(struct kx_store *store)
{
    uint64_t bytes = file_free_bytes(store->options.directory);
    uint64_t pending = env_log_since_checkpoint(store->env);
    uint64_t reserve = atomic_load(&store->disk_reserve) + pending;
    bool full = bytes < reserve;
    atomic_store(&store->disk_exhausted,
                 bytes < store->options.disk_floor / 2 + pending);
    if (full != atomic_exchange(&store->disk_full, full))
        kx_log(KX_LOG_WARNING, full ? "disk-full" : "disk-has-room",
               "free_bytes=%llu reserve_bytes=%llu", (unsigned long long)bytes,
               (unsigned long long)reserve);
}

/* Returns whether the ballast needs no further space: it is there, or the file
 * system does not support it. */
static bool keep_ballast(struct kx_store *store)
{
    const char *directory = store->options.directory;
    uint64_t floor = store->options.disk_floor;
    ballast_give_if_full(directory, floor);
    if (ballast_is_whole(directory, floor))
        return true;
    if (store->no_ballast || file_free_bytes(directory) < 2 * floor)
        return store->no_ballast;
    enum ballast_result result = ballast_take(directory, floor);
    store->no_ballast = result == BALLAST_UNSUPPORTED;
    return result != BALLAST_NO_ROOM;
}

void disk_guard_keep(struct kx_store *store)
{
    uint64_t floor = store->options.disk_floor;
    if (floor == 0)
        return;
    atomic_store(&store->disk_reserve, keep_ballast(store) ? floor : 2 * floor);
    look(store);
}

void disk_guard_look_soon(struct kx_store *store)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (store->options.disk_floor == 0 ||
        now_ns - store->looked_at_disk_ns < LOOK_NS)
        return;
    store->looked_at_disk_ns = now_ns;
    look(store);
}

static bool frees_space(const struct kx_commit *commit)
{
    if (commit->kind != KX_WRITE)
        return commit->kind == KX_DROP_INDEX;
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (commit->mutations[i].type != KX_DELETE &&
            commit->mutations[i].type != KX_DELETE_RANGE)
            return false;
    return true;
}

bool disk_guard_refuses(const struct kx_store *store,
                        const struct kx_commit *commit)
{
    if (!atomic_load(&store->disk_full) || commit->kind == KX_REVOKE_TOKEN)
        return false;
    return atomic_load(&store->disk_exhausted) || !frees_space(commit);
}
