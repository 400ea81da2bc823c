/* Spreads the writes of a checkpoint, so that flushes of the log need not wait
 * for all of them.
 *
 * A checkpoint may have tens of thousands of pages to write. Without this
 * module, the library sends them to the disk all at once when it syncs the
 * files at the end; flushes of the log, for which commits wait, then wait
 * for them. With it, the checkpoint writes a few pages at a time, waits for
 * them, and then leaves the disk idle for as long as they took. */
#ifndef CHECKPOINT_THROTTLE_H
#define CHECKPOINT_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct __db_env;
struct checkpoint_throttle;

/* Installs the module's wait hook in the library. Call before the first
 * environment is created; may be called any number of times. */
void checkpoint_throttle_install(void);

/* Configures an environment, before or after it is opened. Returns 0 or an
 * error of the library. */
int checkpoint_throttle_configure(struct __db_env *db);

/* Opens the tables' files in a directory, as a child of mem. A file that cannot
 * be opened is written only when the library syncs it. NULL: no memory. */
struct checkpoint_throttle *checkpoint_throttle_create(void *mem,
                                                       const char *directory);

/* Call these before and after a checkpoint, on its thread. With `pauses` a
 * checkpoint takes at most a second longer; without, it waits only for its
 * pages. */
void checkpoint_throttle_begin(struct checkpoint_throttle *throttle,
                               bool pauses);
void checkpoint_throttle_end(void);

/* Sleeps for as long as the disk has been in use since began_ns
 * (kx_monotonic_ns), at most for most_ns. Returns the nanoseconds slept. */
uint64_t checkpoint_throttle_pause(uint64_t began_ns, uint64_t most_ns);

#endif
