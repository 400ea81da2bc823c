/* A story whose store has an archive, in tests. */
#ifndef ARCHIVE_STORY_H
#define ARCHIVE_STORY_H

#include "store.h"

/* The directory of the archive, which is made with the first base. */
const char *archive_of(struct story *s);

/* Closes the store and opens it, with an archive or without (NULL). */
void open_again(struct story *s, const char *archive);

/* Teardown as finish; removes the archive, too. */
int finish_archive(void **state);

/* The directory of the story's store in its archive. */
char *timeline_of(struct story *s);

/* Waits until there are so many bases and the last was made at that time (0: at
 * any). Fails after a minute. */
void wait_for_bases(struct story *s, size_t count, int64_t last_ms);

/* Makes an empty file. */
void make_file(const char *directory, const char *name);

#endif
