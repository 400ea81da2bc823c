/* Spreads the pages of a checkpoint, so that flushes of the log do not wait for
 * all of them.
 *
 * A checkpoint may have tens of thousands of pages to write. The library alone
 * sends them to the disk all at once, when it syncs the files at the end, and
 * each flush of the log, for which commits wait, queues after them. Here they
 * are written a few at a time; each time the checkpoint waits for them, and
 * then leaves the disk idle for as long as they took.
 */
#ifndef CHECKPOINT_THROTTLE_H
#define CHECKPOINT_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct __db_env;
struct checkpoint_throttle;

/* From now on the library waits through this module's hook. To be called before
 * the first environment is made; any number of times. */
void checkpoint_throttle_install(void);

/* Configures an environment, before or after it is opened. 0 or an error of the
 * library. */
int checkpoint_throttle_configure(struct __db_env *db);

/* Opens the tables' files in a directory, as a child of mem. A file that cannot
 * be opened is written when the library syncs it. NULL: no memory. */
struct checkpoint_throttle *checkpoint_throttle_create(void *mem,
                                                       const char *directory);

/* Called around a checkpoint, on its thread. With pauses it takes at most a
 * second longer; without, it only waits for the pages. */
void checkpoint_throttle_begin(struct checkpoint_throttle *throttle,
                               bool pauses);
void checkpoint_throttle_end(void);

/* Sleeps for as long as the disk was used since began_ns (kx_monotonic_ns), at
 * most for most_ns. Returns the time in ns. */
uint64_t checkpoint_throttle_pause(uint64_t began_ns, uint64_t most_ns);

#endif
