/* A page's checksum (page_checksum.h) is computed with zeros in place of the
 * checksum itself. In the first page of a file only 512 bytes count. */
#include "bdb/page_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "bdb/page_checksum.h"
#include "base/file.h"

/* Offsets in a page, and in the first page of a file. */
enum {
    NUMBER_AT = 8,
    TYPE_AT = 25,
    SUM_AT = 28,
    SUM_SIZE = 4,
    META_TYPE = 9, /* type of a btree's first page */
    META_BYTES = 512,
    META_SUM_AT = 492,
    READ_PAGES = 256,
    AGAIN_MAX = 100,
    AGAIN_NS = 10 * 1000 * 1000
};

static uint32_t read_number(const uint8_t *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static bool sum_is_right(const uint8_t *page, size_t size, size_t at)
{
    static const uint8_t zeros[SUM_SIZE];
    uint32_t sum = page_checksum_add(0, page, at);
    sum = page_checksum_add(sum, zeros, SUM_SIZE);
    sum = page_checksum_add(sum, page + at + SUM_SIZE, size - at - SUM_SIZE);
    return sum == read_number(page + at);
}

/* The header of a hole, or of a page that was only allocated, is zero. */
static bool never_written(const uint8_t *page)
{
    static const uint8_t zeros[TYPE_AT + 1];
    return memcmp(page, zeros, sizeof zeros) == 0;
}

bool page_check_one(const uint8_t *page, uint64_t n)
{
    if (n == 0 && page[TYPE_AT] == META_TYPE)
        return sum_is_right(page, META_BYTES, META_SUM_AT);
    if (never_written(page))
        return true;
    return read_number(page + NUMBER_AT) == n &&
           sum_is_right(page, PAGE_BYTES, SUM_AT);
}

/* Checks a page again: a read during a write may return half of the old page
 * and half of the new one. A page that no longer exists is right. */
static bool is_right_later(int fd, uint64_t n)
{
    static const struct timespec pause = {.tv_nsec = AGAIN_NS};
    uint8_t page[PAGE_BYTES];
    for (int i = 0; i < AGAIN_MAX; i++) {
        nanosleep(&pause, NULL);
        ssize_t size = pread(fd, page, PAGE_BYTES, (off_t)(n * PAGE_BYTES));
        if (size < PAGE_BYTES || page_check_one(page, n))
            return true;
    }
    return false;
}

/* A file whose pages are being checked. */
struct paged_file {
    const char *path;
    const char *name;
    int fd;
};

static enum kx_status check_pages(const struct paged_file *file,
                                  const struct page_walk *walk,
                                  const uint8_t *pages, size_t count,
                                  struct kx_fault *fault)
{
    for (size_t i = 0; i < count; i++)
        if (!page_check_one(pages + i * PAGE_BYTES, walk->page + i) &&
            !(walk->shared && is_right_later(file->fd, walk->page + i)))
            return kx_fail(fault, KX_DAMAGED,
                           "page %" PRIu64 " of %s has a wrong checksum",
                           walk->page + i, file->name);
    return KX_OK;
}

static void next_table(struct page_walk *walk)
{
    walk->tables--;
    walk->page = 0;
}

/* Checks at most *left pages and subtracts them from *left. Ignores a partial
 * page at the end of the file, which was never finished. */
static enum kx_status check_file(const struct paged_file *file,
                                 struct page_walk *walk, uint64_t *left,
                                 struct kx_fault *fault)
{
    uint8_t *pages = malloc(READ_PAGES * PAGE_BYTES);
    enum kx_status status = pages == NULL ? KX_NO_MEMORY : KX_OK;
    while (status == KX_OK && *left > 0) {
        size_t most = *left < READ_PAGES ? (size_t)*left : READ_PAGES;
        ssize_t size = pread(file->fd, pages, most * PAGE_BYTES,
                             (off_t)(walk->page * PAGE_BYTES));
        size_t count = size < 0 ? 0 : (size_t)size / PAGE_BYTES;
        status = size < 0 ? file_unread(file->path, fault)
                          : check_pages(file, walk, pages, count, fault);
        if (status == KX_OK && count == 0)
            break;
        walk->page += status == KX_OK ? count : 0;
        *left -= count;
    }
    if (status == KX_OK && *left > 0)
        next_table(walk);
    free(pages);
    return status;
}

static enum kx_status check_table(const char *directory, struct page_walk *walk,
                                  uint64_t *left, struct kx_fault *fault)
{
    char path[4096];
    const char *name = table_file((enum table)(walk->tables - 1));
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        next_table(walk);
        return KX_OK;
    }
    if (fd < 0) /* permission, for example, which is not damage */
        return file_unread(path, fault);
    struct paged_file file = {.path = path, .name = name, .fd = fd};
    enum kx_status status = check_file(&file, walk, left, fault);
    close(fd);
    return status;
}

enum kx_status page_check(const char *directory, struct page_walk *walk,
                          uint64_t most, struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    while (status == KX_OK && walk->tables > 0 && most > 0)
        status = check_table(directory, walk, &most, fault);
    return status;
}

enum kx_status page_check_all(const char *directory, struct kx_fault *fault)
{
    struct page_walk walk = {.tables = TABLE_COUNT};
    return page_check(directory, &walk, UINT64_MAX, fault);
}
