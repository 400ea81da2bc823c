/* Ids of the events of GET /watch. An id says what a client has seen of some
 * entries: for each its versionstamp, or '-' if there was none, separated by
 * commas. The client sends the last id when it connects again. */
#ifndef API_WATCH_H
#define API_WATCH_H

#include "kindex.h"

/* Stands for a key that the client has not seen; no entry has this stamp. 0
 * stands for a key that had no entry. */
static const uint64_t WATCH_EVENT_ID_NOTHING = UINT64_MAX;

/* Appends the text. A key that the client has not seen is written as '-'. */
void watch_event_id_write(const uint64_t *stamps, size_t count,
                          struct kx_buffer *out);

/* Reads exactly `count` stamps. Returns false if the text is not such a list.
 */
bool watch_event_id_read(struct kx_slice text, uint64_t *stamps, size_t count);

#endif
