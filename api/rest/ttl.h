/* Times to live: "250ms" "60s" "5m" "1h" "7d", in ?ttl= of a write and as the
 * member `ttl` of a mutation. They become kx_mutation.expires_at_ms. Functions
 * that read return false with an error, PROBLEM_BAD_REQUEST if they have no
 * parameter `code`. */
#ifndef API_TTL_H
#define API_TTL_H

#include "http/input_error.h"
#include "kindex.h"

/* The longest time to live: a hundred years of 365 days. */
#define TTL_MAX_MS (INT64_C(36500) * 24 * 60 * 60 * 1000)
/* The latest expiry: the largest integer that every JSON parser reads exactly.
 */
#define EXPIRES_AT_MAX_MS ((INT64_C(1) << 53) - 1)

/* Reads a time to live. */
bool ttl_read(struct kx_slice text, enum problem_code code, int64_t *ms_out,
              struct input_error *error);
/* What a write does with the expiry: sets it by a time to live, keeps it
 * ("keep") or removes it ("none"). */
enum ttl_kind { TTL_TIME, TTL_KEEP, TTL_NONE };
struct ttl {
    enum ttl_kind kind;
    int64_t ms; /* TTL_TIME */
};

/* Reads the ttl of a write. */
bool ttl_read_write(struct kx_slice text, enum problem_code code,
                    struct ttl *ttl_out, struct input_error *error);
/* Applies the ttl to a mutation; a time to live begins now. */
void ttl_apply(const struct ttl *ttl, struct kx_mutation *mutation);
/* Reads the member `ttl` of a write. memory, a talloc context, holds temporary
 * texts. */
bool ttl_member_write(struct kx_slice value, const void *memory,
                      struct ttl *ttl_out, struct input_error *error);
/* Reads a member that is a time to live, whose name is for errors. memory, a
 * talloc context, holds temporary texts. */
bool ttl_member(struct kx_slice value, const char *name, const void *memory,
                int64_t *ms_out, struct input_error *error);
/* Reads a member `expiresAt`: Unix time in milliseconds, a whole number from 1
 * to EXPIRES_AT_MAX_MS, which may be in the past. */
bool ttl_expires_at(struct kx_slice value, int64_t *ms_out,
                    struct input_error *error);

#endif
