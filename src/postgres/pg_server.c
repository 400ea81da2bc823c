/* The texts. */
#include "postgres/pg_server.h"

const char *const pg_server_session =
    "SELECT current_setting('synchronous_commit'), "
    "current_setting('transaction_read_only'), "
    "set_config('search_path', 'kindex', false), "
    "set_config('statement_timeout', '10s', false), "
    "set_config('idle_in_transaction_session_timeout', '60s', false), "
    "set_config('plan_cache_mode', 'force_generic_plan', false), "
    "set_config('enable_seqscan', 'off', false), "
    "set_config('enable_bitmapscan', 'off', false), "
    "set_config('enable_hashjoin', 'off', false), "
    "set_config('enable_mergejoin', 'off', false), "
    "set_config('enable_sort', 'off', false), "
    "set_config('jit', 'off', false)";

#define HOLD                                                                   \
    "UPDATE kindex.meta SET epoch = epoch + 1, holder = $1::text, pid = "      \
    "pg_backend_pid(), pid_since = (SELECT backend_start FROM "                \
    "pg_stat_activity WHERE pid = pg_backend_pid()) WHERE one = 1 AND "
#define HELD " RETURNING epoch, batch"

const char *const pg_server_take =
    HOLD "(pid IS NULL OR NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a "
         "WHERE a.pid = meta.pid AND a.backend_start = meta.pid_since))" HELD;
const char *const pg_server_resume = HOLD "holder = $1::text" HELD;

const char *const pg_server_release =
    "UPDATE kindex.meta SET pid = NULL, pid_since = NULL WHERE holder = "
    "$1::text";
