/* malloc and its kin for a program, with failures on purpose: see alloc.h. */
#include "alloc.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The C library's own, under the names that it has for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

enum { FRAMES_MAX = 24, SPARED_MAX = 4 };

static atomic_long live;
static atomic_size_t left; /* allocations until one fails; 0: none does */
static atomic_bool forever;
static atomic_size_t failed;
static _Thread_local bool exempted;

/* Where the code lies of libraries whose allocations do not fail. */
static struct code {
    const char *name;
    uintptr_t start, end;
} spared[SPARED_MAX];
static size_t spared_count;

static void *frames[FRAMES_MAX];
static int frame_count;

static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
    struct code *code = data;
    (void)size;
    if (strstr(info->dlpi_name, code->name) == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        code->start = info->dlpi_addr + part->p_vaddr;
        code->end = code->start + part->p_memsz;
    }
    return 1;
}

void alloc_spare(const char *library)
{
    if (spared_count == SPARED_MAX)
        abort();
    struct code *code = &spared[spared_count++];
    code->name = library;
    dl_iterate_phdr(find_code, code);
}

/* backtrace() loads a library when it is first called, with malloc. */
__attribute__((constructor)) static void prepare(void)
{
    alloc_spare("libdb-5.3");
    frame_count = backtrace(frames, FRAMES_MAX);
}

static bool lies_in(const struct code *code, const void *at)
{
    return (uintptr_t)at >= code->start && (uintptr_t)at < code->end;
}

static bool is_spared(void *const *stack, int count)
{
    for (int i = 0; i < count; i++)
        for (size_t n = 0; n < spared_count; n++)
            if (lies_in(&spared[n], stack[i]))
                return true;
    return false;
}

/* Must this one fail? */
static bool is_due(void)
{
    void *stack[FRAMES_MAX];
    if (atomic_load_explicit(&left, memory_order_relaxed) == 0 || exempted)
        return false;
    exempted = true;
    int count = backtrace(stack, FRAMES_MAX);
    exempted = false;
    if (is_spared(stack, count))
        return false;
    size_t now = atomic_load(&left);
    while (now > 0 && !atomic_compare_exchange_weak(
                          &left, &now, now == 1 && forever ? 1 : now - 1))
        ;
    if (now != 1)
        return false;
    if (atomic_fetch_add(&failed, 1) == 0) {
        memcpy(frames, stack, sizeof frames);
        frame_count = count;
    }
    errno = ENOMEM;
    return true;
}

/* ---- What is left, with KX_ALLOC_TRACE ---------------------------------- */

enum { TRACED_MAX = 1 << 18 };

static struct traced {
    void *block;
    void *stack[FRAMES_MAX];
    int count;
} * traced; /* of all blocks that are not freed, since tracing began */
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;

static struct traced *slot_of(const void *block, const void *wanted)
{
    size_t at = ((uintptr_t)block >> 4) * 2654435761u % TRACED_MAX;
    for (size_t i = 0; i < TRACED_MAX; i++, at = (at + 1) % TRACED_MAX)
        if (traced[at].block == wanted)
            return &traced[at];
    return NULL;
}

static void trace(void *block)
{
    struct traced one = {.block = block};
    bool was = exempted;
    exempted = true;
    one.count = backtrace(one.stack, FRAMES_MAX);
    exempted = was;
    pthread_mutex_lock(&trace_lock);
    struct traced *slot = slot_of(block, NULL);
    if (slot != NULL)
        *slot = one;
    pthread_mutex_unlock(&trace_lock);
}

static void trace_free(const void *block)
{
    pthread_mutex_lock(&trace_lock);
    struct traced *slot = slot_of(block, block);
    if (slot != NULL)
        slot->block = NULL;
    pthread_mutex_unlock(&trace_lock);
}

void alloc_trace(void)
{
    if (getenv("KX_ALLOC_TRACE") == NULL)
        return;
    if (traced == NULL)
        traced = __libc_malloc(TRACED_MAX * sizeof *traced);
    memset(traced, 0, TRACED_MAX * sizeof *traced);
}

static void *counted(void *block)
{
    if (block != NULL)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    if (block != NULL && traced != NULL)
        trace(block);
    return block;
}

void *malloc(size_t size)
{
    if (is_due())
        return NULL;
    return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    if (is_due())
        return NULL;
    return counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (is_due())
        return NULL;
    if (block != NULL && traced != NULL)
        trace_free(block);
    void *moved = __libc_realloc(block, size);
    if (block != NULL && moved != NULL && traced != NULL)
        trace(moved);
    if (block == NULL)
        counted(moved);
    else if (size == 0 && moved == NULL)
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    return moved;
}

void *memalign(size_t alignment, size_t size)
{
    if (is_due())
        return NULL;
    return counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (is_due())
        return NULL;
    return counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (is_due())
        return ENOMEM;
    *block = counted(__libc_memalign(alignment, size));
    return *block == NULL ? ENOMEM : 0;
}

void free(void *block)
{
    if (block != NULL)
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    if (block != NULL && traced != NULL)
        trace_free(block);
    __libc_free(block);
}

void alloc_arm(size_t n, bool persistent)
{
    atomic_store(&failed, 0);
    atomic_store(&forever, persistent);
    atomic_store(&left, n);
}

size_t alloc_disarm(void)
{
    atomic_store(&left, 0);
    return atomic_load(&failed);
}

void alloc_exempt(bool exempt)
{
    exempted = exempt;
}

long alloc_live(void)
{
    return atomic_load(&live);
}

/* addr2line knows static functions, backtrace_symbols() does not. Addresses of
 * the program are relative to where it was loaded. */
static void print_stack(void *const *stack, int count)
{
    char command[1024];
    extern const char __executable_start[];
    int size = snprintf(command, sizeof command,
                        "addr2line -f -i -s -p -e /proc/%d/exe", getpid());
    for (int i = 1; i < count && size < 900; i++)
        size += snprintf(command + size, sizeof command - (size_t)size, " %#lx",
                         (unsigned long)((uintptr_t)stack[i] -
                                         (uintptr_t)__executable_start - 1));
    snprintf(command + size, sizeof command - (size_t)size,
             " | grep ' at .*:[0-9]' >&2");
    fflush(stdout);
    if (system(command) != 0)
        backtrace_symbols_fd(stack, count, STDERR_FILENO);
}

void alloc_where(void)
{
    print_stack(frames, frame_count);
}

void alloc_left(void)
{
    struct traced *all = traced;
    traced = NULL;
    for (size_t i = 0, shown = 0; all != NULL && i < TRACED_MAX; i++)
        if (all[i].block != NULL && shown++ < 8) {
            fprintf(stderr, "left, made by\n");
            print_stack(all[i].stack, all[i].count);
        }
}
