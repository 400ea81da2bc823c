/* A sync is counted as failed before the library hears of it, and so before any
 * other thread can sync the same file. */
#include "bdb/syncs.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include <db.h>

static atomic_uint failed;

/* One that a signal has cut short has lost nothing. */
static int sync_file(int fd)
{
    int error = 0;
    do
        error = fdatasync(fd) == 0 ? 0 : errno;
    while (error == EINTR);
    if (error != 0)
        atomic_fetch_add(&failed, 1);
    return error;
}

void syncs_install(void)
{
    db_env_set_func_fsync(sync_file);
}

unsigned syncs_failed(void)
{
    return atomic_load(&failed);
}
