/* Objects are files. A growing object is written in place, so that each second
 * costs only what was added. */
#include "backup/object_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/archive_names.h"
#include "base/file.h"
#include "base/uuid.h"

enum { READ_BYTES = 1 << 16 };

static enum kx_status make(void *self, const char *path, struct kx_fault *fault)
{
    (void)self;
    return file_make_directory(path)
               ? KX_OK
               : kx_fail(fault, KX_BAD_DIRECTORY, "archive %s: %s", path,
                         strerror(errno));
}

struct directory_list {
    const char *path;
    kx_object_fn *each;
    void *target;
    bool ended; /* `each` has returned false */
};

/* A file that cannot be inspected counts as new. */
static bool list_file(void *target, const char *name)
{
    struct directory_list *list = target;
    struct kx_object object = {.name = name, .at_ms = INT64_MAX};
    char path[2 * ARCHIVE_PATH];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", list->path, name);
    if (stat(path, &about) == 0) {
        object.size = S_ISDIR(about.st_mode) ? 0 : (uint64_t)about.st_size;
        object.at_ms = (int64_t)about.st_mtim.tv_sec * 1000 +
                       about.st_mtim.tv_nsec / KX_MS_NS;
    }
    list->ended = !list->each(list->target, &object);
    return !list->ended;
}

static enum kx_status list(void *self, const char *path, kx_object_fn *each,
                           void *target, struct kx_fault *fault)
{
    struct directory_list list = {path, each, target, false};
    (void)self;
    if (file_each(path, list_file, &list) || list.ended)
        return KX_OK;
    return errno == ENOENT || errno == ENOTDIR ? KX_ABSENT
                                               : file_failed(path, fault);
}

static enum kx_status put(void *self, const struct kx_object_put *put,
                          struct kx_fault *fault)
{
    (void)self;
    return rename(put->file, put->path) == 0 && file_sync(put->path)
               ? KX_OK
               : file_failed(put->path, fault);
}

static bool write_new(const char *path, struct kx_slice bytes)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return false;
    bool done = fwrite(bytes.data, 1, bytes.size, file) == bytes.size &&
                fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && done;
}

/* A link is made only if nothing has its name, and the file that it names is
 * complete. */
static enum kx_status create(void *self, const char *path,
                             struct kx_slice bytes, struct kx_fault *fault)
{
    char part[ARCHIVE_PATH], name[UUID_SIZE];
    (void)self;
    uuid_make(name);
    snprintf(part, sizeof part, "%.*s.%s.part", ARCHIVE_PATH - 64, path, name);
    bool done = write_new(part, bytes);
    if (done && link(part, path) != 0)
        done = false;
    enum kx_status status = done              ? KX_OK
                            : errno == EEXIST ? KX_CHECK_FAILED
                                              : file_failed(path, fault);
    unlink(part);
    return status == KX_OK && !file_sync(path) ? file_failed(path, fault)
                                               : status;
}

static bool copy_range(int from, int to, uint64_t start, uint64_t end)
{
    char bytes[READ_BYTES];
    while (start < end) {
        size_t size = end - start < sizeof bytes ? end - start : sizeof bytes;
        ssize_t got = pread(from, bytes, size, (off_t)start);
        if (got > 0) /* a full disk may accept only a part */
            got = pwrite(to, bytes, (size_t)got, (off_t)start);
        if (got <= 0)
            return false;
        start += (uint64_t)got;
    }
    return fdatasync(to) == 0;
}

/* Copies this part of a file to the same place in another. Also copies
 * everything before the part, unless the other file has exactly that. */
static bool copy_part(const char *from, const char *to, uint64_t start,
                      uint64_t end)
{
    struct stat about;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return false;
    if (stat(to, &about) != 0 || (uint64_t)about.st_size != start)
        start = 0;
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool done = out >= 0 && copy_range(in, out, start, end);
    int error = errno;
    close(in);
    if (out >= 0)
        close(out);
    errno = error;
    return done && (start != 0 || file_sync(to));
}

static enum kx_status grow(void *self, const char *file, const char *path,
                           const uint64_t range[2], struct kx_fault *fault)
{
    (void)self;
    return copy_part(file, path, range[0], range[1]) ? KX_OK
                                                     : file_failed(path, fault);
}

static enum kx_status read_all(FILE *file, const char *path,
                               kx_object_bytes_fn *bytes, void *target,
                               struct kx_fault *fault)
{
    uint8_t chunk[READ_BYTES];
    size_t size;
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0)
        if (!bytes(target, kx_slice(chunk, size)))
            return KX_FAILED;
    return ferror(file) ? kx_fail(fault, KX_FAILED, "%s: it cannot be read: %s",
                                  path, strerror(errno))
                        : KX_OK;
}

static enum kx_status get(void *self, const char *path,
                          kx_object_bytes_fn *bytes, void *target,
                          struct kx_fault *fault)
{
    (void)self;
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return errno == ENOENT ? KX_ABSENT : file_failed(path, fault);
    enum kx_status status = read_all(file, path, bytes, target, fault);
    fclose(file);
    return status;
}

static enum kx_status size(void *self, const char *path, uint64_t *size_out,
                           struct kx_fault *fault)
{
    (void)self;
    return file_measure(path, size_out, fault);
}

static enum kx_status remove_file(void *self, const char *path,
                                  struct kx_fault *fault)
{
    (void)self;
    return unlink(path) == 0 || errno == ENOENT ? KX_OK
                                                : file_failed(path, fault);
}

static const struct kx_object_store DIRECTORY = {.is_directory = true,
                                                 .make = make,
                                                 .list = list,
                                                 .put = put,
                                                 .create = create,
                                                 .grow = grow,
                                                 .get = get,
                                                 .size = size,
                                                 .remove = remove_file};

const struct kx_object_store *
object_store_of(const struct kx_object_store *objects)
{
    return objects != NULL ? objects : &DIRECTORY;
}

/* Maximum size of an object that is copied: log files have 16 MiB, and are
 * hardly larger when they cannot be compressed. */
enum { COPY_MAX = 64 << 20 };

struct object_copy {
    FILE *file;
    uint64_t bytes;
};

static bool write_bytes(void *target, struct kx_slice bytes)
{
    struct object_copy *copy = target;
    copy->bytes += bytes.size;
    return copy->bytes <= COPY_MAX &&
           fwrite(bytes.data, 1, bytes.size, copy->file) == bytes.size;
}

static enum kx_status write_copy(const struct kx_object_store *objects,
                                 const char *path, const char *copy,
                                 struct kx_fault *fault)
{
    FILE *file = file_write(copy, O_TRUNC);
    struct object_copy to = {.file = file};
    if (file == NULL)
        return file_failed(copy, fault);
    enum kx_status status =
        objects->get(objects->self, path, write_bytes, &to, fault);
    if (to.bytes > COPY_MAX)
        status = kx_fail(fault, KX_BAD_ARCHIVE,
                         "%s is larger than any log file", path);
    if (status == KX_FAILED && ferror(file))
        status = file_failed(copy, fault);
    if (fclose(file) != 0 && status == KX_OK)
        status = file_failed(copy, fault);
    return status;
}

enum kx_status object_fetch(const struct kx_object_store *objects,
                            const char *path, const char *copy,
                            const char **file_out, struct kx_fault *fault)
{
    *file_out = objects->is_directory ? path : copy;
    if (objects->is_directory)
        return KX_OK;
    enum kx_status status = write_copy(objects, path, copy, fault);
    if (status != KX_OK)
        unlink(copy);
    return status;
}

void object_fetched(const struct kx_object_store *objects, const char *copy)
{
    if (!objects->is_directory)
        unlink(copy);
}
