/* Writes the entries of one view into a reply, in turns of the loop. The first
 * ENTRY_WRITER_SLICE bytes are written at once. Entries after that are copied,
 * and written as JSON a slice in each turn after the view has ended, since
 * copying a value may be much faster than writing it. Functions without a
 * result set body->failed if memory runs out. */
#ifndef API_ENTRY_WRITER_H
#define API_ENTRY_WRITER_H

#include <sys/queue.h>

#include "rest/entryjson.h"

enum { ENTRY_WRITER_SLICE = 64 * 1024 /* bytes written in a turn */ };

struct entry_writer {
    struct kx_buffer *out;  /* takes the text between entries: `body`, or `text`
                             * once an entry is kept */
    struct kx_buffer *body; /* of the reply */
    struct kx_buffer text;  /* between the kept entries, and after them */
    size_t written;         /* bytes of `text` that are in the body */
    size_t kept_bytes;
    STAILQ_HEAD(kept_entries, kept_entry) kept;
    void *memory; /* talloc context of kept entries; NULL: keep none */
};

/* The writer must not be moved or copied. */
void entry_writer_init(struct entry_writer *writer, struct kx_buffer *body,
                       void *memory);

/* Appends the parts of the entry that `shape` selects, or keeps the entry. */
void entry_writer_add(struct entry_writer *writer, const struct kx_entry *entry,
                      const struct shape *shape);

/* Returns the bytes of the text so far; kept entries count with their stored
 * size. */
size_t entry_writer_size(const struct entry_writer *writer);

/* Writes the next slice of kept entries. Returns true when all are written. */
bool entry_writer_continue(struct entry_writer *writer);

#endif
