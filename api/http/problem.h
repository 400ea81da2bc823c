/* The catalogue of errors: the HTTP status, title and hint of each stable code,
 * and the application/problem+json document (RFC 9457) that a client gets.
 * Every error reply is made here: errors of parsers by input_error.h, refusals
 * of the store by refusal.h. Codes never change, because programs depend on
 * them. */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H

#include "http/request.h"

/* In the order of their HTTP statuses; problem.c has the rows. */
enum problem_code {
    PROBLEM_BAD_REQUEST,
    PROBLEM_BAD_JSON,
    PROBLEM_JSON_TOO_DEEP,
    PROBLEM_BAD_KEY,
    PROBLEM_KEY_NUMBER_INEXACT,
    PROBLEM_KEY_TOO_LONG,
    PROBLEM_BAD_PARAMETER,
    PROBLEM_UNKNOWN_PARAMETER,
    PROBLEM_UNKNOWN_MEMBER,
    PROBLEM_BAD_VALUE,
    PROBLEM_CURSOR_INVALID,
    PROBLEM_CURSOR_MISMATCH,
    PROBLEM_BAD_INDEX_DEFINITION,
    PROBLEM_BAD_RULE_DEFINITION,
    PROBLEM_TLS_REQUIRED,
    PROBLEM_UNAUTHORIZED,
    PROBLEM_FORBIDDEN,
    PROBLEM_ORIGIN_NOT_ALLOWED,
    PROBLEM_NOT_FOUND,
    PROBLEM_KEY_NOT_FOUND,
    PROBLEM_INDEX_NOT_FOUND,
    PROBLEM_QUEUE_NOT_FOUND,
    PROBLEM_RULE_NOT_FOUND,
    PROBLEM_NO_MIGRATION,
    PROBLEM_NO_VERIFICATION,
    PROBLEM_TOKEN_NOT_FOUND,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_NOT_ACCEPTABLE,
    PROBLEM_REQUEST_TIMEOUT,
    PROBLEM_CHECK_FAILED,
    PROBLEM_UNIQUE_VIOLATION,
    PROBLEM_INDEX_NOT_READY,
    PROBLEM_INDEX_EXISTS,
    PROBLEM_INDEX_NAME_USED,
    PROBLEM_INDEX_NOT_UNIQUE,
    PROBLEM_INDEX_MIGRATING,
    PROBLEM_INDEX_OWNED_KEY,
    PROBLEM_RECEIPT_STALE,
    PROBLEM_TOO_MANY_INDEXES,
    PROBLEM_TOO_MANY_RULES,
    PROBLEM_TOKEN_FIXED,
    PROBLEM_TOO_MANY_TOKENS,
    PROBLEM_NO_ADMIN,
    PROBLEM_TYPE_MISMATCH,
    PROBLEM_NUMBER_OUT_OF_RANGE,
    PROBLEM_PATH_NOT_FOUND,
    PROBLEM_TEST_FAILED,
    PROBLEM_OUT_OF_BOUNDS,
    PROBLEM_REFERENCED,
    PROBLEM_NO_CLUSTER,
    PROBLEM_HISTORY_GONE,
    PROBLEM_PRECONDITION_FAILED,
    PROBLEM_PAYLOAD_TOO_LARGE,
    PROBLEM_VALUE_TOO_LARGE,
    PROBLEM_COMMIT_TOO_LARGE,
    PROBLEM_URI_TOO_LONG,
    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    PROBLEM_HOST_NOT_ALLOWED,
    PROBLEM_NOT_INDEXABLE,
    PROBLEM_RULE_VIOLATED,
    PROBLEM_IDEMPOTENCY_KEY_REUSED,
    PROBLEM_IDEMPOTENCY_QUOTA,
    PROBLEM_RATE_LIMITED,
    PROBLEM_TOO_MANY_STREAMS,
    PROBLEM_HEADERS_TOO_LARGE,
    PROBLEM_INTERNAL,
    PROBLEM_TRANSFER_ENCODING_UNSUPPORTED,
    PROBLEM_NO_BACKUP,
    PROBLEM_OVERLOADED,
    PROBLEM_STOPPING,
    PROBLEM_DATABASE_UNREACHABLE,
    PROBLEM_NO_ACTIVE_NODE,
    PROBLEM_NOT_CAUGHT_UP,
    PROBLEM_COMMIT_UNKNOWN,
    PROBLEM_HTTP_VERSION_UNSUPPORTED,
    PROBLEM_DISK_FULL,
    PROBLEM_COUNT /* of codes; not a code */
};

/* One row of the catalogue. The strings are constants. */
struct problem_row {
    const char *code; /* "key-not-found" */
    int status;       /* HTTP status */
    const char *title;
    const char *hint;        /* what to do about it */
    const char *retry_after; /* seconds, or NULL: no Retry-After header */
};

/* Returns the row of a code; never NULL. */
const struct problem_row *problem_row(enum problem_code code);

/* Finds a code by its text ("key-not-found"). Returns false if no problem has
 * it.
 */
bool problem_find(struct kx_slice text, enum problem_code *code_out);

/* Returns the code for a status of the store. */
enum problem_code problem_of(enum kx_status status);

/* Appends the whole document to body, without a reply: for streams and refused
 * connections. Bytes of the detail that are not UTF-8 become '?'. If detail is
 * NULL the document describes the code in general. */
void problem_write(struct kx_buffer *body, enum problem_code code,
                   const char *detail);

/* Makes the reply this problem: status, body, Retry-After. Discards the reply's
 * previous body, headers and stream; keeps reply->flush. The detail says in one
 * sentence what was wrong, with the values concerned. */
void problem(struct request *request, struct reply *reply,
             enum problem_code code, const char *detail_format, ...)
    __attribute__((format(printf, 4, 5)));

/* Makes the reply the problem of a fault of the store, with its pointer and
 * offset as members if they are set. Details of internal failures go to the log
 * only. */
void problem_status(struct request *request, struct reply *reply,
                    const struct kx_fault *fault);

/* After problem() or problem_status(): appends a member to the document (RFC
 * 9457 section 3.2). name needs no escaping; text is UTF-8 and is escaped; json
 * is copied as it is. No argument need outlive the call. */
void problem_member_text(struct reply *reply, const char *name,
                         struct kx_slice text);
void problem_member_json(struct reply *reply, const char *name,
                         struct kx_slice json);
void problem_member_number(struct reply *reply, const char *name,
                           uint64_t number);

/* Prints "status code" lines, one for each code, to standard output. */
void problem_print_all(void);

#endif
