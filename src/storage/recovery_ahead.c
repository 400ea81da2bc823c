/* Records are those of the library (its log format 19): a header of 12 bytes,
 * with their length, then type, transaction and the transaction's record before
 * (16 bytes), then what the type has. There a file has a number, which a
 * registration gives it; those of all open files precede a checkpoint. */
#include "storage/recovery_ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <talloc.h>
#include <unistd.h>

#include "bdb/page_check.h"
#include "storage/log_files.h"

/* Places in a record. */
enum {
    LENGTH_AT = 4,
    TYPE_AT = 12,
    BODY_AT = 28,
    START_AT = BODY_AT,     /* of a checkpoint: where recovery begins */
    NAME_AT = BODY_AT + 4,  /* of a file's registration: a size and bytes */
    READ_MIN = BODY_AT + 12 /* of those that are read here */
};

enum { REGISTRATION = 2, CHECKPOINT = 11, FILES = 8, FILE_NAME = 64 };

/* The types that nearly all records of rows have. */
static const struct {
    uint32_t type;
    size_t file_at; /* its number; that of the page follows */
} PAGE_RECORDS[] = {
    {41, BODY_AT + 4}, /* an item added or removed, after the operation */
    {43, BODY_AT + 4}, /* a page of a long value, the same */
    {57, BODY_AT},     /* an item marked as deleted */
    {58, BODY_AT},     /* an item replaced */
};

struct log_walk {
    const char *directory;
    uint8_t *log; /* a file of it */
    size_t size;
    char names[FILES][FILE_NAME]; /* by number; empty: not known */
    struct log_place start;       /* of recovery; file 0: not found yet */
    recovery_page_fn *each;
    void *target;
};

static uint32_t number_at(const uint8_t *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* The length of the record there; 0: the log's end, or nothing that could be a
 * record. */
static size_t length_at(const struct log_walk *walk, size_t at)
{
    if (walk->size < TYPE_AT || at > walk->size - TYPE_AT)
        return 0;
    uint32_t length = number_at(walk->log + at + LENGTH_AT);
    return length <= TYPE_AT || length > walk->size - at ? 0 : length;
}

/* 0: of none that is read here. */
static uint32_t type_of(const uint8_t *record, size_t length)
{
    return length < READ_MIN ? 0 : number_at(record + TYPE_AT);
}

static enum kx_status read_log(struct log_walk *walk, uint32_t number)
{
    char name[LOG_NAME], path[4096];
    log_files_name(number, name);
    snprintf(path, sizeof path, "%s/%s", walk->directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    walk->size = 0;
    talloc_free(walk->log);
    walk->log = size < 0 ? NULL : talloc_size(NULL, (size_t)size + 1);
    while (walk->log != NULL && walk->size < (size_t)size) {
        ssize_t got = pread(fd, walk->log + walk->size,
                            (size_t)size - walk->size, (off_t)walk->size);
        if (got <= 0)
            break;
        walk->size += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    if (size >= 0 && walk->log == NULL)
        return KX_NO_MEMORY;
    return size >= 0 && walk->size == (size_t)size ? KX_OK : KX_FAILED;
}

/* A file that is open has a number: name, identity (both with their sizes) and
 * number follow each other. */
static void note_file(struct log_walk *walk, const uint8_t *record,
                      size_t length)
{
    size_t name_size = number_at(record + NAME_AT);
    size_t at = NAME_AT + 4;
    if (name_size == 0 || name_size > FILE_NAME || name_size > length - at - 4)
        return;
    const char *name = (const char *)record + at;
    at += name_size;
    size_t identity = number_at(record + at);
    at += 4;
    if (identity > length - at || length - at - identity < 4)
        return;
    uint32_t number = number_at(record + at + identity);
    if (number < FILES && memchr(name, '\0', name_size) != NULL)
        memcpy(walk->names[number], name, name_size);
}

/* Finds where recovery begins, and the names of the files, in the last log file
 * that has a checkpoint and in those after it. */
static enum kx_status find_start(struct log_walk *walk, uint32_t first,
                                 uint32_t last)
{
    enum kx_status status = KX_OK;
    for (uint32_t n = last;
         status == KX_OK && walk->start.file == 0 && n >= first && n > 0; n--) {
        size_t length;
        status = read_log(walk, n);
        for (size_t at = 0; (length = length_at(walk, at)) != 0; at += length) {
            const uint8_t *record = walk->log + at;
            uint32_t type = type_of(record, length);
            if (type == REGISTRATION)
                note_file(walk, record, length);
            else if (type == CHECKPOINT)
                walk->start =
                    (struct log_place){number_at(record + START_AT),
                                       number_at(record + START_AT + 4)};
        }
    }
    return status;
}

/* False: enough. */
static bool take_record(struct log_walk *walk, const uint8_t *record,
                        size_t length)
{
    uint32_t type = type_of(record, length);
    for (size_t i = 0; i < sizeof PAGE_RECORDS / sizeof *PAGE_RECORDS; i++) {
        if (PAGE_RECORDS[i].type != type)
            continue;
        uint32_t file = number_at(record + PAGE_RECORDS[i].file_at);
        uint32_t page = number_at(record + PAGE_RECORDS[i].file_at + 4);
        return file >= FILES || walk->names[file][0] == '\0' ||
               walk->each(walk->target, walk->names[file], page);
    }
    return true;
}

enum kx_status recovery_pages(const char *directory, recovery_page_fn *each,
                              void *target)
{
    struct log_walk walk = {
        .directory = directory, .each = each, .target = target};
    uint32_t first, last;
    if (!log_files_span(directory, &first, &last))
        return KX_FAILED;
    enum kx_status status = find_start(&walk, first, last);
    bool more = walk.start.file != 0;
    size_t at = walk.start.offset;
    for (uint32_t n = walk.start.file; status == KX_OK && more && n <= last;
         n++, at = 0) {
        size_t length;
        status = read_log(&walk, n);
        for (; more && (length = length_at(&walk, at)) != 0; at += length)
            more = take_record(&walk, walk.log + at, length);
    }
    talloc_free(walk.log);
    return status;
}

/* ---- The thread --------------------------------------------------------- */

enum { ASKED = 1 << 17 };

struct recovery_ahead {
    const char *directory;
    pthread_t thread;
    atomic_bool stop;
    char file[FILE_NAME]; /* that is open */
    int fd;
    uint32_t asked[ASKED]; /* pages of it, each at its number % ASKED, plus 1 */
};

static bool ask(void *target, const char *file, uint32_t page)
{
    struct recovery_ahead *ahead = target;
    if (strcmp(file, ahead->file) != 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", ahead->directory, file);
        snprintf(ahead->file, sizeof ahead->file, "%s", file);
        if (ahead->fd >= 0)
            close(ahead->fd);
        ahead->fd = open(path, O_RDONLY | O_CLOEXEC);
        memset(ahead->asked, 0, sizeof ahead->asked);
    }
    if (ahead->fd >= 0 && ahead->asked[page % ASKED] != page + 1)
        (void)posix_fadvise(ahead->fd, (off_t)page * PAGE_BYTES, PAGE_BYTES,
                            POSIX_FADV_WILLNEED);
    ahead->asked[page % ASKED] = page + 1;
    return !atomic_load(&ahead->stop);
}

static void *run(void *argument)
{
    struct recovery_ahead *ahead = argument;
    pthread_setname_np(pthread_self(), "recovery-ahead");
    (void)recovery_pages(ahead->directory, ask, ahead);
    if (ahead->fd >= 0)
        close(ahead->fd);
    return NULL;
}

static int end(struct recovery_ahead *ahead)
{
    atomic_store(&ahead->stop, true);
    pthread_join(ahead->thread, NULL);
    return 0;
}

struct recovery_ahead *recovery_ahead_start(void *mem, const char *directory)
{
    struct recovery_ahead *ahead = talloc_zero(mem, struct recovery_ahead);
    if (ahead == NULL)
        return NULL;
    ahead->directory = directory;
    ahead->fd = -1;
    if (pthread_create(&ahead->thread, NULL, run, ahead) != 0) {
        talloc_free(ahead);
        return NULL;
    }
    talloc_set_destructor(ahead, end);
    return ahead;
}
