/* A page's checksum (page_checksum.h) is computed with zeros in its own place.
 * Of the first page of a file only 512 bytes count. */
#include "bdb/page_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <talloc.h>
#include <unistd.h>

#include "bdb/page_checksum.h"
#include "base/file.h"

/* Offsets in a page, and in the first page of a file. */
enum {
    NUMBER_AT = 8,
    TYPE_AT = 25,
    SUM_AT = 28,
    SUM_SIZE = 4,
    META_TYPE = 9, /* of a btree */
    META_BYTES = 512,
    META_SUM_AT = 492,
    READ_PAGES = 256
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

/* A hole in a file, and a page that was only allocated, have zeros in the
 * header. */
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

static enum kx_status check_pages(const uint8_t *pages, size_t count,
                                  uint64_t first, const char *name,
                                  struct kx_fault *fault)
{
    for (size_t i = 0; i < count; i++)
        if (!page_check_one(pages + i * PAGE_BYTES, first + i))
            return kx_fail(fault, KX_DAMAGED,
                           "page %" PRIu64 " of %s has a wrong checksum",
                           first + i, name);
    return KX_OK;
}

/* What follows the last whole page was never finished. */
static enum kx_status check_file(int fd, const char *path, const char *name,
                                 struct kx_fault *fault)
{
    uint8_t *pages = malloc(READ_PAGES * PAGE_BYTES);
    enum kx_status status = pages == NULL ? KX_NO_MEMORY : KX_OK;
    uint64_t first = 0;
    ssize_t size = PAGE_BYTES;
    while (status == KX_OK && size >= PAGE_BYTES) {
        size = pread(fd, pages, READ_PAGES * PAGE_BYTES,
                     (off_t)(first * PAGE_BYTES));
        if (size < 0)
            status = file_unread(path, fault);
        else
            status = check_pages(pages, (size_t)size / PAGE_BYTES, first, name,
                                 fault);
        first += READ_PAGES;
    }
    free(pages);
    return status;
}

static enum kx_status check_table(const char *directory, const char *name,
                                  struct kx_fault *fault)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return KX_OK;
    if (fd < 0) /* as without permission: that is no damage */
        return file_unread(path, fault);
    enum kx_status status = check_file(fd, path, name, fault);
    close(fd);
    return status;
}

enum kx_status page_check(const char *directory, struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    for (int i = 0; status == KX_OK && i < TABLE_COUNT; i++)
        status = check_table(directory, table_file(i), fault);
    return status;
}
