/* The catalogue of errors: the table of problems, the code for each status of
 * the store, and the documents made of them. `type` of a document is a relative
 * path of this server (RFC 9457 section 3.1.1), so it works under any host
 * name. */
#include "http/problem.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Documents ---------------------------------------------------------- */

enum { DETAIL_MAX = 1024 };

static const char CONTENT_TYPE[] = "application/problem+json";

/* Appends the detail. It may quote bytes that a client sent, which must become
 * valid JSON. */
static void add_detail(struct kx_buffer *body, const char *detail)
{
    char clean[DETAIL_MAX];
    struct kx_slice text = kx_text(detail);
    if (!kx_utf8_valid(text)) {
        size_t size = text.size < sizeof clean ? text.size : sizeof clean;
        for (size_t i = 0; i < size; i++)
            clean[i] = text.data[i] < 0x80 ? (char)text.data[i] : '?';
        text = kx_slice(clean, size);
    }
    kx_add_text(body, ",\"detail\":");
    kx_json_escape(text, body);
}

static void add_member(struct kx_buffer *body, const char *name,
                       const char *constant)
{
    kx_add_text(body, ",\"");
    kx_add_text(body, name);
    kx_add_text(body, "\":");
    kx_json_escape(kx_text(constant), body);
}

void problem_write(struct kx_buffer *body, enum problem_code code,
                   const char *detail)
{
    const struct problem_row *row = problem_row(code);
    char status[40];
    kx_add_text(body, "{\"type\":\"/problems/");
    kx_add_text(body, row->code);
    kx_add_byte(body, '"');
    add_member(body, "title", row->title);
    snprintf(status, sizeof status, ",\"status\":%d", row->status);
    kx_add_text(body, status);
    add_member(body, "code", row->code);
    if (detail != NULL)
        add_detail(body, detail);
    add_member(body, "hint", row->hint);
    kx_add_byte(body, '}');
}

/* Problems of KV Connect are plain text, because its clients show the body to
 * their user as it is. */
static bool is_plain(const struct route *route)
{
    return route != NULL &&
           (route->body == BODY_KEYS || route->body == BODY_MESSAGE);
}

/* Clients of KV Connect repeat a request forever after a 5xx, so for them a
 * full disk is 413. */
static int status_of(const struct problem_row *row, bool plain)
{
    return plain && row->status == 507 ? 413 : row->status;
}

/* Drops what the handler has put into the reply. reply->flush stays, because a
 * problem, too, may tell about entries that are not on disk yet. */
static void start(const struct request *request, struct reply *reply,
                  enum problem_code code, const char *detail)
{
    const struct problem_row *row = problem_row(code);
    bool plain = is_plain(request->route);
    reply->status = status_of(row, plain);
    reply->content_type = plain ? "text/plain" : CONTENT_TYPE;
    reply->constant.size = 0;
    reply->body.size = 0;
    reply->header_count = 0;
    reply->stream = NULL;
    if (row->retry_after != NULL)
        reply_header(reply, "Retry-After", row->retry_after);
    if (plain)
        kx_add_text(&reply->body, detail);
    else
        problem_write(&reply->body, code, detail);
}

void problem(struct request *request, struct reply *reply,
             enum problem_code code, const char *detail_format, ...)
{
    char detail[DETAIL_MAX];
    va_list arguments;
    va_start(arguments, detail_format);
    vsnprintf(detail, sizeof detail, detail_format, arguments);
    va_end(arguments);
    start(request, reply, code, detail);
}

/* Details of internal failures go to the log only: they may name files, and a
 * client cannot act on them. */
void problem_status(struct request *request, struct reply *reply,
                    const struct kx_fault *fault)
{
    enum problem_code code = problem_of(fault->status);
    const char *title = kx_status_title(fault->status);
    if (code == PROBLEM_INTERNAL || fault->status == KX_NO_MEMORY) {
        kx_log(KX_LOG_ERROR, "request-failed", "operation=%s status=%s %s",
               request->route != NULL ? request->route->operation : "none",
               kx_status_name(fault->status), fault->detail);
        start(request, reply, code, title);
        return;
    }
    start(request, reply, code,
          fault->detail[0] != '\0' ? fault->detail : title);
    if (fault->pointer[0] != '\0')
        problem_member_text(reply, "pointer", kx_text(fault->pointer));
    if (fault->suggestion[0] != '\0')
        problem_member_text(reply, "didYouMean", kx_text(fault->suggestion));
    if (code == PROBLEM_BAD_JSON)
        problem_member_number(reply, "offset", fault->offset);
}

/* Opens the finished document for one more member. False for a plain text,
 * which has no members. */
static bool begin_member(struct reply *reply, const char *name)
{
    struct kx_buffer *body = &reply->body;
    if (reply->content_type != CONTENT_TYPE)
        return false;
    if (body->size > 0)
        body->size--;
    kx_add_text(body, ",\"");
    kx_add_text(body, name);
    kx_add_text(body, "\":");
    return true;
}

void problem_member_text(struct reply *reply, const char *name,
                         struct kx_slice text)
{
    if (!begin_member(reply, name))
        return;
    kx_json_escape(text, &reply->body);
    kx_add_byte(&reply->body, '}');
}

void problem_member_json(struct reply *reply, const char *name,
                         struct kx_slice json)
{
    if (!begin_member(reply, name))
        return;
    kx_add_slice(&reply->body, json);
    kx_add_byte(&reply->body, '}');
}

void problem_member_number(struct reply *reply, const char *name,
                           uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    problem_member_json(reply, name, kx_text(text));
}

/* A hint says what to do next. Retry-After is set if the same request can
 * succeed later without a change. */
static const struct problem_row ROWS[PROBLEM_COUNT] = {
    [PROBLEM_BAD_REQUEST] =
        {"bad-request", 400, "The request is not valid",
         "The detail says what is wrong; /openapi.json describes every "
         "request.",
         NULL},
    [PROBLEM_BAD_JSON] =
        {"bad-json", 400, "The text is not valid JSON",
         "Send one RFC 8259 JSON text in UTF-8, without duplicate member "
         "names.",
         NULL},
    [PROBLEM_JSON_TOO_DEEP] =
        {"json-too-deep", 400, "The JSON text is nested too deeply",
         "Nest at most 64 arrays and objects inside each other.", NULL},
    [PROBLEM_BAD_KEY] =
        {"bad-key", 400, "The key is not valid",
         "In a path write one segment per part: text is a string, =42 a "
         "number, =42n a bigint, =true a boolean, =b64:AQID bytes; in ?key= "
         "and in a body a key is a JSON array of its parts.",
         NULL},
    [PROBLEM_KEY_NUMBER_INEXACT] =
        {"key-number-inexact", 400,
         "The number in the key cannot be held exactly",
         "Use a bigint part (=9007199254740993n) or a string.", NULL},
    [PROBLEM_KEY_TOO_LONG] = {"key-too-long", 400, "The key is too long",
                              "An encoded key has at most 2048 bytes.", NULL},
    [PROBLEM_BAD_PARAMETER] =
        {"bad-parameter", 400,
         "A query parameter has a value that is not "
         "valid",
         "The detail names the parameter and the values that it takes.", NULL},
    [PROBLEM_UNKNOWN_PARAMETER] = {"unknown-parameter", 400,
                                   "The request has an unknown query parameter",
                                   "Check its spelling; the member `allowed`, "
                                   "if present, lists the parameters.",
                                   NULL},
    [PROBLEM_UNKNOWN_MEMBER] =
        {"unknown-member", 400, "The JSON document has an unknown member",
         "Check its spelling; the member `allowed` lists the members.", NULL},
    [PROBLEM_BAD_VALUE] =
        {"bad-value", 400, "The value is not valid here",
         "Typed values: {\"type\":\"KvU64\",\"value\":\"1\"}, "
         "{\"type\":\"Uint8Array\",\"value\":\"<base64url>\"}; plain JSON goes "
         "into `value` unchanged.",
         NULL},
    [PROBLEM_CURSOR_INVALID] =
        {"cursor-invalid", 400, "The cursor is not valid",
         "Send the cursor of the previous page unchanged, percent-encoded.",
         NULL},
    [PROBLEM_CURSOR_MISMATCH] =
        {"cursor-mismatch", 400, "The cursor belongs to another list",
         "Repeat the selection of the first page together with the cursor.",
         NULL},
    [PROBLEM_BAD_INDEX_DEFINITION] =
        {"bad-index-definition", 400, "The index declaration is not valid",
         "Smallest example: {\"name\":\"users_by_email\",\"prefix\":"
         "[\"users\"],\"fields\":[\"/email\"]}",
         NULL},
    [PROBLEM_BAD_RULE_DEFINITION] =
        {"bad-rule-definition", 400, "The declaration of the rule is not valid",
         "Smallest example: {\"prefix\":[\"stock\"],\"bounds\":{\"min\":0}}",
         NULL},
    [PROBLEM_TLS_REQUIRED] = {"tls-required", 400, "The server requires HTTPS",
                              "Use an address that begins with https://.",
                              NULL},
    [PROBLEM_UNAUTHORIZED] = {"unauthorized", 401,
                              "An access token is required",
                              "Send Authorization: Bearer with a token of this "
                              "server; kindex token create creates one.",
                              NULL},
    [PROBLEM_FORBIDDEN] =
        {"forbidden", 403, "The access token does not allow this",
         "Use a token with this scope for a prefix that covers the keys. Keys "
         "of an index and reads through it need the scope for the prefix that "
         "the index is declared for.",
         NULL},
    [PROBLEM_ORIGIN_NOT_ALLOWED] =
        {"origin-not-allowed", 403,
         "A page of another site may not send this request",
         "Send the request from a page of this server, or from a program "
         "without an Origin header; or start the server with --cors-origin.",
         NULL},
    [PROBLEM_NOT_FOUND] = {"not-found", 404, "There is nothing at this address",
                           "GET / lists the parts of the service.", NULL},
    [PROBLEM_KEY_NOT_FOUND] = {"key-not-found", 404,
                               "There is no entry with this key",
                               "Check the types of the parts: in a path, 42 is "
                               "a string and =42 is a number.",
                               NULL},
    [PROBLEM_INDEX_NOT_FOUND] = {"index-not-found", 404,
                                 "There is no index with this name",
                                 "GET /indexes lists the declared indexes.",
                                 NULL},
    [PROBLEM_QUEUE_NOT_FOUND] =
        {"queue-not-found", 404, "There is no such queue",
         "GET /queues lists the queues. A queue is an index that is declared "
         "with the member queue.",
         NULL},
    [PROBLEM_RULE_NOT_FOUND] = {"rule-not-found", 404,
                                "There is no rule with this name",
                                "GET /rules lists the rules.", NULL},
    [PROBLEM_NO_MIGRATION] = {"no-migration", 404, "The index is not migrating",
                              "PATCH /indexes/{name} starts a migration; an "
                              "earlier one may have ended.",
                              NULL},
    [PROBLEM_NO_VERIFICATION] =
        {"no-verification", 404, "The index has not been verified",
         "POST /indexes/{name}/verify starts a verification.", NULL},
    [PROBLEM_TOKEN_NOT_FOUND] = {"token-not-found", 404,
                                 "There is no access token with this id",
                                 "GET /tokens lists the tokens and their ids.",
                                 NULL},
    [PROBLEM_METHOD_NOT_ALLOWED] = {"method-not-allowed", 405,
                                    "The method is not supported here",
                                    "The header Allow lists the methods.",
                                    NULL},
    [PROBLEM_NOT_ACCEPTABLE] = {"not-acceptable", 406,
                                "No acceptable media type is available",
                                "Leave out the header Accept, or name one of "
                                "the media types in `supported`.",
                                NULL},
    [PROBLEM_REQUEST_TIMEOUT] =
        {"request-timeout", 408, "The request took too long to arrive",
         "Send it again without pauses; it had no effect.", NULL},
    [PROBLEM_CHECK_FAILED] =
        {"check-failed", 409, "A check failed",
         "Read the entries again and repeat the operation with their new "
         "versionstamps.",
         NULL},
    [PROBLEM_UNIQUE_VIOLATION] =
        {"unique-violation", 409, "The value is already used in a unique index",
         "Use another value, or change the entry at `existingKey` first.",
         NULL},
    [PROBLEM_INDEX_NOT_READY] =
        {"index-not-ready", 409, "The index is not ready yet",
         "GET /indexes/{name} shows its progress; try again when its state is "
         "ready. GET /indexes/{name}/conflicts lists the entries that keep it "
         "conflicted. A failed index stays failed: correct the entry that its "
         "error names, then declare the index again.",
         NULL},
    [PROBLEM_INDEX_EXISTS] = {"index-exists", 409,
                              "An index with this name is declared differently",
                              "PATCH /indexes/{name} changes it while it is in "
                              "use, PUT /indexes several.",
                              NULL},
    [PROBLEM_INDEX_NAME_USED] =
        {"index-name-used", 409, "There are entries under the index's name",
         "If an application maintains them as an index, declare it with "
         "\"adopt\": true to take them over (?dry=1 shows what that would "
         "change). Otherwise use another name, or delete them first.",
         NULL},
    [PROBLEM_INDEX_NOT_UNIQUE] =
        {"index-not-unique", 409, "The index is not unique",
         "Use GET /list?index={name}&prefix=... for the entries with this "
         "value.",
         NULL},
    [PROBLEM_INDEX_MIGRATING] = {"index-migrating", 409,
                                 "The index is already migrating",
                                 "Wait until its state is ready, or undo the "
                                 "migration: DELETE /indexes/{name}/migration.",
                                 NULL},
    [PROBLEM_INDEX_OWNED_KEY] =
        {"index-owned-key", 409, "The key belongs to an index",
         "Write the primary entry only; the index follows automatically.",
         NULL},
    [PROBLEM_RECEIPT_STALE] =
        {"receipt-stale", 409, "The receipt is no longer valid",
         "Nothing was changed. The job was, or will be, claimed again; extend "
         "the lease in time if the work takes longer.",
         NULL},
    [PROBLEM_TOO_MANY_RULES] = {"too-many-rules", 409,
                                "There are too many rules",
                                "Drop a rule, or declare one with a schema for "
                                "several kinds of entries.",
                                NULL},
    [PROBLEM_TOO_MANY_INDEXES] = {"too-many-indexes", 409,
                                  "There are too many indexes",
                                  "Drop an index that is not used.", NULL},
    [PROBLEM_TOKEN_FIXED] = {"token-fixed", 409,
                             "The access token cannot be revoked",
                             "It is the token of --token-file: change the file "
                             "and restart the server.",
                             NULL},
    [PROBLEM_TOO_MANY_TOKENS] = {"too-many-tokens", 409,
                                 "There are too many access tokens",
                                 "Revoke tokens that are no longer used.",
                                 NULL},
    [PROBLEM_NO_ADMIN] =
        {"no-admin", 409, "No token would be left that may create others",
         "While there are tokens, at least one must have every scope for all "
         "keys; kindex token create NAME all creates one.",
         NULL},
    [PROBLEM_TYPE_MISMATCH] =
        {"type-mismatch", 409, "The stored value has another type",
         "sum, min and max take a KvU64 on a KvU64 and a number on a number; "
         "patch takes JSON.",
         NULL},
    [PROBLEM_NUMBER_OUT_OF_RANGE] = {"number-out-of-range", 409,
                                     "The number is out of range",
                                     "The result must be a finite number.",
                                     NULL},
    [PROBLEM_PATH_NOT_FOUND] =
        {"path-not-found", 409, "The value has nothing at this path",
         "`pointer` leads to the operation; the operation set makes parents "
         "that are missing.",
         NULL},
    [PROBLEM_TEST_FAILED] =
        {"test-failed", 409, "A test of the patch failed",
         "Read the entry again and repeat the operation with its new value; "
         "nothing was changed.",
         NULL},
    [PROBLEM_OUT_OF_BOUNDS] =
        {"out-of-bounds", 409, "The sum is out of its bounds",
         "`present` is the value that the entry has, null without an entry; "
         "\"out\": \"clamp\" stores the bound, \"skip\" leaves the entry as "
         "it is.",
         NULL},
    [PROBLEM_REFERENCED] =
        {"referenced", 409, "Other entries refer to the entry",
         "Delete the entries that refer to it first, or change their "
         "references; GET /rules/{name} shows the rule.",
         NULL},
    [PROBLEM_NO_CLUSTER] = {"no-cluster", 409,
                            "The server is not one of several nodes",
                            "Only servers that are started with --engine are "
                            "nodes of a database, and only those with --follow "
                            "are standbys of an archive.",
                            NULL},
    [PROBLEM_HISTORY_GONE] =
        {"history-gone", 410,
         "Some changes since that versionstamp are no longer known",
         "Begin with an empty copy: watch the index without since and "
         "Last-Event-ID, or list the entries at `listedAt`.",
         NULL},
    [PROBLEM_PRECONDITION_FAILED] =
        {"precondition-failed", 412,
         "The entry is not in the state that the request requires",
         "Read the entry again and decide from its new state. If-Match takes "
         "its ETag, with the quotes; If-None-Match: * only creates.",
         NULL},
    [PROBLEM_PAYLOAD_TOO_LARGE] =
        {"payload-too-large", 413, "The body of the request is too large",
         "Split the request; send no body with an operation that takes none.",
         NULL},
    [PROBLEM_VALUE_TOO_LARGE] =
        {"value-too-large", 413, "The value is too large",
         "Split the value over several entries, or start the server with a "
         "larger --value-max.",
         NULL},
    [PROBLEM_COMMIT_TOO_LARGE] = {"commit-too-large", 413,
                                  "The commit is too large",
                                  "Split it into several commits; give a "
                                  "range a smaller limit.",
                                  NULL},
    [PROBLEM_URI_TOO_LONG] = {"uri-too-long", 414, "The address is too long",
                              "POST /get takes keys of any length in its body.",
                              NULL},
    [PROBLEM_UNSUPPORTED_MEDIA_TYPE] =
        {"unsupported-media-type", 415,
         "The body has a media type that is not supported here",
         "The detail names the header; `supported`, if present, lists its "
         "accepted values.",
         NULL},
    [PROBLEM_HOST_NOT_ALLOWED] = {"host-not-allowed", 421,
                                  "The host name is not one of this server's",
                                  "Use localhost or an IP address, or start "
                                  "the server with --host-names.",
                                  NULL},
    [PROBLEM_NOT_INDEXABLE] =
        {"not-indexable", 422, "The entry cannot be indexed as declared",
         "Change the value at `pointer` to one that the index accepts; GET "
         "/indexes/{name} shows its declaration.",
         NULL},
    [PROBLEM_RULE_VIOLATED] =
        {"rule-violated", 422, "The entry violates a rule",
         "Change the value at `pointer` to what `expected` says; GET "
         "/rules/{name} shows the rule.",
         NULL},
    [PROBLEM_IDEMPOTENCY_KEY_REUSED] =
        {"idempotency-key-reused", 422,
         "Another request came under the same Idempotency-Key",
         "Send a new key with each new request, and the same key only when the "
         "same request is repeated: method, address, conditions and body.",
         NULL},
    [PROBLEM_IDEMPOTENCY_QUOTA] =
        {"idempotency-quota", 429,
         "The results that are kept for this access token take too much space",
         "Send the request without an Idempotency-Key, or later: results are "
         "kept for --idempotency-ttl. --idempotency-quota sets the limit.",
         "60"},
    [PROBLEM_RATE_LIMITED] =
        {"rate-limited", 429, "The access token has sent too many requests",
         "Wait as long as Retry-After says, or start the server with a higher "
         "--token-rate.",
         "60"},
    [PROBLEM_TOO_MANY_STREAMS] =
        {"too-many-streams", 429, "The access token has too many open streams",
         "Close watches and other streams that are not needed, or start the "
         "server with a higher --token-streams.",
         "5"},
    [PROBLEM_HEADERS_TOO_LARGE] = {"headers-too-large", 431,
                                   "The headers of the request are too large",
                                   "Send fewer or shorter headers.", NULL},
    [PROBLEM_INTERNAL] = {"internal", 500, "The server failed",
                          "The server's log has the details.", NULL},
    [PROBLEM_TRANSFER_ENCODING_UNSUPPORTED] =
        {"transfer-encoding-unsupported", 501,
         "The transfer encoding is not supported",
         "Use chunked, or a Content-Length.", NULL},
    [PROBLEM_NO_BACKUP] = {"no-backup", 501,
                           "The server does not make backups of its database",
                           "Back up the database with its own tools.", NULL},
    [PROBLEM_OVERLOADED] = {"overloaded", 503, "Too much work is waiting",
                            "Nothing was changed; try again a little later.",
                            "1"},
    [PROBLEM_STOPPING] =
        {"stopping", 503, "The server is stopping",
         "Nothing was changed; try again when the server has restarted.", "2"},
    [PROBLEM_DATABASE_UNREACHABLE] =
        {"database-unreachable", 503, "The database cannot be reached",
         "Nothing was changed; try again a little later.", "1"},
    [PROBLEM_NO_ACTIVE_NODE] =
        {"no-active-node", 503, "This node cannot process the request now",
         "Nothing was changed; try again a little later, or ask the active "
         "node, whose address is in `node` where it is known.",
         "1"},
    [PROBLEM_NOT_CAUGHT_UP] =
        {"not-caught-up", 503, "The database does not show that position yet",
         "Try again a little later, or without the parameter consistency. A "
         "position that no answer had, or that the database has lost, may "
         "never be reached.",
         "1"},
    [PROBLEM_COMMIT_UNKNOWN] = {"commit-unknown", 503,
                                "It is unknown whether the commit was stored",
                                "Read the entries before you try again; a "
                                "request with an Idempotency-Key may be "
                                "repeated as it is.",
                                "2"},
    [PROBLEM_HTTP_VERSION_UNSUPPORTED] = {"http-version-unsupported", 505,
                                          "The HTTP version is not supported",
                                          "Use HTTP/1.1.", NULL},
    [PROBLEM_DISK_FULL] =
        {"disk-full", 507, "The disk is full",
         "Free space on the disk of the data directory until more than "
         "--disk-floor is free. Reads still work; deletes work while at least "
         "half of --disk-floor is free.",
         "30"},
};

const struct problem_row *problem_row(enum problem_code code)
{
    return &ROWS[code];
}

bool problem_find(struct kx_slice text, enum problem_code *code_out)
{
    for (int code = 0; code < PROBLEM_COUNT; code++)
        if (kx_equal(text, kx_text(ROWS[code].code))) {
            *code_out = (enum problem_code)code;
            return true;
        }
    return false;
}

void problem_print_all(void)
{
    for (int code = 0; code < PROBLEM_COUNT; code++)
        printf("%d %s\n", ROWS[code].status, ROWS[code].code);
}

/* Statuses that map to PROBLEM_INTERNAL never reach a client unless the server
 * has an error. */
static const enum problem_code OF_STATUS[] = {
    [KX_ABSENT] = PROBLEM_KEY_NOT_FOUND,
    [KX_CHECK_FAILED] = PROBLEM_CHECK_FAILED,
    [KX_UNIQUE_VIOLATION] = PROBLEM_UNIQUE_VIOLATION,
    [KX_TYPE_MISMATCH] = PROBLEM_TYPE_MISMATCH,
    [KX_NUMBER_RANGE] = PROBLEM_NUMBER_OUT_OF_RANGE,
    [KX_PATH_ABSENT] = PROBLEM_PATH_NOT_FOUND,
    [KX_TEST_FAILED] = PROBLEM_TEST_FAILED,
    [KX_OUT_OF_BOUNDS] = PROBLEM_OUT_OF_BOUNDS,
    [KX_IDEMPOTENCY_DIFFERS] = PROBLEM_IDEMPOTENCY_KEY_REUSED,
    [KX_IDEMPOTENCY_QUOTA] = PROBLEM_IDEMPOTENCY_QUOTA,
    [KX_BAD_KEY] = PROBLEM_BAD_KEY,
    [KX_KEY_TOO_LONG] = PROBLEM_KEY_TOO_LONG,
    [KX_BAD_JSON] = PROBLEM_BAD_JSON,
    [KX_BAD_VALUE] = PROBLEM_BAD_VALUE,
    [KX_JSON_TOO_DEEP] = PROBLEM_JSON_TOO_DEEP,
    [KX_VALUE_TOO_LARGE] = PROBLEM_VALUE_TOO_LARGE,
    [KX_COMMIT_TOO_LARGE] = PROBLEM_COMMIT_TOO_LARGE,
    [KX_BAD_INDEX] = PROBLEM_BAD_INDEX_DEFINITION,
    [KX_INDEX_ABSENT] = PROBLEM_INDEX_NOT_FOUND,
    [KX_INDEX_EXISTS] = PROBLEM_INDEX_EXISTS,
    [KX_INDEX_NAME_USED] = PROBLEM_INDEX_NAME_USED,
    [KX_INDEX_NOT_READY] = PROBLEM_INDEX_NOT_READY,
    [KX_INDEX_NOT_UNIQUE] = PROBLEM_INDEX_NOT_UNIQUE,
    [KX_QUEUE_ABSENT] = PROBLEM_QUEUE_NOT_FOUND,
    [KX_RECEIPT_STALE] = PROBLEM_RECEIPT_STALE,
    [KX_INDEX_BUSY] = PROBLEM_INDEX_MIGRATING,
    [KX_NO_MIGRATION] = PROBLEM_NO_MIGRATION,
    [KX_INDEX_OWNED_KEY] = PROBLEM_INDEX_OWNED_KEY,
    [KX_NOT_INDEXABLE] = PROBLEM_NOT_INDEXABLE,
    [KX_TOO_MANY_INDEXES] = PROBLEM_TOO_MANY_INDEXES,
    [KX_BAD_RULE] = PROBLEM_BAD_RULE_DEFINITION,
    [KX_RULE_ABSENT] = PROBLEM_RULE_NOT_FOUND,
    [KX_TOO_MANY_RULES] = PROBLEM_TOO_MANY_RULES,
    [KX_RULE_VIOLATED] = PROBLEM_RULE_VIOLATED,
    [KX_REFERENCED] = PROBLEM_REFERENCED,
    [KX_TOKEN_ABSENT] = PROBLEM_TOKEN_NOT_FOUND,
    [KX_TOKEN_FIXED] = PROBLEM_TOKEN_FIXED,
    [KX_TOO_MANY_TOKENS] = PROBLEM_TOO_MANY_TOKENS,
    [KX_NO_ADMIN] = PROBLEM_NO_ADMIN,
    [KX_BUSY] = PROBLEM_OVERLOADED,
    [KX_NO_MEMORY] = PROBLEM_OVERLOADED,
    [KX_STOPPING] = PROBLEM_STOPPING,
    [KX_UNKNOWN] = PROBLEM_COMMIT_UNKNOWN,
    [KX_UNREACHABLE] = PROBLEM_DATABASE_UNREACHABLE,
    [KX_DISK_FULL] = PROBLEM_DISK_FULL,
    [KX_OK] = PROBLEM_INTERNAL,
    [KX_END] = PROBLEM_INTERNAL,
    [KX_AGAIN] = PROBLEM_INTERNAL,
    [KX_IN_USE] = PROBLEM_INTERNAL,
    [KX_BAD_DIRECTORY] = PROBLEM_INTERNAL,
    [KX_DAMAGED] = PROBLEM_INTERNAL,
    [KX_BAD_ARCHIVE] = PROBLEM_INTERNAL,
    [KX_FAILED] = PROBLEM_INTERNAL,
};
_Static_assert(sizeof OF_STATUS / sizeof *OF_STATUS == KX_FAILED + 1,
               "the last status has a line; make shape looks for the others");

enum problem_code problem_of(enum kx_status status)
{
    return OF_STATUS[status];
}
