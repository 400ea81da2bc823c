/* The place where the files of an archive lie, as a table of calls. The core
 * implements it for directories. A caller of the core may provide another one,
 * such as objects in S3. */
#ifndef KINDEX_OBJECT_STORE_H
#define KINDEX_OBJECT_STORE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

/* An object, or a directory of objects. */
struct kx_object {
    const char *name; /* in its directory */
    uint64_t size;    /* 0 for a directory */
    int64_t at_ms;    /* Unix time in ms when it was written; INT64_MAX: unknown
                       */
};

/* Returns false to end the list. */
typedef bool kx_object_fn(void *target, const struct kx_object *object);
/* Returns false to make the call fail with KX_FAILED, and keeps the reason. */
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

/* A path is the text of the archive (kx_options.archive), followed by names
 * with slashes in between. A call that fails fills in its fault.
 * KX_UNREACHABLE: a retry may succeed later; KX_NO_MEMORY; KX_DISK_FULL;
 * KX_FAILED: any other error. One thread uses the store at a time, also from
 * within `each`. */
struct kx_object_store {
    void *self;
    /* The paths are file paths; a file that `put` gets is already in the
     * directory of its path. */
    bool is_directory;
    /* Creates the directory durably, if there are directories, and checks that
     * it can be used, so that wrong settings are found here. */
    enum kx_status (*make)(void *self, const char *path,
                           struct kx_fault *fault);
    /* Calls `each` for everything in a directory, in no particular order.
     * KX_ABSENT: the directory does not exist, or is a file. */
    enum kx_status (*list)(void *self, const char *path, kx_object_fn *each,
                           void *target, struct kx_fault *fault);
    /* Moves a file to its path, where it is then durable and complete; after a
     * failure nothing is there. */
    enum kx_status (*put)(void *self, const struct kx_object_put *put,
                          struct kx_fault *fault);
    /* Creates a small object durably, unless there is one with this path.
     * KX_CHECK_FAILED: there is one; after a reply that was lost it may be this
     * one. */
    enum kx_status (*create)(void *self, const char *path,
                             struct kx_slice bytes, struct kx_fault *fault);
    /* Makes a growing object, whose name ends with KX_OBJECT_GROWS, durably
     * equal to the file up to `end` (range[1]). The object already has the
     * first `start` (range[0]) bytes. */
    enum kx_status (*grow)(void *self, const char *file, const char *path,
                           const uint64_t range[2], struct kx_fault *fault);
    /* Reads a whole object. KX_ABSENT; KX_BAD_ARCHIVE: part of it is missing.
     */
    enum kx_status (*get)(void *self, const char *path,
                          kx_object_bytes_fn *bytes, void *target,
                          struct kx_fault *fault);
    /* Sets *size_out to the object's size in bytes. KX_ABSENT: no such object.
     */
    enum kx_status (*size)(void *self, const char *path, uint64_t *size_out,
                           struct kx_fault *fault);
    /* Removes an object. KX_OK also if there is no such object. */
    enum kx_status (*remove)(void *self, const char *path,
                             struct kx_fault *fault);
    /* Called when the store is closing: makes running and later calls end soon,
     * if necessary with KX_UNREACHABLE. Any thread. NULL: they always do. */
    void (*hurry)(void *self);
};

#define KX_OBJECT_GROWS ".tail"

#endif
