/* Where the files of an archive lie: a seam of six calls. The core has it for
 * directories; a caller of the core may give another, such as one that keeps
 * the files as objects in S3. */
#ifndef KINDEX_OBJECT_STORE_H
#define KINDEX_OBJECT_STORE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

/* An object, or a directory of objects. */
struct kx_object {
    const char *name; /* in its directory */
    uint64_t size;    /* 0 for a directory */
    int64_t at_ms;    /* when it was written (Unix, milliseconds); INT64_MAX:
                       * that is not known */
};

/* False: nothing more is wanted. */
typedef bool kx_object_fn(void *target, const struct kx_object *object);
/* False: the call ends with KX_FAILED; the caller keeps the reason itself. */
typedef bool kx_object_bytes_fn(void *target, struct kx_slice bytes);

/* A file that becomes an object. */
struct kx_object_put {
    const char *file; /* afterwards it no longer exists, or it is the object */
    const char *path;
    /* NULL, or called from time to time while a large file is written; it may
     * use the object store. */
    void (*between)(void *context);
    void *context;
};

/* A path is the text of the archive (kx_options.archive), and names after it
 * with slashes between. A call that fails says why in its fault.
 * KX_UNREACHABLE: it may succeed later; KX_NO_MEMORY; KX_DISK_FULL; KX_FAILED:
 * anything else. One thread uses it at a time, also from within `each`. */
struct kx_object_store {
    void *self;
    /* The paths are those of files. Then a file that `put` gets is in the
     * directory of its path. */
    bool is_directory;
    /* Makes the directory durably, as far as directories are made, and checks
     * that it can be used: a setting that is wrong is found here. */
    enum kx_status (*make)(void *self, const char *path,
                           struct kx_fault *fault);
    /* Calls `each` for all that is in a directory, in no order. KX_ABSENT:
     * there is no such directory, or it is a file. */
    enum kx_status (*list)(void *self, const char *path, kx_object_fn *each,
                           void *target, struct kx_fault *fault);
    /* Moves a file to its path, where it then is durable and complete, or not
     * at all. */
    enum kx_status (*put)(void *self, const struct kx_object_put *put,
                          struct kx_fault *fault);
    /* Makes an object that grows, whose name ends with KX_OBJECT_GROWS, durably
     * equal to the file up to `end`. The object has `start` bytes of it. */
    enum kx_status (*grow)(void *self, const char *file, const char *path,
                           const uint64_t range[2], struct kx_fault *fault);
    /* Reads a whole object. KX_ABSENT; KX_BAD_ARCHIVE: a part of it is missing.
     */
    enum kx_status (*get)(void *self, const char *path,
                          kx_object_bytes_fn *bytes, void *target,
                          struct kx_fault *fault);
    /* KX_ABSENT: there is no such object. */
    enum kx_status (*size)(void *self, const char *path, uint64_t *size_out,
                           struct kx_fault *fault);
    /* KX_OK also when there is no such object. */
    enum kx_status (*remove)(void *self, const char *path,
                             struct kx_fault *fault);
    /* The store is closing: calls that are under way, and later ones, end soon,
     * if need be with KX_UNREACHABLE. Any thread; NULL: they always do. */
    void (*hurry)(void *self);
};

#define KX_OBJECT_GROWS ".tail"

#endif
