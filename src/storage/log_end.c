/* The log files are read as the library does, record by record, as far as the
 * checksums are right. A file that is not the last ends with the record that
 * the first one of the next file names. After the end of the last file
 * witnesses are searched (log_witness.h). */
#include "storage/log_end.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bdb/page_checksum.h"
#include "base/file.h"
#include "storage/log_witness.h"

/* Of a record of the library: three numbers, then its type and more. */
enum {
    PREVIOUS_AT = 0, /* the place of the record before it */
    LENGTH_AT = 4,   /* of all of it */
    SUM_AT = 8,
    HEADER = 12,
    CHECKPOINT = 11, /* a type */
    NEEDED_AT = 28,  /* the file that recovery begins with, in a checkpoint */
    CHECKPOINT_SIZE = 36
};

/* A log file in memory, and what was found in it. */
struct log_file {
    uint32_t number;
    uint8_t *bytes;
    size_t size;
    uint32_t end;      /* of what can be read; 0: nothing can */
    uint32_t last;     /* the last record */
    uint32_t previous; /* the last record of the file before it, or 0 */
    uint32_t needed;   /* the first file that its last checkpoint needs, or 0 */
};

/* ---- One file ----------------------------------------------------------- */

static void drop(struct log_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->size);
    file->bytes = NULL;
}

/* False with errno; EIO also when the file has become shorter. */
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

/* Outside of the heap, which would keep the memory. */
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

static uint32_t number_at(const struct log_file *file, size_t at)
{
    uint32_t number;
    memcpy(&number, file->bytes + at, sizeof number);
    return number;
}

/* The length of the record there; 0: no record with a right checksum. */
static uint32_t length_at(const struct log_file *file, size_t at)
{
    if (file->size - at < HEADER)
        return 0;
    uint32_t length = number_at(file, at + LENGTH_AT);
    if (length <= HEADER || length > file->size - at)
        return 0;
    uint32_t sum =
        page_checksum_add(0, file->bytes + at + HEADER, length - HEADER) ^
        length ^ number_at(file, at + PREVIOUS_AT);
    return sum == number_at(file, at + SUM_AT) ? length : 0;
}

static void walk(struct log_file *file)
{
    uint32_t length;
    while ((length = length_at(file, file->end)) != 0) {
        file->last = file->end;
        if (length >= CHECKPOINT_SIZE &&
            number_at(file, file->end + HEADER) == CHECKPOINT)
            file->needed = number_at(file, file->end + NEEDED_AT);
        file->end += length;
    }
    if (file->end != 0)
        file->previous = number_at(file, PREVIOUS_AT);
}

/* KX_DAMAGED also when it is missing. */
static enum kx_status read_file(const char *directory, uint32_t number,
                                struct log_file *file, struct kx_fault *fault)
{
    char name[LOG_NAME], path[4096];
    log_files_name(number, name);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    *file = (struct log_file){.number = number};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return kx_fail(fault, KX_DAMAGED, "%s is missing", name);
    if (fd < 0)
        return file_unread(path, fault);
    enum kx_status status = map(file, fd, path, fault);
    close(fd);
    if (status == KX_OK)
        walk(file);
    else
        drop(file);
    return status;
}

/* ---- All of them -------------------------------------------------------- */

static bool is_later(struct log_place a, struct log_place b)
{
    return a.file > b.file || (a.file == b.file && a.offset > b.offset);
}

static struct log_place latest_witness_after(const struct log_file *file,
                                             uint64_t key)
{
    if (file->bytes == NULL)
        return (struct log_place){0, 0};
    return log_witness_find(
        key, kx_slice(file->bytes + file->end, file->size - file->end));
}

static enum kx_status broken(struct log_place end, struct log_place known,
                             struct kx_fault *fault)
{
    char name[LOG_NAME], later[LOG_NAME];
    log_files_name(end.file, name);
    log_files_name(known.file, later);
    return kx_fail(fault, KX_DAMAGED,
                   "%s cannot be read from byte %" PRIu32
                   " on, but the log was on disk up to byte %" PRIu32 " of %s",
                   name, end.offset, known.offset, later);
}

/* What is checked, and what was found. */
struct log_search {
    const struct log_end *logend;
    uint32_t first; /* numbers of files */
    uint32_t last;
    uint64_t key;
    struct log_place known; /* on disk up to there */
    struct log_file file; /* the last that was checked: all after it is right */
};

/* Checks that this file still has all that was written before the next file.
 * After a full disk the next file may not name the last record of this one. */
static enum kx_status compare(const struct log_search *search,
                              const struct log_file *file,
                              struct kx_fault *fault)
{
    const struct log_file *next = &search->file;
    struct log_place end = {file->number, file->end};
    struct log_place known = {next->number, next->end};
    if (next->previous == 0)
        known = latest_witness_after(file, search->key);
    else if (next->previous == file->last)
        return KX_OK;
    return is_later(known, end) ? broken(end, known, fault) : KX_OK;
}

/* Checks the files before the last, backwards, as far as recovery needs them.
 */
static enum kx_status look_back(struct log_search *search,
                                struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    bool whole = search->logend->whole;
    uint32_t needed = whole ? 0 : search->file.needed;
    while (status == KX_OK && search->file.number > search->first &&
           search->file.number != needed) {
        struct log_file file;
        status = read_file(search->logend->directory, search->file.number - 1,
                           &file, fault);
        if (status == KX_OK)
            status = compare(search, &file, fault);
        if (!whole && needed == 0)
            needed = file.needed;
        drop(&search->file);
        search->file = file;
    }
    return status;
}

/* Finds the last file that has a record. The library may have made the next
 * file and written nothing, or what it wrote is damaged. */
static enum kx_status find_last(struct log_search *search,
                                struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    uint32_t number = search->last;
    do {
        drop(&search->file);
        status =
            read_file(search->logend->directory, number, &search->file, fault);
        if (status != KX_OK)
            return status;
        struct log_place known =
            latest_witness_after(&search->file, search->key);
        if (is_later(known, search->known))
            search->known = known;
    } while (search->file.end == 0 && number-- > search->first);
    return status;
}

enum kx_status log_end_find(struct log_end *logend, struct kx_fault *fault)
{
    struct log_search search = {.logend = logend,
                                .key = log_witness_key(logend->directory)};
    logend->end = (struct log_place){0, 0};
    if (!log_files_span(logend->directory, &search.first, &search.last))
        return file_failed(logend->directory, fault);
    if (search.first == 0)
        return KX_OK;
    enum kx_status status = find_last(&search, fault);
    logend->end = (struct log_place){search.file.number, search.file.end};
    if (status == KX_OK && is_later(search.known, logend->end))
        status = broken(logend->end, search.known, fault);
    if (status == KX_OK)
        status = look_back(&search, fault);
    drop(&search.file);
    return status;
}
