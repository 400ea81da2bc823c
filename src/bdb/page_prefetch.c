/* Each call puts its rows into a list; the calling thread and the others take
 * rows from it one by one. Reads that the page cache of the system answers are
 * CPU-bound: prefetching cost 12 % more CPU in the update benchmark. So a
 * thread asks for prefetching after it has waited for the disk, and as long as
 * the other threads wait in its place. */
#include "bdb/page_prefetch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <talloc.h>

#include "bdb/bdb.h"
#include "bdb/os_hooks.h"

enum {
    THREADS = 15, /* with the caller 16: a cloud disk answers as many reads
                   * in the time of one */
    SLOW_MIN = 4, /* slow reads of a thread before it asks for help */
    ROWS_A_READ =
        8 /* prefetch while at least one in this many rows needs a slow read */
};

/* The number of slow reads of this thread when it last called. */
static _Thread_local uint64_t seen[PREFETCH_USES];

/* The rows of one call, which ends when no row is left and no thread works on
 * it. */
struct page_load {
    struct page_load *next;
    const struct row_write *rows;
    size_t count;
    size_t taken;
    size_t slow; /* slow reads so far */
    unsigned workers;
};

struct page_prefetch {
    struct env *env;
    atomic_bool pays[PREFETCH_USES]; /* the last call had slow reads */
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    pthread_cond_t done;
    struct page_load *loads; /* guarded by `lock`, like all that follows */
    bool stop;
    size_t thread_count;
    pthread_t threads[THREADS];
};

/* ---- Work --------------------------------------------------------------- */

/* Reads a row's pages and returns the number of slow reads. */
static size_t look_up(struct env *env, const struct row_write *row)
{
    uint64_t before = os_hooks_reads().slow;
    DB *db = env->tables[row->table];
    DBT key = bdb_in(row->key);
    DBT nothing = {.flags = DB_DBT_USERMEM | DB_DBT_PARTIAL};
    (void)db->get(db, NULL, &key, &nothing, 0);
    return (size_t)(os_hooks_reads().slow - before);
}

/* The caller holds the lock; it is released while pages are read. */
static void work_for(struct page_prefetch *prefetch, struct page_load *load)
{
    load->workers++;
    while (load->taken < load->count) {
        const struct row_write *row = &load->rows[load->taken++];
        pthread_mutex_unlock(&prefetch->lock);
        size_t slow = look_up(prefetch->env, row);
        pthread_mutex_lock(&prefetch->lock);
        load->slow += slow;
    }
    if (--load->workers == 0)
        pthread_cond_broadcast(&prefetch->done);
}

/* The caller holds the lock. Returns NULL if all rows are taken. */
static struct page_load *find_load(struct page_prefetch *prefetch)
{
    struct page_load *load = prefetch->loads;
    while (load != NULL && load->taken == load->count)
        load = load->next;
    return load;
}

static void *run(void *argument)
{
    struct page_prefetch *prefetch = argument;
    pthread_setname_np(pthread_self(), "prefetch");
    pthread_mutex_lock(&prefetch->lock);
    while (!prefetch->stop) {
        struct page_load *load = find_load(prefetch);
        if (load != NULL)
            work_for(prefetch, load);
        else
            pthread_cond_wait(&prefetch->wanted, &prefetch->lock);
    }
    pthread_mutex_unlock(&prefetch->lock);
    return NULL;
}

/* The caller holds the lock. If no thread can be created, the caller of
 * page_prefetch does all the work. */
static void start_threads(struct page_prefetch *prefetch)
{
    while (prefetch->thread_count < THREADS &&
           pthread_create(&prefetch->threads[prefetch->thread_count], NULL, run,
                          prefetch) == 0)
        prefetch->thread_count++;
}

/* Has the threads read all rows, and returns the number of slow reads. */
static size_t share_out(struct page_prefetch *prefetch,
                        const struct row_write *rows, size_t count)
{
    struct page_load load = {.rows = rows, .count = count};
    struct page_load **at = &prefetch->loads;
    pthread_mutex_lock(&prefetch->lock);
    start_threads(prefetch);
    while (*at != NULL)
        at = &(*at)->next;
    *at = &load;
    pthread_cond_broadcast(&prefetch->wanted);
    work_for(prefetch, &load);
    while (load.workers > 0)
        pthread_cond_wait(&prefetch->done, &prefetch->lock);
    for (at = &prefetch->loads; *at != &load;)
        at = &(*at)->next;
    *at = load.next;
    pthread_mutex_unlock(&prefetch->lock);
    return load.slow;
}

/* ---- Calls -------------------------------------------------------------- */

static int end(struct page_prefetch *prefetch)
{
    pthread_mutex_lock(&prefetch->lock);
    prefetch->stop = true;
    pthread_cond_broadcast(&prefetch->wanted);
    pthread_mutex_unlock(&prefetch->lock);
    for (size_t i = 0; i < prefetch->thread_count; i++)
        pthread_join(prefetch->threads[i], NULL);
    pthread_cond_destroy(&prefetch->done);
    pthread_cond_destroy(&prefetch->wanted);
    pthread_mutex_destroy(&prefetch->lock);
    return 0;
}

struct page_prefetch *page_prefetch_create(struct env *env)
{
    struct page_prefetch *prefetch = talloc_zero(env, struct page_prefetch);
    if (prefetch == NULL)
        return NULL;
    prefetch->env = env;
    pthread_mutex_init(&prefetch->lock, NULL);
    pthread_cond_init(&prefetch->wanted, NULL);
    pthread_cond_init(&prefetch->done, NULL);
    talloc_set_destructor(prefetch, end);
    return prefetch;
}

bool page_prefetch_due(struct page_prefetch *prefetch,
                       enum page_prefetch_use use)
{
    return atomic_load_explicit(&prefetch->pays[use], memory_order_relaxed) ||
           os_hooks_reads().slow - seen[use] >= SLOW_MIN;
}

void page_prefetch(struct page_prefetch *prefetch, enum page_prefetch_use use,
                   const struct row_write *rows, size_t count)
{
    if (count < PAGE_PREFETCH_ROWS_MIN)
        return;
    size_t slow = share_out(prefetch, rows, count);
    seen[use] = os_hooks_reads().slow;
    atomic_store(&prefetch->pays[use], slow * ROWS_A_READ >= count);
}
