/* A file in the data directory that takes up room and holds nothing. When the
 * disk is full it is given up, so that there is room for what must be written
 * even then: the recovery of a store, its checkpoints.
 */
#ifndef BALLAST_H
#define BALLAST_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a ballast of so many bytes? */
bool ballast_is_whole(const char *directory, uint64_t bytes);

enum ballast_result { BALLAST_TAKEN, BALLAST_NO_ROOM, BALLAST_UNSUPPORTED };

/* Makes it so large; not whole, it is none. BALLAST_UNSUPPORTED: the file
 * system cannot reserve room. */
enum ballast_result ballast_take(const char *directory, uint64_t bytes);

/* Gives its room back if less than half of `floor` bytes are free; with 0
 * never. */
void ballast_give_if_full(const char *directory, uint64_t floor);

#endif
