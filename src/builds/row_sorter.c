/* Merging of sorted runs. Rows are added to the last run; when it is full it is
 * sorted, which is a small piece of work. Taking merges all runs with a heap of
 * their next rows.
 *
 * A row is a few words here, with the first bytes of its key that can differ as
 * a number, so that most comparisons do not touch the key. Keys and values lie
 * in chunks, without a block of memory for each. No block grows with the number
 * of rows: talloc gives none of more than 256 MiB. */
#include "builds/row_sorter.h"

#include <talloc.h>

enum {
    RUN_ROWS = 2048,
    CHUNK_BYTES = 1 << 20,
    LINE_BYTES = 64, /* of the processor's cache */
    FETCH_BYTES =
        256 /* the processor fetches the remainder of a longer row itself */
};

struct sorted_row {
    uint64_t head;        /* of the key after the common bytes, big endian */
    const uint8_t *bytes; /* the key, then the value */
    uint32_t key_size;
    uint32_t value_size;
};

/* Rows that are in order: those from `next` to before `end` are not taken. */
struct sorted_run {
    const struct sorted_row *next;
    const struct sorted_row *end;
};

struct row_sorter {
    size_t common;
    struct sorted_row
        *last; /* the last run, which is not sorted yet, or NULL */
    size_t last_count;
    size_t count;            /* of all rows */
    struct sorted_run *heap; /* the run with the least next row is the first */
    size_t heap_count;
    struct sorted_row spare[RUN_ROWS]; /* for sorting a run */
    bool taking;
    bool failed;
    void *chunks;          /* talloc parent of runs and chunks; or NULL */
    struct kx_slice chunk; /* the unused part of the last one */
    size_t bytes;
};

struct row_sorter *row_sorter_create(void *mem, size_t common)
{
    struct row_sorter *sorter = talloc_zero(mem, struct row_sorter);
    if (sorter != NULL)
        sorter->common = common;
    return sorter;
}

/* Missing bytes count as zeros: with equal heads the whole keys are compared.
 */
static uint64_t head_of(struct kx_slice key, size_t common)
{
    uint8_t bytes[8] = {0};
    uint64_t head = 0;
    size_t size = key.size > common ? key.size - common : 0;
    memcpy(bytes, key.data + common, size < 8 ? size : 8);
    memcpy(&head, bytes, 8);
    return __builtin_bswap64(head);
}

static inline int compare_rows(const struct sorted_row *a,
                               const struct sorted_row *b)
{
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    return kx_compare(kx_slice(a->bytes, a->key_size),
                      kx_slice(b->bytes, b->key_size));
}

/* Merges two neighbouring sorted parts, [0, middle) and [middle, count), into
 * `out`. */
static void merge(const struct sorted_row *rows, size_t middle, size_t count,
                  struct sorted_row *out)
{
    size_t left = 0;
    size_t right = middle;
    for (size_t i = 0; i < count; i++) {
        bool take_left =
            right == count ||
            (left < middle && compare_rows(&rows[left], &rows[right]) <= 0);
        out[i] = rows[take_left ? left++ : right++];
    }
}

/* Sorts by merging parts of 1, 2, 4 ... rows, from one array into the other and
 * back. */
static void sort_run(struct sorted_row *rows, size_t count,
                     struct sorted_row *spare)
{
    struct sorted_row *from = rows;
    struct sorted_row *to = spare;
    for (size_t part = 1; part < count; part *= 2) {
        for (size_t at = 0; at < count; at += 2 * part) {
            size_t size = count - at < 2 * part ? count - at : 2 * part;
            merge(from + at, size < part ? size : part, size, to + at);
        }
        struct sorted_row *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
}

/* Allocates memory for added rows. NULL: memory ran out. */
static void *take_block(struct row_sorter *sorter, size_t size)
{
    if (sorter->chunks == NULL)
        sorter->chunks = talloc_new(sorter);
    return sorter->chunks == NULL ? NULL : talloc_size(sorter->chunks, size);
}

/* Allocates bytes that live as long as the sorter. NULL: memory ran out. */
static uint8_t *take_bytes(struct row_sorter *sorter, size_t size)
{
    if (sorter->chunk.size < size) {
        size_t chunk = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        sorter->chunk = kx_slice(take_block(sorter, chunk), chunk);
        if (sorter->chunk.data == NULL) {
            sorter->chunk.size = 0;
            return NULL;
        }
    }
    uint8_t *bytes = (uint8_t *)sorter->chunk.data;
    sorter->chunk.data += size;
    sorter->chunk.size -= size;
    sorter->bytes += size;
    return bytes;
}

/* Sorts the last run and puts it among the others; false without memory. */
static bool close_run(struct row_sorter *sorter)
{
    if (sorter->last_count == 0)
        return true;
    if (sorter->heap_count % 64 == 0) {
        struct sorted_run *heap =
            talloc_realloc(sorter, sorter->heap, struct sorted_run,
                           (unsigned)sorter->heap_count + 64);
        if (heap == NULL)
            return false;
        sorter->heap = heap;
    }
    sort_run(sorter->last, sorter->last_count, sorter->spare);
    sorter->heap[sorter->heap_count++] = (struct sorted_run){
        .next = sorter->last, .end = sorter->last + sorter->last_count};
    sorter->last = NULL;
    sorter->last_count = 0;
    return true;
}

/* Begins another run when the last one is full. */
static bool make_room(struct row_sorter *sorter)
{
    if (sorter->last_count == RUN_ROWS && !close_run(sorter))
        return false;
    if (sorter->last == NULL)
        sorter->last = take_block(sorter, RUN_ROWS * sizeof(struct sorted_row));
    return sorter->last != NULL;
}

bool row_sorter_add(struct row_sorter *sorter, struct kx_slice key,
                    struct kx_slice value)
{
    if (!make_room(sorter))
        return false;
    uint8_t *bytes = take_bytes(sorter, key.size + value.size);
    if (bytes == NULL)
        return false;
    memcpy(bytes, key.data, key.size);
    if (value.size != 0)
        memcpy(bytes + key.size, value.data, value.size);
    sorter->count++;
    sorter->last[sorter->last_count++] =
        (struct sorted_row){.head = head_of(key, sorter->common),
                            .bytes = bytes,
                            .key_size = (uint32_t)key.size,
                            .value_size = (uint32_t)value.size};
    return true;
}

static bool comes_first(const struct row_sorter *sorter, size_t a, size_t b)
{
    return compare_rows(sorter->heap[a].next, sorter->heap[b].next) < 0;
}

/* Moves the run at `at` down to where it belongs. */
static void sift_down(struct row_sorter *sorter, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= sorter->heap_count)
            return;
        if (child + 1 < sorter->heap_count &&
            comes_first(sorter, child + 1, child))
            child++;
        if (!comes_first(sorter, child, at))
            return;
        struct sorted_run run = sorter->heap[at];
        sorter->heap[at] = sorter->heap[child];
        sorter->heap[child] = run;
        at = child;
    }
}

static bool begin_taking(struct row_sorter *sorter)
{
    if (!close_run(sorter)) {
        sorter->failed = true;
        return false;
    }
    for (size_t i = sorter->heap_count / 2; i-- > 0;)
        sift_down(sorter, i);
    sorter->taking = true;
    return true;
}

/* In key order the bytes are scattered over memory. The caller takes some rows
 * before it reads the first, so that fetches overlap. */
static void fetch_bytes(const struct sorted_row *row)
{
    size_t size = (size_t)row->key_size + row->value_size;
    if (size > FETCH_BYTES)
        size = FETCH_BYTES;
    for (size_t at = 0; at < size; at += LINE_BYTES)
        __builtin_prefetch(row->bytes + at);
    __builtin_prefetch(row->bytes + size - 1);
}

bool row_sorter_next(struct row_sorter *sorter, struct row_write *write_out)
{
    if (!sorter->taking && !begin_taking(sorter))
        return false;
    if (sorter->heap_count == 0)
        return false;
    struct sorted_run *run = &sorter->heap[0];
    const struct sorted_row *row = run->next++;
    if (run->next == run->end)
        *run = sorter->heap[--sorter->heap_count];
    sift_down(sorter, 0);
    fetch_bytes(row);
    *write_out = (struct row_write){
        .type = ROW_PUT,
        .table = TABLE_ENTRIES,
        .key = kx_slice(row->bytes, row->key_size),
        .value = kx_slice(row->bytes + row->key_size, row->value_size)};
    return true;
}

void row_sorter_clear(struct row_sorter *sorter)
{
    talloc_free(sorter->chunks);
    talloc_free(sorter->heap);
    sorter->chunks = NULL;
    sorter->last = NULL;
    sorter->heap = NULL;
    sorter->chunk.size = 0;
    sorter->count = sorter->last_count = sorter->heap_count = 0;
    sorter->bytes = 0;
    sorter->taking = false;
}

bool row_sorter_failed(const struct row_sorter *sorter)
{
    return sorter->failed;
}

size_t row_sorter_count(const struct row_sorter *sorter)
{
    return sorter->count;
}

size_t row_sorter_bytes(const struct row_sorter *sorter)
{
    return sorter->bytes + sorter->count * sizeof(struct sorted_row);
}
