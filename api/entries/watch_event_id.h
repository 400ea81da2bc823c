/* What a client has seen of some entries, as text: for each a versionstamp, or
 * '-' where there was none, with commas between them. It is the id of an event
 * (watch.c), and what the client shows when it comes again. */
#ifndef API_WATCH_EVENT_ID_H
#define API_WATCH_EVENT_ID_H

#include "kindex.h"

/* The stamp of an entry that was not seen at all; no entry has it. 0 is an
 * entry that was seen to be absent. */
static const uint64_t WATCH_EVENT_ID_NOTHING = UINT64_MAX;

/* Appends the text; what was not seen at all is written as '-'. */
void watch_event_id_write(const uint64_t *stamps, size_t count,
                          struct kx_buffer *out);

/* Reads exactly `count` stamps; false for anything else. */
bool watch_event_id_read(struct kx_slice text, uint64_t *stamps, size_t count);

#endif
