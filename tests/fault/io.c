/* The n-th call of one kind on the server's files fails, for the tests of I/O
 * faults (io.js). Preloaded into the server:
 *
 *   KX_IO_DATA   the directory whose files are meant
 *   KX_IO_CALL   open, pwrite, fdatasync or rename
 *   KX_IO_AT     the number of the call that fails, from 1
 *   KX_IO_LAST   the last one that fails, 0 for all that follow
 *   KX_IO_ERROR  EIO or ENOSPC
 *   KX_IO_MARK   a file that is made when the first one fails
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static const char *setting(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? "" : text;
}

static bool is_ours(const char *path)
{
    const char *data = setting("KX_IO_DATA");
    size_t size = strlen(data);
    return size != 0 && strncmp(path, data, size) == 0 && path[size] == '/';
}

static bool is_our_fd(int fd)
{
    char link[64];
    char path[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    return is_ours(path);
}

static void mark(void)
{
    int (*really)(const char *, int, ...) = next("open");
    int fd = really(setting("KX_IO_MARK"), O_WRONLY | O_CREAT, 0600);
    if (fd >= 0)
        close(fd);
}

/* Is this call one that fails? Then errno is set. */
static bool fails(const char *call)
{
    if (strcmp(setting("KX_IO_CALL"), call) != 0)
        return false;
    long first = atol(setting("KX_IO_AT"));
    long last = atol(setting("KX_IO_LAST"));
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (n < first || (last != 0 && n > last))
        return false;
    if (n == first)
        mark();
    errno = strcmp(setting("KX_IO_ERROR"), "ENOSPC") == 0 ? ENOSPC : EIO;
    return true;
}

int open(const char *path, int flags, ...)
{
    int (*really)(const char *, int, ...) = next("open");
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(more, int) : 0;
    va_end(more);
    if (is_ours(path) && fails("open"))
        return -1;
    return really(path, flags, mode);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    ssize_t (*really)(int, const void *, size_t, off_t) = next("pwrite");
    if (is_our_fd(fd) && fails("pwrite"))
        return -1;
    return really(fd, data, size, at);
}

int fdatasync(int fd)
{
    int (*really)(int) = next("fdatasync");
    if (is_our_fd(fd) && fails("fdatasync"))
        return -1;
    return really(fd);
}

int rename(const char *from, const char *to)
{
    int (*really)(const char *, const char *) = next("rename");
    if (is_ours(from) && fails("rename"))
        return -1;
    return really(from, to);
}
