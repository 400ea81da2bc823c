/* The contents page of the service: every method and path, and the handler that
 * answers. The first row that fits is taken. HEAD and OPTIONS need no rows
 * (router.c, admission.c). */
#include "server/routes.h"

#include <stdio.h>

#include "admin/admin_handlers.h"
#include "commits/commit_handlers.h"
#include "console/console_handlers.h"
#include "counts/count_handlers.h"
#include "entries/entry_handlers.h"
#include "indexes/index_handlers.h"
#include "kvconnect/kvconnect.h"
#include "queues/queue_handlers.h"
#include "http/router.h"
#include "http/service.h"

/* clang-format off */
static const struct route ROWS[] = {
    /* Entries: the path is the key. */
    {METHOD_GET,    "/kv/...", "getEntry",    SCOPE_READ,  BODY_NONE,  kv_get, READS_LEVEL},
    {METHOD_PUT,    "/kv/...", "putEntry",    SCOPE_WRITE, BODY_VALUE, kv_put, COMMITS},
    {METHOD_PATCH,  "/kv/...", "patchEntry",  SCOPE_WRITE, BODY_VALUE, kv_patch, COMMITS},
    {METHOD_DELETE, "/kv/...", "deleteEntry", SCOPE_WRITE, BODY_NONE,  kv_delete, COMMITS},
    {METHOD_POST,   "/kv/...", "createEntry", SCOPE_WRITE, BODY_VALUE, kv_create, COMMITS},

    /* Ranges of entries, and many at once. */
    {METHOD_GET,    "/list",    "listEntries",   SCOPE_LIST,  BODY_NONE,     list_get, READS_LEVEL},
    {METHOD_DELETE, "/list",    "deleteEntries", SCOPE_WRITE, BODY_NONE,     list_delete, COMMITS},
    {METHOD_PATCH,  "/list",    "patchEntries",  SCOPE_WRITE, BODY_VALUE,    list_patch, COMMITS},
    {METHOD_POST,   "/list",    "listRanges",    SCOPE_LIST,  BODY_ENVELOPE, list_post, READS_LEVEL},
    {METHOD_GET,    "/count",   "countEntries",  SCOPE_LIST,  BODY_NONE,     list_count, READS_LEVEL},
    {METHOD_GET,    "/aggregate", "aggregateGroups", SCOPE_LIST, BODY_NONE,   aggregate_get, READS_LEVEL},
    {METHOD_GET,    "/tree",    "listChildren",  SCOPE_LIST,  BODY_NONE,     tree_get, READS_LEVEL},
    {METHOD_POST,   "/get",     "getMany",       SCOPE_KEYS,  BODY_ENVELOPE, get_many, READS_LEVEL},
    {METHOD_POST,   "/explain", "explainList",   SCOPE_LIST,  BODY_ENVELOPE, explain_list, 0},
    {METHOD_GET,    "/watch",   "watchEntries",  SCOPE_WATCH, BODY_NONE,     watch_get, 0},

    /* Checks and mutations that hold together or not at all. */
    {METHOD_POST, "/atomic", "commitAtomic", SCOPE_WRITE, BODY_ENVELOPE, atomic_commit, COMMITS},

    /* Many entries and mutations, in commits one after another. */
    {METHOD_POST, "/bulk", "writeLines", SCOPE_WRITE, BODY_LINES, bulk_write, COMMITS},

    /* Declared indexes. */
    {METHOD_GET,    "/indexes",                  "listIndexes",     SCOPE_READ,  BODY_NONE,     index_list, 0},
    {METHOD_POST,   "/indexes",                  "declareIndex",    SCOPE_INDEX, BODY_ENVELOPE, index_declare, COMMITS},
    {METHOD_PUT,    "/indexes",                  "declareIndexes",  SCOPE_INDEX, BODY_ENVELOPE, index_declare_set, COMMITS},
    {METHOD_POST,   "/indexes/discover",         "discoverIndexes", SCOPE_LIST,  BODY_NONE,     index_discover, 0},
    {METHOD_GET,    "/indexes/{name}",           "getIndex",        SCOPE_READ,  BODY_NONE,     index_show, 0},
    {METHOD_DELETE, "/indexes/{name}",           "dropIndex",       SCOPE_INDEX, BODY_NONE,     index_drop, COMMITS},
    {METHOD_PATCH,  "/indexes/{name}",           "migrateIndex",    SCOPE_INDEX, BODY_ENVELOPE, index_migrate, COMMITS},
    {METHOD_DELETE, "/indexes/{name}/migration", "undoMigration",   SCOPE_INDEX, BODY_NONE,     index_undo_migration, COMMITS},
    {METHOD_POST,   "/indexes/{name}/verify",    "verifyIndex",     SCOPE_INDEX, BODY_NONE,     index_verify, COMMITS},
    {METHOD_GET,    "/indexes/{name}/verify",    "getVerification", SCOPE_LIST,  BODY_NONE,     index_verification, 0},
    {METHOD_POST,   "/indexes/{name}/pause",     "pauseIndex",      SCOPE_INDEX, BODY_NONE,     index_pause, COMMITS},
    {METHOD_POST,   "/indexes/{name}/resume",    "resumeIndex",     SCOPE_INDEX, BODY_NONE,     index_resume, COMMITS},
    {METHOD_POST,   "/indexes/{name}/throttle",  "throttleIndex",   SCOPE_INDEX, BODY_ENVELOPE, index_throttle, COMMITS},
    {METHOD_GET,    "/indexes/{name}/get/...",   "getByIndex",      SCOPE_READ,  BODY_NONE,     index_get, READS_LEVEL},
    {METHOD_PUT,    "/indexes/{name}/get/...",   "putByIndex",      SCOPE_WRITE, BODY_VALUE,    kv_put_by, COMMITS},
    {METHOD_GET,    "/indexes/{name}/conflicts", "listConflicts",   SCOPE_LIST,  BODY_NONE,     index_conflicts, 0},

    /* Rules: what entries under a prefix must be. */
    {METHOD_GET,    "/rules",                   "listRules",      SCOPE_READ,  BODY_NONE,     rule_list, 0},
    {METHOD_GET,    "/rules/{name}",            "getRule",        SCOPE_READ,  BODY_NONE,     rule_show, 0},
    {METHOD_PUT,    "/rules/{name}",            "putRule",        SCOPE_INDEX, BODY_ENVELOPE, rule_put, COMMITS},
    {METHOD_DELETE, "/rules/{name}",            "dropRule",       SCOPE_INDEX, BODY_NONE,     rule_drop, COMMITS},
    {METHOD_GET,    "/rules/{name}/violations", "listViolations", SCOPE_LIST,  BODY_NONE,     rule_violations, 0},
    {METHOD_GET,    "/usage",                   "getUsage",       SCOPE_LIST,  BODY_NONE,     usage_get, 0},

    /* Queues: indexes from which jobs are claimed. */
    {METHOD_GET,  "/queues",                "listQueues",  SCOPE_LIST,  BODY_NONE,     queue_list, 0},
    {METHOD_GET,  "/queues/{name}",         "getQueue",    SCOPE_LIST,  BODY_NONE,     queue_show, 0},
    {METHOD_POST, "/queues/{name}/claim",   "claimJobs",   SCOPE_WRITE, BODY_NONE,     queue_claim, COMMITS | SECRETS},
    {METHOD_POST, "/queues/{name}/ack",     "ackJobs",     SCOPE_WRITE, BODY_ENVELOPE, queue_ack, COMMITS},
    {METHOD_POST, "/queues/{name}/extend",  "extendJobs",  SCOPE_WRITE, BODY_ENVELOPE, queue_extend, COMMITS | SECRETS},
    {METHOD_POST, "/queues/{name}/release", "releaseJobs", SCOPE_WRITE, BODY_ENVELOPE, queue_release, COMMITS},
    {METHOD_POST, "/queues/{name}/fail",    "failJobs",    SCOPE_WRITE, BODY_ENVELOPE, queue_fail, COMMITS},

    /* KV Connect: what Deno and @deno/kv speak. */
    {METHOD_POST, "/",                 "exchangeMetadata", SCOPE_TOKEN, BODY_KEYS,    kvconnect_metadata, 0},
    {METHOD_POST, "/v2/snapshot_read", "snapshotRead",     SCOPE_KEYS,  BODY_KEYS,    kvconnect_read, 0},
    {METHOD_POST, "/v2/atomic_write",  "atomicWrite",      SCOPE_WRITE, BODY_MESSAGE, kvconnect_write, COMMITS},
    {METHOD_POST, "/v2/watch",         "watch",            SCOPE_WATCH, BODY_KEYS,    kvconnect_watch, 0},

    /* Access tokens. */
    {METHOD_GET,    "/tokens",      "listTokens",  SCOPE_TOKENS, BODY_NONE,     token_list, 0},
    {METHOD_POST,   "/tokens",      "createToken", SCOPE_TOKENS, BODY_ENVELOPE, token_create, COMMITS | SECRETS},
    {METHOD_GET,    "/tokens/self", "getOwnToken", SCOPE_OPTIONAL, BODY_NONE,   token_self, 0},
    {METHOD_GET,    "/tokens/{id}", "getToken",    SCOPE_TOKENS, BODY_NONE,     token_show, 0},
    {METHOD_DELETE, "/tokens/{id}", "revokeToken", SCOPE_TOKENS, BODY_NONE,     token_revoke, COMMITS},

    /* The service itself. */
    {METHOD_GET, "/",                "getService", SCOPE_NONE,    BODY_NONE, console_or_service, 0},
    {METHOD_GET, "/livez",           "getLive",    SCOPE_NONE,    BODY_NONE, ops_live, 0},
    {METHOD_GET, "/readyz",          "getReady",   SCOPE_NONE,    BODY_NONE, ready_show, 0},
    {METHOD_GET, "/version",         "getVersion", SCOPE_NONE,    BODY_NONE, ops_version, 0},
    {METHOD_GET, "/backup",          "getBackup",  SCOPE_ADMIN,   BODY_NONE, backup_get, 0},
    {METHOD_POST, "/backup/tickets", "createBackupTicket", SCOPE_ADMIN, BODY_NONE, backup_ticket_create, SECRETS},
    {METHOD_GET, "/backup/tickets/{ticket}", "getBackupByTicket", SCOPE_OPTIONAL, BODY_NONE, backup_by_ticket, 0},
    {METHOD_GET, "/metrics",         "getMetrics", SCOPE_MONITOR, BODY_NONE, ops_metrics, 0},
    {METHOD_GET, "/metrics/history", "getHistory", SCOPE_MONITOR, BODY_NONE, history_show, 0},
    {METHOD_GET, "/slow",            "listSlow",   SCOPE_ADMIN,   BODY_NONE, slow_requests_list, 0},
    {METHOD_GET, "/cluster",         "getCluster", SCOPE_ADMIN,   BODY_NONE, cluster_show, 0},
    {METHOD_POST, "/cluster/step-down", "stepDown", SCOPE_ADMIN, BODY_NONE, cluster_step_down, 0},
    {METHOD_POST, "/promote",        "promote",    SCOPE_ADMIN,   BODY_NONE, promote_begin, OF_STANDBY},
    {METHOD_GET, "/openapi.json",    "getOpenapi", SCOPE_NONE,    BODY_NONE, ops_openapi, 0},
    {METHOD_GET, "/openapi.yaml",    "getOpenapiYaml", SCOPE_NONE, BODY_NONE, ops_openapi_yaml, 0},
    {METHOD_GET, "/problems/{code}", "getProblem", SCOPE_NONE,    BODY_NONE, ops_problem, 0},

    /* The console, for browsers. */
    {METHOD_GET, "/console",                  "getConsole",     SCOPE_NONE, BODY_NONE, console_page, 0},
    {METHOD_GET, "/console/{version}/{file}", "getConsoleFile", SCOPE_NONE, BODY_NONE, console_file, 0},
    {METHOD_GET, "/docs",                     "getDocs",        SCOPE_NONE, BODY_NONE, console_page, 0},
};
/* clang-format on */

const struct route_table ROUTES = {ROWS, sizeof ROWS / sizeof *ROWS};
_Static_assert(sizeof ROWS / sizeof *ROWS <= ROUTES_MAX,
               "struct counters has room for every row");

void routes_print(void)
{
    for (size_t row = 0; row < ROUTES.count; row++)
        printf("%s %s %s\n", method_name(ROWS[row].method), ROWS[row].pattern,
               ROWS[row].operation);
}
