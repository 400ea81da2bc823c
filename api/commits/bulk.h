/* The lines of POST /bulk as mutations, one slice after another, for tests,
 * which read lines without a request. */
#ifndef API_BULK_H
#define API_BULK_H

#include "http/input_error.h"

enum {
    BULK_LINES_MAX = KX_MUTATIONS_MAX, /* mutations of one commit */
    BULK_BYTES_MAX = 1 << 20 /* bytes of lines after which a slice ends */
};

/* The line of a mutation. */
struct bulk_line {
    size_t end;    /* bytes of the body up to its end */
    size_t number; /* from 1 */
};

/* Only these functions change members. */
struct bulk_reader {
    struct kx_slice body;
    void *memory;  /* of the slice; the next slice frees it */
    size_t at;     /* bytes of the lines that were read */
    size_t number; /* of these lines */
    bool ended;    /* the last line was {"end":true} */
    struct kx_mutation *mutations;
    struct bulk_line *lines; /* one for each mutation */
    size_t count;
    size_t most; /* mutations of a slice */
};

/* Begins at the body's first line; memory is a talloc context. False when
 * memory ran out. */
bool bulk_read_begin(struct bulk_reader *reader, struct kx_slice body,
                     void *memory);

/* Reads the next slice, which ends before a line that is wrong. Returns false
 * if its first line is wrong, which is line number + 1 of the body; the error's
 * pointer and offset are within the line. If count is 0, all lines were read.
 */
bool bulk_read_slice(struct bulk_reader *reader, struct input_error *error);

/* Leaves only the first `count` mutations, at least one, in the slice. The next
 * slice begins with the lines after them. */
void bulk_read_cut(struct bulk_reader *reader, size_t count);

/* Returns true if no line is left. */
bool bulk_read_is_done(const struct bulk_reader *reader);

#endif
