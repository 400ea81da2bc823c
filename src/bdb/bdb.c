/* Turns errors of Berkeley DB into statuses. Absence, presence and a full disk
 * are common results and are not logged. A panic of the library
 * (DB_RUNRECOVERY) marks the environment as failed for good. */
#include "bdb/bdb.h"

#include <errno.h>

enum kx_status bdb_status(struct env *env, int error, const char *call)
{
    int none = 0;
    switch (error) {
    case 0:
        return KX_OK;
    case DB_NOTFOUND:
    case DB_KEYEMPTY:
        return KX_ABSENT;
    case DB_KEYEXIST:
        return KX_CHECK_FAILED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* the limit on file sizes is reached (RLIMIT_FSIZE) */
        return KX_DISK_FULL;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return KX_NO_MEMORY;
    case DB_RUNRECOVERY:
        atomic_store(&env->failed, true);
        break;
    default:
        break;
    }
    atomic_compare_exchange_strong(&env->error, &none, error);
    kx_log(KX_LOG_ERROR, "storage", "call=%s error=\"%s\"", call,
           db_strerror(error));
    return KX_FAILED;
}
