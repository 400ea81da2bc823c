/* Writing the files of a data directory. Each is on disk before the next one
 * begins. */
#include "backup/restore_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/backup_unpack.h"
#include "base/file.h"

enum { PATH_SIZE = 4096, READ_BYTES = 1 << 16 };

/* The directory, and the member that is being written. */
struct unpack_target {
    const char *directory;
    FILE *file; /* NULL: none */
    int error;  /* errno of the first failure */
};

static bool keep_error(struct unpack_target *target, bool done)
{
    if (!done && target->error == 0)
        target->error = errno;
    return done;
}

static bool open_member(void *context, const char *name, uint64_t size)
{
    struct unpack_target *target = context;
    char path[PATH_SIZE];
    (void)size;
    snprintf(path, sizeof path, "%s/%s", target->directory, name);
    target->file = file_write(path, O_TRUNC);
    return keep_error(target, target->file != NULL);
}

static bool write_member(void *context, struct kx_slice bytes)
{
    struct unpack_target *target = context;
    return keep_error(target, fwrite(bytes.data, 1, bytes.size, target->file) ==
                                  bytes.size);
}

static bool close_member(void *context)
{
    struct unpack_target *target = context;
    FILE *file = target->file;
    bool done = keep_error(target, fflush(file) == 0) &&
                keep_error(target, fsync(fileno(file)) == 0);
    target->file = NULL;
    return keep_error(target, fclose(file) == 0) && done;
}

static void report_progress(const struct kx_restore *restore, FILE *file)
{
    struct stat about;
    if (restore->progress != NULL && fstat(fileno(file), &about) == 0 &&
        S_ISREG(about.st_mode))
        restore->progress(restore->context, (uint64_t)ftello(file),
                          (uint64_t)about.st_size);
}

static enum kx_status feed(const struct kx_restore *restore,
                           struct backup_unpack *unpack, FILE *file,
                           struct kx_fault *fault)
{
    uint8_t bytes[READ_BYTES];
    enum kx_status status = KX_OK;
    size_t size;
    while (status == KX_OK &&
           (size = fread(bytes, 1, sizeof bytes, file)) > 0) {
        status = backup_unpack_add(unpack, kx_slice(bytes, size), fault);
        report_progress(restore, file);
    }
    if (status == KX_OK && ferror(file))
        return kx_fail(fault, KX_FAILED, "it cannot be read: %s",
                       strerror(errno));
    return status == KX_OK ? backup_unpack_end(unpack, fault) : status;
}

/* Adds the path of the backup, and the reason of a failed write, to a fault. */
static enum kx_status add_path(enum kx_status status, const char *path,
                               const struct unpack_target *target,
                               struct kx_fault *fault)
{
    char detail[KX_DETAIL_MAX];
    if (status == KX_OK)
        return KX_OK;
    if (file_no_room(target->error))
        status = KX_DISK_FULL;
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(fault, status, "%s: %s%s%s", path, detail,
                   target->error != 0 ? ": " : "",
                   target->error != 0 ? strerror(target->error) : "");
}

enum kx_status restore_files_unpack(const struct kx_restore *restore,
                                    const char *path, struct kx_fault *fault)
{
    struct unpack_target target = {.directory = restore->directory};
    struct backup_unpack_sink sink = {.open = open_member,
                                      .bytes = write_member,
                                      .close = close_member,
                                      .target = &target};
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return file_failed(path, fault);
    struct backup_unpack *unpack = backup_unpack_create(NULL, &sink);
    enum kx_status status = unpack == NULL
                                ? kx_fail(fault, KX_NO_MEMORY, "no memory")
                                : feed(restore, unpack, file, fault);
    talloc_free(unpack);
    fclose(file);
    if (target.file != NULL)
        fclose(target.file);
    return add_path(status, path, &target, fault);
}

static bool copy_all(FILE *in, FILE *out)
{
    char bytes[1 << 16];
    size_t size;
    bool done = true;
    while (done && (size = fread(bytes, 1, sizeof bytes, in)) > 0)
        done = fwrite(bytes, 1, size, out) == size;
    return done && !ferror(in) && fflush(out) == 0 && fsync(fileno(out)) == 0;
}

enum kx_status restore_files_write_over(const char *from, const char *to,
                                        struct kx_fault *fault)
{
    FILE *in = fopen(from, "rbe");
    if (in == NULL)
        return file_failed(from, fault);
    FILE *out = file_write(to, 0);
    enum kx_status status = KX_OK;
    if (out == NULL || !copy_all(in, out))
        status = file_failed(ferror(in) ? from : to, fault);
    fclose(in);
    if (out != NULL && fclose(out) != 0 && status == KX_OK)
        status = file_failed(to, fault);
    return status;
}
