/* Leeway for the flushes of the log while a checkpoint writes pages.
 *
 * A checkpoint may have tens of thousands of pages to write. Left to the
 * library they go to the disk all at once, when it syncs the files at the end,
 * and each flush of the log, for which commits wait, stands behind them. So
 * they go a few at a time, each few waited for, and in between the disk is left
 * alone for as long as those took.
 */
#ifndef CHECKPOINT_THROTTLE_H
#define CHECKPOINT_THROTTLE_H

#include <stdint.h>

struct __db_env;
struct checkpoint_throttle;

/* From now on the library waits through us. To be called before the first
 * environment is made; any number of times. */
void checkpoint_throttle_install(void);

/* For every environment, before or after it is opened. 0 or an error of the
 * library. */
int checkpoint_throttle_configure(struct __db_env *db);

/* For the files of the tables in a directory, as a child of mem. One that
 * cannot be opened goes to the disk when the library syncs it. NULL: no memory.
 */
struct checkpoint_throttle *checkpoint_throttle_create(void *mem,
                                                       const char *directory);

/* Around a checkpoint, on its thread, which may take a second longer. */
void checkpoint_throttle_begin(struct checkpoint_throttle *throttle);
void checkpoint_throttle_end(void);

/* Leaves the disk alone for as long as it was used since began_ns
 * (kx_monotonic_ns), or for most_ns if that is less. Returns how long. */
uint64_t checkpoint_throttle_pause(uint64_t began_ns, uint64_t most_ns);

#endif
