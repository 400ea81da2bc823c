/* Blocks of one size, cut from one memory range. Freed blocks go into a list
 * and are reused first. The library asks for new pages until its cache is full
 * and then reuses them, so the range never has to shrink. */
#include "bdb/page_alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <db.h>

#include "bdb/page_check.h"

enum {
    HEADER_MAX = 128, /* the library's header before a page takes 112 bytes */
    BLOCK_BYTES = PAGE_BYTES + HEADER_MAX,
    HUGE_PAGE_BYTES = 2 << 20
};

struct block {
    struct block *next; /* only while the block is free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *given_back;
static uint8_t *uncut; /* the unused rest of the range */

/* Set once, before any other thread reads them. */
static uint8_t *start; /* NULL: no range is reserved */
static uint8_t *end;

/* ---- Blocks ------------------------------------------------------------- */

static bool is_block(const void *memory)
{
    const uint8_t *at = memory;
    return at >= start && at < end;
}

/* Returns NULL if the range is used up. */
static void *cut(void)
{
    pthread_mutex_lock(&lock);
    void *block = given_back;
    if (block != NULL) {
        given_back = given_back->next;
    } else if (end - uncut >= BLOCK_BYTES) {
        block = uncut;
        uncut += BLOCK_BYTES;
    }
    pthread_mutex_unlock(&lock);
    return block;
}

void *page_alloc_take(size_t bytes)
{
    void *block = NULL;
    if (bytes > PAGE_BYTES && bytes <= BLOCK_BYTES)
        block = cut();
    return block != NULL ? block : malloc(bytes);
}

void page_alloc_give(void *memory)
{
    if (!is_block(memory)) {
        free(memory);
        return;
    }
    struct block *block = memory;
    pthread_mutex_lock(&lock);
    block->next = given_back;
    given_back = block;
    pthread_mutex_unlock(&lock);
}

void *page_alloc_resize(void *memory, size_t bytes)
{
    if (!is_block(memory))
        return memory == NULL ? page_alloc_take(bytes) : realloc(memory, bytes);
    if (bytes <= BLOCK_BYTES)
        return memory;
    void *larger = malloc(bytes);
    if (larger == NULL)
        return NULL;
    memcpy(larger, memory, BLOCK_BYTES);
    page_alloc_give(memory);
    return larger;
}

/* ---- The range ---------------------------------------------------------- */

/* If the kernel has no huge pages, the advice fails, which is harmless. */
static void reserve(size_t bytes)
{
    uint8_t *range = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return;
    uint8_t *aligned =
        range + (HUGE_PAGE_BYTES - (uintptr_t)range % HUGE_PAGE_BYTES);
    madvise(aligned, bytes, MADV_HUGEPAGE);
    start = aligned;
    end = aligned + bytes;
    uncut = aligned;
}

/* Reserves 1.5 times the cache: a block is larger than its page, and all open
 * environments share the range. */
void page_alloc_install(size_t cache_bytes)
{
    if (start == NULL)
        reserve(cache_bytes + cache_bytes / 2);
    db_env_set_func_malloc(page_alloc_take);
    db_env_set_func_realloc(page_alloc_resize);
    db_env_set_func_free(page_alloc_give);
}

int page_alloc_except_results(DB_ENV *db)
{
    return db->set_alloc(db, malloc, realloc, free);
}
