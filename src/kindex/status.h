/* The result of a call, and the details of an error. */
#ifndef KINDEX_STATUS_H
#define KINDEX_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "kindex/limit.h"

/* All results of calls. The text is the fixed title; the details of one
 * occurrence are in struct kx_fault. */
#define KX_STATUS_LIST(X)                                                      \
    X(KX_OK, "done")                                                           \
    X(KX_ABSENT, "there is no such entry")                                     \
    X(KX_END, "there are no more entries")                                     \
    X(KX_AGAIN, "there is more to scan")                                       \
    X(KX_CHECK_FAILED, "a check failed")                                       \
    X(KX_UNIQUE_VIOLATION, "the value is already used in a unique index")      \
    X(KX_TYPE_MISMATCH, "the stored value has another type")                   \
    X(KX_NUMBER_RANGE, "the number is out of range")                           \
    X(KX_PATH_ABSENT, "the value has nothing at this path")                    \
    X(KX_TEST_FAILED, "a test of the patch failed")                            \
    X(KX_OUT_OF_BOUNDS, "the sum is out of its bounds")                        \
    X(KX_IDEMPOTENCY_DIFFERS, "another commit came under the key of this one") \
    X(KX_IDEMPOTENCY_QUOTA, "too many outcomes are stored for the sender")     \
    X(KX_BAD_KEY, "the key is not valid")                                      \
    X(KX_KEY_TOO_LONG, "the key is too long")                                  \
    X(KX_BAD_JSON, "the text is not valid JSON")                               \
    X(KX_BAD_VALUE, "the value is not valid")                                  \
    X(KX_JSON_TOO_DEEP, "the JSON text is nested too deeply")                  \
    X(KX_VALUE_TOO_LARGE, "the value is too large")                            \
    X(KX_COMMIT_TOO_LARGE, "the commit is too large")                          \
    X(KX_BAD_INDEX, "the index declaration is not valid")                      \
    X(KX_INDEX_ABSENT, "there is no such index")                               \
    X(KX_INDEX_EXISTS, "an index with this name is declared differently")      \
    X(KX_INDEX_NAME_USED, "there are entries under the name of the index")     \
    X(KX_INDEX_NOT_READY, "the index is not ready")                            \
    X(KX_INDEX_NOT_UNIQUE, "the index is not unique")                          \
    X(KX_QUEUE_ABSENT, "there is no such queue")                               \
    X(KX_RECEIPT_STALE, "the receipt is no longer valid")                      \
    X(KX_INDEX_BUSY, "the index is being changed")                             \
    X(KX_NO_MIGRATION, "the index is not migrating")                           \
    X(KX_INDEX_OWNED_KEY, "the key belongs to an index")                       \
    X(KX_NOT_INDEXABLE, "the entry cannot be indexed as declared")             \
    X(KX_TOO_MANY_INDEXES, "there are too many indexes")                       \
    X(KX_BAD_RULE, "the declaration of the rule is not valid")                 \
    X(KX_RULE_ABSENT, "there is no such rule")                                 \
    X(KX_TOO_MANY_RULES, "there are too many rules")                           \
    X(KX_RULE_VIOLATED, "the entry violates a rule")                           \
    X(KX_REFERENCED, "other entries refer to the entry")                       \
    X(KX_TOKEN_ABSENT, "there is no such token")                               \
    X(KX_TOKEN_FIXED, "the token was given when the store was opened")         \
    X(KX_TOO_MANY_TOKENS, "there are too many tokens")                         \
    X(KX_NO_ADMIN, "no token would be left that may create others")            \
    X(KX_BUSY, "too much work is waiting")                                     \
    X(KX_STOPPING, "the store is stopping")                                    \
    X(KX_UNKNOWN, "it is unknown whether the commit was stored")               \
    X(KX_DISK_FULL, "the disk is full")                                        \
    X(KX_IN_USE, "the data directory is in use by another process")            \
    X(KX_BAD_DIRECTORY, "the data directory cannot be used")                   \
    X(KX_DAMAGED, "the stored data are damaged")                               \
    X(KX_BAD_ARCHIVE, "the backup is damaged or incomplete")                   \
    X(KX_UNREACHABLE, "the database cannot be reached")                        \
    X(KX_NO_MEMORY, "memory ran out")                                          \
    X(KX_FAILED, "the storage engine failed")

enum kx_status {
#define KX_STATUS_NAME(name, text) name,
    KX_STATUS_LIST(KX_STATUS_NAME)
#undef KX_STATUS_NAME
};
enum { KX_STATUS_COUNT = KX_FAILED + 1 };

/* The identifier ("KX_OK") and the title of a status. Never NULL. */
const char *kx_status_name(enum kx_status status);
const char *kx_status_title(enum kx_status status);

/* The details of an error: one sentence with the values concerned, and where.
 * The struct has no pointers: it can be copied and kept. */
struct kx_fault {
    enum kx_status status;
    char detail[KX_DETAIL_MAX];
    char pointer[128];   /* JSON Pointer into the caller's document, or "" */
    size_t offset;       /* of the first wrong byte of a JSON text */
    bool inexact;        /* KX_BAD_KEY: a number that a double cannot hold */
    char suggestion[32]; /* the name that was probably meant, or "" */
};

/* No error, and no text of an earlier one. A fault is large: only what marks
 * its texts as empty is written. */
static inline void kx_fault_clear(struct kx_fault *fault)
{
    fault->status = KX_OK;
    fault->detail[0] = fault->pointer[0] = fault->suggestion[0] = '\0';
    fault->offset = 0;
    fault->inexact = false;
}

/* Fills in fault (NULL is allowed) and returns status, for early returns. A
 * sentence that is too long is cut after a whole character. All other members
 * are cleared; set them afterwards. */
enum kx_status kx_fail(struct kx_fault *fault, enum kx_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
