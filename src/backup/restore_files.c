/* Writes the files of a data directory. Each file is on disk before the next
 * one begins. */
#include "backup/restore_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/backup_unpack.h"
#include "backup/object_dir.h"
#include "base/file.h"

enum { PATH_SIZE = 4096 };

/* The directory, and the member that is being written. */
struct unpack_target {
    const char *directory;
    FILE *file; /* NULL: no member is open */
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

/* A backup that is being read. */
struct feed {
    const struct kx_restore *restore;
    struct backup_unpack *unpack;
    struct kx_decryption *decryption; /* NULL: the backup is not encrypted */
    struct kx_buffer plain;           /* decrypted */
    uint64_t done, whole;             /* bytes; whole 0: unknown */
    bool named;                       /* the fault says which file */
    enum kx_status status;
    struct kx_fault *fault;
};

/* Adds what decryption has output. */
static enum kx_status feed_plain(struct feed *feed, enum kx_status status)
{
    if (status == KX_OK)
        status = backup_unpack_add(feed->unpack, kx_buffer_slice(&feed->plain),
                                   feed->fault);
    kx_buffer_clear(&feed->plain);
    return status;
}

static enum kx_status feed_part(struct feed *feed, struct kx_slice bytes)
{
    if (feed->decryption != NULL)
        return feed_plain(feed, kx_decrypt_add(feed->decryption, bytes,
                                               &feed->plain, feed->fault));
    if (feed->done == 0 && kx_is_encrypted(bytes))
        return kx_fail(feed->fault, KX_BAD_ARCHIVE,
                       "it is encrypted; --decrypt-with names the file of the "
                       "secret key");
    return backup_unpack_add(feed->unpack, bytes, feed->fault);
}

static enum kx_status feed_end(struct feed *feed)
{
    enum kx_status status = KX_OK;
    if (feed->decryption != NULL)
        status = feed_plain(
            feed, kx_decrypt_end(feed->decryption, &feed->plain, feed->fault));
    return status == KX_OK ? backup_unpack_end(feed->unpack, feed->fault)
                           : status;
}

static bool feed_bytes(void *context, struct kx_slice bytes)
{
    struct feed *feed = context;
    const struct kx_restore *restore = feed->restore;
    feed->status = feed_part(feed, bytes);
    feed->done += bytes.size;
    if (restore->progress != NULL && feed->whole != 0)
        restore->progress(restore->context, feed->done, feed->whole);
    return feed->status == KX_OK;
}

static enum kx_status feed_all(struct feed *feed, const char *path)
{
    const struct kx_object_store *objects =
        object_store_of(feed->restore->objects);
    enum kx_status status =
        objects->size(objects->self, path, &feed->whole, feed->fault);
    if (status == KX_OK)
        status =
            objects->get(objects->self, path, feed_bytes, feed, feed->fault);
    if (status == KX_ABSENT)
        return kx_fail(feed->fault, KX_FAILED, "%s", strerror(ENOENT));
    if (feed->status != KX_OK)
        return feed->status;
    feed->named = status != KX_OK;
    return status == KX_OK ? feed_end(feed) : status;
}

/* False: no memory. */
static bool feed_begin(struct feed *feed, void *mem,
                       const struct backup_unpack_sink *sink)
{
    kx_buffer_init(&feed->plain, mem);
    feed->unpack = backup_unpack_create(mem, sink);
    if (feed->restore->key != NULL)
        feed->decryption = kx_decrypt_begin(mem, feed->restore->key);
    return feed->unpack != NULL &&
           (feed->restore->key == NULL || feed->decryption != NULL);
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
    struct feed feed = {.restore = restore, .fault = fault};
    void *mem = talloc_new(NULL);
    enum kx_status status = mem != NULL && feed_begin(&feed, mem, &sink)
                                ? feed_all(&feed, path)
                                : kx_fail(fault, KX_NO_MEMORY, "no memory");
    talloc_free(mem);
    if (target.file != NULL)
        fclose(target.file);
    return feed.named ? status : add_path(status, path, &target, fault);
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
