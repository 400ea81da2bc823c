/* The reply of a snapshot_read: the rows of its ranges, in the client's order.
 * A small one is written while it is read. Of a large one the rows are only
 * copied inside the view, since commits wait until that ends and making a value
 * for JavaScript takes ten times as long; they are written afterwards, some at
 * a time, so that other requests have their turn between. */
#ifndef API_KVCONNECT_ROWS_H
#define API_KVCONNECT_ROWS_H

#include "kvconnect/kvconnect.h"

struct kvconnect_row;

struct kvconnect_rows {
    struct kvconnect_writer writer;
    const void *memory; /* the request's */
    void *pool;         /* of rows that are not written yet; NULL: none */
    size_t reached;     /* ranges whose rows were added */
    size_t written;     /* those begun in the reply */
    size_t place;       /* there, of the last one */
    struct kvconnect_row *next; /* to be written, in order; NULL: none */
    struct kvconnect_row *last;
    size_t kept; /* bytes of their values */
};

/* Begins the reply to the request in out. */
void kvconnect_rows_init(struct kvconnect_rows *rows,
                         const struct request *request, struct kx_buffer *out);
/* What is added from now on is of the next range. One without rows is an answer
 * as well. */
void kvconnect_rows_range(struct kvconnect_rows *rows);
/* Adds a row, which is copied. Inside a view. */
void kvconnect_rows_add(struct kvconnect_rows *rows,
                        const struct kx_entry *entry);
/* Instead of all that: the only row of the only range, or NULL when it has
 * none, outside of any view. */
void kvconnect_rows_only(struct kvconnect_rows *rows,
                         const struct kx_entry *entry);
/* Writes some of what is not written yet, outside of any view. True: all is
 * written, and nothing can be added. */
bool kvconnect_rows_write(struct kvconnect_rows *rows);
/* What they have come to, in bytes: about what the reply will have. */
static inline size_t kvconnect_rows_size(const struct kvconnect_rows *rows)
{
    return rows->writer.out->size + rows->kept;
}

#endif
