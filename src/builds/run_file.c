/* External merge sort: runs are written one after the other, then read side by
 * side with a heap of their next rows. All runs are merged at once: with
 * RUNS_MAX of them the blocks take 250 MB. */
#include "builds/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <talloc.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

struct block_head {
    uint32_t size;
    uint32_t unused;
    uint64_t hash;
};

struct row_head {
    uint32_t key_size;
    uint32_t value_size;
};

/* One run. While it is being read, the bytes that were read but not taken start
 * at `at` in `bytes`. */
struct file_run {
    uint64_t from; /* the next block that is not read */
    uint64_t to;
    struct kx_buffer bytes;
    size_t at;
    struct kx_slice key; /* the next row */
    struct kx_slice value;
};

struct run_file {
    int fd;
    uint64_t size;
    uint64_t rows;
    struct file_run
        *runs;    /* those that have ended, and the open one after them */
    size_t count; /* number of runs that have ended */
    bool open;
    struct kx_buffer block; /* content that is not written */
    size_t *heap; /* numbers of runs; the one with the least row is first */
    size_t heap_count;
    bool merging;
    bool given; /* the first run's row was returned and must be skipped */
};

static int close_file(struct run_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    return 0;
}

/* Not every file system makes files without a name. */
static int open_unnamed(void *mem, const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char *path = talloc_asprintf(mem, "%s/build-XXXXXX", directory);
    if (path == NULL)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    talloc_free(path);
    return fd;
}

struct run_file *run_file_create(void *mem, const char *directory)
{
    struct run_file *file = talloc_zero(mem, struct run_file);
    if (file == NULL)
        return NULL;
    kx_buffer_init(&file->block, file);
    file->fd = open_unnamed(file, directory);
    talloc_set_destructor(file, close_file);
    if (file->fd >= 0)
        return file;
    talloc_free(file);
    return NULL;
}

static enum kx_status write_all(struct run_file *file, const void *data,
                                size_t size)
{
    const uint8_t *bytes = data;
    while (size > 0) {
        ssize_t n = pwrite(file->fd, bytes, size, (off_t)file->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && file_no_room(errno) ? KX_DISK_FULL : KX_FAILED;
        bytes += n;
        size -= (size_t)n;
        file->size += (uint64_t)n;
    }
    return KX_OK;
}

static enum kx_status write_block(struct run_file *file)
{
    struct kx_slice content = kx_buffer_slice(&file->block);
    if (file->block.failed)
        return KX_NO_MEMORY;
    struct block_head head = {.size = (uint32_t)content.size,
                              .hash = hash_bytes(content)};
    enum kx_status status = write_all(file, &head, sizeof head);
    if (status == KX_OK)
        status = write_all(file, content.data, content.size);
    kx_buffer_clear(&file->block);
    return status;
}

/* Begins a run at the end of the file. False without memory. */
static bool begin_run(struct run_file *file)
{
    if (file->count % 64 == 0) {
        struct file_run *runs = talloc_realloc(
            file, file->runs, struct file_run, (unsigned)file->count + 64);
        if (runs == NULL)
            return false;
        file->runs = runs;
    }
    file->runs[file->count] = (struct file_run){.from = file->size};
    file->open = true;
    return true;
}

enum kx_status run_file_add(struct run_file *file, struct kx_slice key,
                            struct kx_slice value)
{
    struct row_head head = {.key_size = (uint32_t)key.size,
                            .value_size = (uint32_t)value.size};
    if (!file->open && !begin_run(file))
        return KX_NO_MEMORY;
    kx_add(&file->block, &head, sizeof head);
    kx_add_slice(&file->block, key);
    kx_add_slice(&file->block, value);
    file->rows++;
    if (file->block.failed)
        return KX_NO_MEMORY;
    return file->block.size < RUN_BLOCK_BYTES ? KX_OK : write_block(file);
}

enum kx_status run_file_end_run(struct run_file *file)
{
    if (!file->open)
        return KX_OK;
    enum kx_status status = file->block.size > 0 ? write_block(file) : KX_OK;
    if (status != KX_OK)
        return status;
    file->runs[file->count++].to = file->size;
    file->open = false;
    return KX_OK;
}

size_t run_file_runs(const struct run_file *file)
{
    return file->count;
}

uint64_t run_file_rows(const struct run_file *file)
{
    return file->rows;
}

uint64_t run_file_bytes(const struct run_file *file)
{
    return file->size;
}

static enum kx_status read_all(const struct run_file *file,
                               struct file_run *run, void *data, size_t size)
{
    uint8_t *bytes = data;
    while (size > 0) {
        ssize_t n = pread(file->fd, bytes, size, (off_t)run->from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return KX_FAILED;
        bytes += n;
        size -= (size_t)n;
        run->from += (uint64_t)n;
    }
    return KX_OK;
}

/* Adds the next block to the remainder of the blocks before it. */
static enum kx_status read_block(const struct run_file *file,
                                 struct file_run *run)
{
    struct block_head head;
    size_t left = run->bytes.size - run->at;
    if (run->from >= run->to)
        return KX_FAILED; /* in the middle of a row */
    enum kx_status status = read_all(file, run, &head, sizeof head);
    if (status != KX_OK)
        return status;
    if (head.size > run->to - run->from)
        return KX_FAILED;
    if (left > 0)
        memmove(run->bytes.data, run->bytes.data + run->at, left);
    run->bytes.size = left;
    run->at = 0;
    if (!kx_buffer_reserve(&run->bytes, head.size))
        return KX_NO_MEMORY;
    status = read_all(file, run, run->bytes.data + left, head.size);
    if (status == KX_OK &&
        hash_bytes(kx_slice(run->bytes.data + left, head.size)) != head.hash)
        return KX_FAILED;
    run->bytes.size = left + head.size;
    return status;
}

/* Reads blocks until at least `size` bytes that were not taken yet are in
 * memory. */
static enum kx_status read_bytes(const struct run_file *file,
                                 struct file_run *run, size_t size)
{
    enum kx_status status = KX_OK;
    while (status == KX_OK && run->bytes.size - run->at < size)
        status = read_block(file, run);
    return status;
}

/* Reads the run's next row. KX_END: it has no other. */
static enum kx_status read_row(const struct run_file *file,
                               struct file_run *run)
{
    struct row_head head;
    if (run->at == run->bytes.size && run->from == run->to)
        return KX_END;
    enum kx_status status = read_bytes(file, run, sizeof head);
    if (status != KX_OK)
        return status;
    memcpy(&head, run->bytes.data + run->at, sizeof head);
    size_t size = sizeof head + (size_t)head.key_size + head.value_size;
    status = read_bytes(file, run, size);
    if (status != KX_OK)
        return status;
    const uint8_t *key = run->bytes.data + run->at + sizeof head;
    run->key = kx_slice(key, head.key_size);
    run->value = kx_slice(key + head.key_size, head.value_size);
    run->at += size;
    return KX_OK;
}

static bool comes_first(const struct run_file *file, size_t a, size_t b)
{
    int order = kx_compare(file->runs[file->heap[a]].key,
                           file->runs[file->heap[b]].key);
    return order != 0 ? order < 0 : file->heap[a] < file->heap[b];
}

static void sift_down(struct run_file *file, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= file->heap_count)
            return;
        if (child + 1 < file->heap_count && comes_first(file, child + 1, child))
            child++;
        if (!comes_first(file, child, at))
            return;
        size_t run = file->heap[at];
        file->heap[at] = file->heap[child];
        file->heap[child] = run;
        at = child;
    }
}

static enum kx_status begin_merge(struct run_file *file)
{
    enum kx_status status = run_file_end_run(file);
    if (status != KX_OK)
        return status;
    file->heap = talloc_array(file, size_t, (unsigned)file->count + 1);
    if (file->heap == NULL)
        return KX_NO_MEMORY;
    for (size_t i = 0; i < file->count; i++) {
        kx_buffer_init(&file->runs[i].bytes, file);
        status = read_row(file, &file->runs[i]);
        if (status != KX_OK)
            return status;
        file->heap[file->heap_count++] = i;
    }
    for (size_t i = file->heap_count / 2; i-- > 0;)
        sift_down(file, i);
    file->merging = true;
    return KX_OK;
}

/* Skips the row that was returned last. */
static enum kx_status pass(struct run_file *file)
{
    struct file_run *run = &file->runs[file->heap[0]];
    enum kx_status status = read_row(file, run);
    if (status == KX_END) {
        kx_buffer_free(&run->bytes);
        file->heap[0] = file->heap[--file->heap_count];
    } else if (status != KX_OK) {
        return status;
    }
    file->given = false;
    sift_down(file, 0);
    return KX_OK;
}

enum kx_status run_file_next(struct run_file *file, struct kx_slice *key_out,
                             struct kx_slice *value_out)
{
    enum kx_status status = file->merging ? KX_OK : begin_merge(file);
    if (status == KX_OK && file->given)
        status = pass(file);
    if (status != KX_OK)
        return status;
    if (file->heap_count == 0)
        return KX_END;
    *key_out = file->runs[file->heap[0]].key;
    *value_out = file->runs[file->heap[0]].value;
    file->given = true;
    return KX_OK;
}
