/* The time to live of an entry: "250ms" "60s" "5m" "1h" "7d", in ?ttl= of a
 * write and as the member `ttl` of a mutation. The core gets the time of expiry
 * made from it (kx_mutation.expires_at_ms). */
#ifndef API_TTL_H
#define API_TTL_H

#include "http/input_error.h"
#include "kindex.h"

/* The longest time to live: a hundred years of 365 days. */
#define TTL_MAX_MS (INT64_C(36500) * 24 * 60 * 60 * 1000)
/* The last time of expiry: the largest integer that every JSON program reads
 * exactly. */
#define EXPIRES_AT_MAX_MS ((INT64_C(1) << 53) - 1)

/* Reads a time to live; false with an error of `code` for any other text. */
bool ttl_read(struct kx_slice text, enum problem_code code, int64_t *ms_out,
              struct input_error *error);
/* What a write says of its entry's time: a time to live, "keep" or "none". */
enum ttl_kind { TTL_TIME, TTL_KEEP, TTL_NONE };
struct ttl {
    enum ttl_kind kind;
    int64_t ms; /* TTL_TIME */
};

/* Reads that; false with an error of `code` for any other text. */
bool ttl_read_write(struct kx_slice text, enum problem_code code,
                    struct ttl *ttl_out, struct input_error *error);
/* Puts it into a mutation; a time to live counts from now. */
void ttl_apply(const struct ttl *ttl, struct kx_mutation *mutation);
/* The value of a member `ttl` of a mutation; otherwise as ttl_member. */
bool ttl_member_write(struct kx_slice value, const void *memory,
                      struct ttl *ttl_out, struct input_error *error);
/* Reads the value of a member `ttl`; memory (a talloc context) holds temporary
 * texts. False with PROBLEM_BAD_REQUEST. */
bool ttl_member(struct kx_slice value, const void *memory, int64_t *ms_out,
                struct input_error *error);
/* Reads the value of a member `expiresAt`, Unix time in milliseconds as entries
 * show it: a whole number from 1 to EXPIRES_AT_MAX_MS, past ones included.
 * False with PROBLEM_BAD_REQUEST. */
bool ttl_expires_at(struct kx_slice value, int64_t *ms_out,
                    struct input_error *error);

#endif
