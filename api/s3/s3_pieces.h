/* An object that grows. S3 cannot append, so the object is stored in pieces,
 * each named by the key, a dot, and the position of its first byte in ten
 * digits. Pieces may overlap. */
#ifndef S3_PIECES_H
#define S3_PIECES_H

#include "s3/s3_list.h"

enum {
    S3_PIECES_MAX = 64, /* with more pieces, one replaces them, so that a
                         * restore needs few requests */
    S3_LISTS_MAX = 5    /* times that a read lists the pieces again because they
                         * were replaced meanwhile */
};

/* True if objects with this name grow. */
bool s3_grows(const char *name);

/* Replaces the pieces of each object in the list by the object, with the size
 * up to the first gap. */
void s3_pieces_join(struct s3_list *list);

/* As `grow`, `get` and `remove` of the object store, for a key. */
enum kx_status s3_pieces_grow(struct s3 *s3, const char *file, const char *key,
                              const uint64_t range[2], struct kx_fault *fault);
enum kx_status s3_pieces_get(struct s3 *s3, const char *key,
                             kx_object_bytes_fn *bytes, void *target,
                             struct kx_fault *fault);
enum kx_status s3_pieces_remove(struct s3 *s3, const char *key,
                                struct kx_fault *fault);

#endif
