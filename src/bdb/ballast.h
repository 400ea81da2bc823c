/* A file in the data directory that takes up space and holds nothing. It is
 * removed when the disk is full, so that there is space for what must be
 * written even then: recovery and checkpoints.
 */
#ifndef BALLAST_H
#define BALLAST_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether there is a ballast of at least so many bytes. */
bool ballast_is_whole(const char *directory, uint64_t bytes);

enum ballast_result { BALLAST_TAKEN, BALLAST_NO_ROOM, BALLAST_UNSUPPORTED };

/* Allocates exactly that size, or removes the file. BALLAST_UNSUPPORTED: the
 * file system cannot reserve space. */
enum ballast_result ballast_take(const char *directory, uint64_t bytes);

/* Removes the ballast if less than half of `floor` bytes are free; never if
 * floor is 0. */
void ballast_give_if_full(const char *directory, uint64_t floor);

#endif
