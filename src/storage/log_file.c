/* Reads a whole file into mapped memory: the heap would keep the memory after
 * the file is dropped. */
#include "storage/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/log_files.h"

/* Returns false with errno; EIO also if the file has become shorter. */
static bool read_bytes(int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    ssize_t got = 1;
    while (done < size && got > 0) {
        got = pread(fd, bytes + done, size - done, (off_t)done);
        done += got > 0 ? (size_t)got : 0;
    }
    if (got == 0)
        errno = EIO;
    return done == size;
}

static enum kx_status map(struct log_file *file, int fd, const char *path,
                          struct kx_fault *fault)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return file_failed(path, fault);
    file->size = (size_t)about.st_size;
    if (file->size == 0)
        return KX_OK;
    file->bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file->bytes == MAP_FAILED) {
        file->bytes = NULL;
        file->size = 0;
        return kx_fail(fault, KX_NO_MEMORY, "no memory to read %s", path);
    }
    return read_bytes(fd, file->bytes, file->size) ? KX_OK
                                                   : file_unread(path, fault);
}

enum kx_status log_file_read(const char *directory, uint32_t number,
                             struct log_file *file, struct kx_fault *fault)
{
    char name[LOG_NAME], path[4096];
    log_files_name(number, name);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    *file = (struct log_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return kx_fail(fault, KX_DAMAGED, "%s is missing", name);
    if (fd < 0)
        return file_unread(path, fault);
    enum kx_status status = map(file, fd, path, fault);
    close(fd);
    if (status != KX_OK)
        log_file_drop(file);
    return status;
}

void log_file_drop(struct log_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->size);
    *file = (struct log_file){0};
}
