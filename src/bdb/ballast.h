/* The ballast: a file in the data directory that reserves space. It is removed
 * when the disk is full, so that recovery and checkpoints, which must write
 * even then, have space. */
#ifndef BALLAST_H
#define BALLAST_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the ballast exists and has at least `bytes` bytes. */
bool ballast_is_whole(const char *directory, uint64_t bytes);

enum ballast_result { BALLAST_TAKEN, BALLAST_NO_ROOM, BALLAST_UNSUPPORTED };

/* Makes the ballast exactly `bytes` bytes long, or removes it.
 * BALLAST_UNSUPPORTED: the file system cannot reserve space. */
enum ballast_result ballast_take(const char *directory, uint64_t bytes);

/* Removes the ballast if less than half of `floor` bytes are free. Never
 * removes it if floor is 0. */
void ballast_give_if_full(const char *directory, uint64_t floor);

#endif
