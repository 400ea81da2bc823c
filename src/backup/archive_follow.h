/* A data directory that follows the archive of another server. It was restored
 * from the archive; then a thread applies the batches that appear there, while
 * followers (kindex/node.h) read.
 *
 * The directory has a file `following` with the place in the archive's log from
 * which to read. Each batch that is applied includes the place after it, as a
 * row of the catalog, which counts if it names the same timeline. */
#ifndef ARCHIVE_FOLLOW_H
#define ARCHIVE_FOLLOW_H

#include "commit/store_state.h"

struct archive_follow;

/* Makes a directory with the restored log of a timeline, not replayed yet,
 * follow that timeline. KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_follow_begin(const char *directory, const char *timeline,
                                    struct kx_fault *fault);

/* KX_OK: the directory follows an archive; KX_END: it did, and was promoted,
 * but kx_promote is still to be called; KX_ABSENT: neither; KX_DAMAGED,
 * KX_FAILED.
 */
enum kx_status archive_follow_look(const char *directory,
                                   struct kx_fault *fault);

/* Ends that. Returns false with errno. */
bool archive_follow_end(const char *directory);

/* Makes the engine of store->env one whose rows follow the archive
 * store->options.follow, reads the archive once, and starts the thread. KX_OK,
 * KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED. */
enum kx_status archive_follow_start(struct kx_store *store,
                                    struct kx_fault *fault);

/* Describes the server that is followed. KX_END: the directory was promoted,
 * and the store must be closed and opened without `follow`. KX_IN_USE: the
 * archive was read to its end in the last few seconds, *holder_out.
 * KX_UNREACHABLE: it could not be read. Any other status: the directory cannot
 * follow any further; the fault says why. Any thread. */
enum kx_status archive_follow_holder(const struct kx_store *store,
                                     struct kx_holder *holder_out,
                                     struct kx_fault *fault);

/* Ends the thread; does nothing if it was not started. */
void archive_follow_stop(struct kx_store *store);

#endif
