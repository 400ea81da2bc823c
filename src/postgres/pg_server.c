/* The texts, and what the server's notices mean. */
#include "postgres/pg_server.h"

#include <string.h>

/* The message is in the language of the server. A function that warns with the
 * same code has a context. */
bool pg_server_wait_cancelled(const PGresult *notice)
{
    const char *code = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    return code != NULL && strcmp(code, "01000") == 0 &&
           PQresultErrorField(notice, PG_DIAG_CONTEXT) == NULL;
}

const char *const pg_server_session =
    "SELECT current_setting('synchronous_commit'), "
    "current_setting('transaction_read_only'), "
    "set_config('search_path', 'kindex', false), "
    "set_config('statement_timeout', '10s', false), "
    "set_config('idle_in_transaction_session_timeout', '10s', false), "
    "set_config('plan_cache_mode', 'force_generic_plan', false), "
    "set_config('enable_seqscan', 'off', false), "
    "set_config('enable_bitmapscan', 'off', false), "
    "set_config('enable_hashjoin', 'off', false), "
    "set_config('enable_mergejoin', 'off', false), "
    "set_config('enable_sort', 'off', false), "
    "set_config('jit', 'off', false)";

const char *const pg_server_schema_lock =
    "SELECT pg_advisory_xact_lock(4512, 1)";

const char *const pg_server_end_holder =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a JOIN "
    "kindex.lease AS l ON a.pid = l.pid AND a.backend_start = l.pid_since "
    "WHERE l.holder = $1::text OR l.until < clock_timestamp()";

const char *const pg_server_lock_timeout =
    "SELECT set_config('lock_timeout', '1s', true)";

#define HOLD                                                                   \
    "UPDATE kindex.lease SET epoch = epoch + 1, holder = $1::text, node = "    \
    "$2::text, address = $3::text, until = clock_timestamp() + $4::int8 * "    \
    "interval '1 millisecond', pid = pg_backend_pid(), pid_since = (SELECT "   \
    "backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()) WHERE " \
    "one = "

const char *const pg_server_take =
    HOLD "(SELECT one FROM kindex.lease WHERE one = 1 AND until < "
         "clock_timestamp() AND NOT EXISTS (SELECT 1 FROM kindex.lost WHERE "
         "accepted = 0) FOR UPDATE SKIP LOCKED)";
const char *const pg_server_resume = HOLD "1 AND holder = $1::text";

const char *const pg_server_nodes =
    "SELECT m.epoch, m.batch, (CASE WHEN "
    "current_setting('synchronous_standby_names') = '' THEN 0 ELSE 1 "
    "END)::int8, s.node, s.address, s.role, s.version, s.epoch, s.batch, "
    "(extract(epoch FROM clock_timestamp() - s.at) * 1000)::int8 FROM "
    "kindex.meta AS m, kindex.seen AS s ORDER BY s.node, s.address";
