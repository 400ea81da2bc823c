/* A disk that forgets what was not synced, for the tests of power cuts.
 *
 * Preloaded into the server. Files below $KX_POWER_DATA are written as ever;
 * beside them, below $KX_POWER_DISK, lies what a power cut would leave: each
 * fsync or fdatasync copies there what was written to its file before it. The
 * test kills the server and continues with that directory in place of the data
 * (power.js). Renames and removals count as made durable by the next sync of
 * any file, as on ext4. With $KX_POWER_FORGETFUL syncs do nothing: the negative
 * control. $KX_POWER_SLOW is what a sync takes longer, in microseconds. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 512, FDS = 4096, NAME = 512, COPY = 1 << 16 };

struct span {
    off_t from;
    off_t to;
};

/* A file below the data directory, by its name there. */
struct file {
    char name[NAME];
    struct span *spans; /* written and not synced */
    size_t count;
    size_t room;
    bool cut;  /* made shorter since the last sync */
    bool gone; /* removed, and no sync since */
};

static struct file files[FILES];
static size_t file_count;
static int file_of_fd[FDS]; /* its number plus one, 0: not watched */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void give_up(const char *what)
{
    perror(what);
    _exit(86);
}

static const char *directory(const char *variable)
{
    const char *path = getenv(variable);
    if (path == NULL)
        give_up(variable);
    return path;
}

/* The path's part below the data directory, or NULL. */
static const char *name_of(const char *path)
{
    const char *data = directory("KX_POWER_DATA");
    size_t size = strlen(data);
    if (strncmp(path, data, size) != 0 || path[size] != '/')
        return NULL;
    return path + size + 1;
}

/* Inside the lock. */
static struct file *find(const char *name)
{
    for (size_t i = 0; i < file_count; i++)
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    if (file_count == FILES || strlen(name) >= NAME)
        give_up("too many files");
    strcpy(files[file_count].name, name);
    return &files[file_count++];
}

static void watch(int fd, const char *path, int flags)
{
    const char *name = name_of(path);
    if (fd < 0 || name == NULL)
        return;
    if (fd >= FDS)
        give_up("too many descriptors");
    pthread_mutex_lock(&lock);
    struct file *file = find(name);
    file_of_fd[fd] = (int)(file - files) + 1;
    if ((flags & O_CREAT) != 0)
        file->gone = false;
    file->cut |= (flags & O_TRUNC) != 0;
    pthread_mutex_unlock(&lock);
}

/* Inside the lock. */
static struct file *file_by_fd(int fd)
{
    return fd < 0 || fd >= FDS || file_of_fd[fd] == 0
               ? NULL
               : &files[file_of_fd[fd] - 1];
}

static void note_write(int fd, off_t from, ssize_t size)
{
    pthread_mutex_lock(&lock);
    struct file *file = file_by_fd(fd);
    if (file != NULL && size > 0) {
        if (file->count == file->room) {
            file->room = file->room * 2 + 64;
            file->spans =
                realloc(file->spans, file->room * sizeof *file->spans);
        }
        if (file->spans == NULL)
            give_up("realloc");
        file->spans[file->count++] = (struct span){from, from + size};
    }
    pthread_mutex_unlock(&lock);
}

static void disk_path(const char *name, char *out)
{
    snprintf(out, 2 * NAME, "%s/%s", directory("KX_POWER_DISK"), name);
}

static void note_removal(const char *path)
{
    const char *name = name_of(path);
    pthread_mutex_lock(&lock);
    if (name != NULL)
        find(name)->gone = true;
    pthread_mutex_unlock(&lock);
}

/* On the disk at once: a new file that was not synced is not there yet. */
static void note_rename(const char *from, const char *to)
{
    int (*really)(const char *, const char *) = next("rename");
    const char *old = name_of(from);
    const char *new = name_of(to);
    char old_path[2 * NAME];
    char new_path[2 * NAME];
    if (old == NULL || new == NULL)
        return;
    pthread_mutex_lock(&lock);
    struct file *file = find(old);
    snprintf(file->name, NAME, "%s", new);
    disk_path(old, old_path);
    disk_path(new, new_path);
    really(old_path, new_path);
    pthread_mutex_unlock(&lock);
}

static void copy_span(int from, int to, struct span span)
{
    ssize_t (*really)(int, const void *, size_t, off_t) = next("pwrite");
    char bytes[COPY];
    while (span.from < span.to) {
        size_t size = (size_t)(span.to - span.from);
        ssize_t got = pread(from, bytes, size < COPY ? size : COPY, span.from);
        if (got <= 0)
            return; /* cut off meanwhile */
        if (really(to, bytes, (size_t)got, span.from) != got)
            give_up("copy");
        span.from += got;
    }
}

/* Inside the lock: what was removed before a sync is gone after it. */
static void settle_removals(void)
{
    int (*really)(const char *) = next("unlink");
    char path[2 * NAME];
    for (size_t i = 0; i < file_count; i++) {
        if (!files[i].gone)
            continue;
        disk_path(files[i].name, path);
        really(path);
        files[i].gone = false;
        files[i].count = 0;
    }
}

/* Inside the lock. */
static void settle_file(struct file *file, int from, int to)
{
    int (*cut)(int, off_t) = next("ftruncate");
    struct stat stat;
    if (file->cut && (fstat(from, &stat) != 0 || cut(to, stat.st_size) != 0))
        give_up("cut");
    for (size_t i = 0; i < file->count; i++)
        copy_span(from, to, file->spans[i]);
    file->cut = false;
    file->count = 0;
}

/* What was written before the sync began is now on the disk. */
static void settle(int fd)
{
    int (*really_open)(const char *, int, ...) = next("open");
    int (*really_close)(int) = next("close");
    char path[2 * NAME];
    pthread_mutex_lock(&lock);
    struct file *file = file_by_fd(fd);
    if (file != NULL && getenv("KX_POWER_FORGETFUL") == NULL) {
        disk_path(file->name, path);
        int to = really_open(path, O_RDWR | O_CREAT, 0600);
        /* The caller's own may be for writing only. */
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int from = really_open(path, O_RDONLY);
        if (to < 0 || from < 0)
            give_up(path);
        settle_file(file, from, to);
        really_close(from);
        really_close(to);
        settle_removals();
    }
    pthread_mutex_unlock(&lock);
}

/* ---- The calls that Berkeley DB uses ------------------------------------ */

int open(const char *path, int flags, ...)
{
    int (*really)(const char *, int, ...) = next("open");
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(more, int) : 0;
    va_end(more);
    int fd = really(path, flags, mode);
    watch(fd, path, flags);
    return fd;
}

int close(int fd)
{
    int (*really)(int) = next("close");
    pthread_mutex_lock(&lock);
    if (fd >= 0 && fd < FDS)
        file_of_fd[fd] = 0;
    pthread_mutex_unlock(&lock);
    return really(fd);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    ssize_t (*really)(int, const void *, size_t, off_t) = next("pwrite");
    ssize_t done = really(fd, data, size, at);
    note_write(fd, at, done);
    return done;
}

ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*really)(int, const void *, size_t) = next("write");
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = really(fd, data, size);
    note_write(fd, at, done);
    return done;
}

int ftruncate(int fd, off_t size)
{
    int (*really)(int, off_t) = next("ftruncate");
    int result = really(fd, size);
    pthread_mutex_lock(&lock);
    struct file *file = file_by_fd(fd);
    if (file != NULL && result == 0)
        file->cut = true;
    pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int fd)
{
    int (*really)(int) = next("fdatasync");
    const char *slow = getenv("KX_POWER_SLOW");
    usleep(slow == NULL ? 0 : (useconds_t)atol(slow));
    int result = really(fd);
    if (result == 0)
        settle(fd);
    return result;
}

int unlink(const char *path)
{
    int (*really)(const char *) = next("unlink");
    int result = really(path);
    if (result == 0)
        note_removal(path);
    return result;
}

int rename(const char *from, const char *to)
{
    int (*really)(const char *, const char *) = next("rename");
    int result = really(from, to);
    if (result == 0)
        note_rename(from, to);
    return result;
}
