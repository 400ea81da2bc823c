/* The library calls its wait hook after every few pages, while it holds none of
 * them. The hook writes pages through descriptors of its own: if it used the
 * library's, it would consume the error that the library's sync must see. */
#include "bdb/checkpoint_throttle.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include <db.h>

#include "bdb/table.h"

enum {
    PAGES = 64,  /* written before each wait */
    MARK_US = 1, /* the wait by which the hook recognizes a checkpoint */
    PAUSE_MAX_NS = KX_SECOND_NS /* per checkpoint: the log grows meanwhile */
};

struct checkpoint_throttle {
    int files[TABLE_COUNT]; /* -1: not open */
    uint64_t pause_left_ns; /* of PAUSE_MAX_NS */
};

/* The throttle of the checkpoint that this thread is writing. */
static _Thread_local struct checkpoint_throttle *current;

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / KX_SECOND_NS),
                            .tv_nsec = (long)(ns % KX_SECOND_NS)};
    nanosleep(&time, NULL);
}

/* Writes pages out. Ignores errors: the library's own sync reports them. */
static void write_out(const struct checkpoint_throttle *throttle)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (throttle->files[i] >= 0)
            (void)sync_file_range(throttle->files[i], 0, 0,
                                  SYNC_FILE_RANGE_WAIT_BEFORE |
                                      SYNC_FILE_RANGE_WRITE |
                                      SYNC_FILE_RANGE_WAIT_AFTER);
}

uint64_t checkpoint_throttle_pause(uint64_t began_ns, uint64_t most_ns)
{
    uint64_t used_ns = kx_monotonic_ns() - began_ns;
    uint64_t pause_ns = used_ns < most_ns ? used_ns : most_ns;
    if (pause_ns > 0)
        sleep_ns(pause_ns);
    return pause_ns;
}

static void write_and_pause(struct checkpoint_throttle *throttle)
{
    uint64_t began_ns = kx_monotonic_ns();
    write_out(throttle);
    throttle->pause_left_ns -=
        checkpoint_throttle_pause(began_ns, throttle->pause_left_ns);
}

/* The hook for every wait of the library. A wait of no time yields the
 * processor. */
static int wait_for_library(u_long seconds, u_long microseconds)
{
    if (seconds == 0 && microseconds == MARK_US) {
        if (current != NULL)
            write_and_pause(current);
        return 0;
    }
    if (seconds == 0 && microseconds == 0)
        return sched_yield();
    sleep_ns(seconds * KX_SECOND_NS + microseconds * UINT64_C(1000));
    return 0;
}

void checkpoint_throttle_install(void)
{
    db_env_set_func_yield(wait_for_library);
}

int checkpoint_throttle_configure(DB_ENV *db)
{
    return db->set_mp_max_write(db, PAGES, MARK_US);
}

static int close_files(struct checkpoint_throttle *throttle)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (throttle->files[i] >= 0)
            close(throttle->files[i]);
    return 0;
}

static int open_file(const char *directory, enum table table)
{
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof path, "%s/%s", directory, table_file(table));
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct checkpoint_throttle *checkpoint_throttle_create(void *mem,
                                                       const char *directory)
{
    struct checkpoint_throttle *throttle =
        talloc_zero(mem, struct checkpoint_throttle);
    if (throttle == NULL)
        return NULL;
    for (int i = 0; i < TABLE_COUNT; i++)
        throttle->files[i] = open_file(directory, i);
    talloc_set_destructor(throttle, close_files);
    return throttle;
}

void checkpoint_throttle_begin(struct checkpoint_throttle *throttle,
                               bool pauses)
{
    throttle->pause_left_ns = pauses ? PAUSE_MAX_NS : 0;
    current = throttle;
}

void checkpoint_throttle_end(void)
{
    current = NULL;
}
