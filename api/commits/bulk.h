/* The lines of POST /bulk as mutations, one slice after another. Reading them
 * (bulk_read.c) is apart from answering them (bulk.c), so that it can be tested
 * without a request. */
#ifndef API_BULK_H
#define API_BULK_H

#include "http/input_error.h"

enum {
    BULK_LINES_MAX = KX_MUTATIONS_MAX, /* mutations of one commit */
    BULK_BYTES_MAX = 1 << 20 /* bytes of its lines, without the last */
};

/* Where a line ends that has become a mutation. */
struct bulk_line {
    size_t end;    /* bytes of the body up to its end */
    size_t number; /* of the line; the first one is 1 */
};

/* All members are bulk_read.c's; bulk.c reads them. */
struct bulk_reader {
    struct kx_slice body;
    void *memory;  /* of the slice: freed by the next one */
    size_t at;     /* bytes of the lines that were read */
    size_t number; /* of these lines */
    bool ended;    /* the last of them was {"end":true} */
    struct kx_mutation *mutations;
    struct bulk_line *lines; /* one for each mutation */
    size_t count;
    size_t most; /* mutations of a slice */
};

/* Begins at the body's first line; memory is a talloc context. False when
 * memory ran out. */
bool bulk_read_begin(struct bulk_reader *reader, struct kx_slice body,
                     void *memory);

/* Reads the next slice. It ends before a line that is wrong; false if that is
 * its first one, which is line number + 1 of the body. An error's pointer and
 * offset are in the line. Without a mutation (count 0) all lines were read. */
bool bulk_read_slice(struct bulk_reader *reader, struct input_error *error);

/* Leaves only the first mutations, at least one, in the slice: the other lines
 * are of the next one. */
void bulk_read_cut(struct bulk_reader *reader, size_t count);

/* No line is left. */
bool bulk_read_is_done(const struct bulk_reader *reader);

#endif
