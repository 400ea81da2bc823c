/* Tokens: the access rights that their bearers have, by key prefix. */
#ifndef KINDEX_TOKEN_H
#define KINDEX_TOKEN_H

#include <stdatomic.h>

#include "kindex/store.h"

/* The rights that a token can have. The core stores tokens and compares
 * prefixes; the caller that authorizes a request decides what a scope allows.
 */
enum kx_scope {
    KX_MAY_READ = 1 << 0,
    KX_MAY_WRITE = 1 << 1,
    KX_MAY_LIST = 1 << 2,
    KX_MAY_WATCH = 1 << 3,
    KX_MAY_INDEX = 1 << 4,
    KX_MAY_ADMIN = 1 << 5,
    KX_MAY_MONITOR = 1 << 6,
    KX_MAY_ALL = (1 << 7) - 1
};
/* The name of one scope, such as "read"; the scope with a name, or 0. */
const char *kx_scope_name(enum kx_scope scope);
unsigned kx_scope_find(struct kx_slice name);

struct kx_grant {
    unsigned scopes;        /* a set of enum kx_scope */
    struct kx_slice prefix; /* encoded parts; empty: all keys */
};

/* True if every key from start (inclusive) to end (exclusive) begins with the
 * parts of the prefix, or equals it. An empty end stands for the key `start`
 * alone. */
bool kx_prefix_covers(struct kx_slice prefix, struct kx_slice start,
                      struct kx_slice end);

enum { KX_TOKEN_ID_SIZE = 16, KX_TOKEN_DIGEST_SIZE = 32 };

/* A token. All members but the last three are constant. */
struct kx_token {
    char id[KX_TOKEN_ID_SIZE + 1];        /* hexadecimal digits */
    uint8_t digest[KX_TOKEN_DIGEST_SIZE]; /* of its secret, which is not kept */
    bool fixed; /* by kx_token_fix: not stored, cannot be revoked */
    struct kx_slice name;
    struct kx_slice issuer; /* that vouches for `name`; empty: the store */
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0: never */
    const struct kx_grant *grants;
    size_t grant_count;
    atomic_bool revoked;
    atomic_uint_fast64_t uses; /* counter for users of the token; 0 at first */
    atomic_uint_fast64_t *shared_uses; /* replaces `uses` for several tokens of
                                        * one subject; NULL: none does */
};

/* Returns whether the token has the scope for all keys. */
bool kx_token_is_whole(const struct kx_token *token, enum kx_scope scope);

/* Returns whether there are any tokens. Any thread may call this and all
 * functions below. */
bool kx_tokens_any(const struct kx_store *store);
/* Return the token with this id, and the next token in the order of ids (after
 * the empty id: the first). NULL: no such token. The token stays valid, even
 * after it is revoked, until the caller releases it with kx_token_release (NULL
 * is allowed).
 */
struct kx_token *kx_token_find(struct kx_store *store, struct kx_slice id);
struct kx_token *kx_token_after(struct kx_store *store, struct kx_slice id);
void kx_token_release(struct kx_token *token);
/* Returns a copy with one reference, which is not in a store; NULL if memory
 * ran out. The counter of shared_uses must outlive the copy. */
struct kx_token *kx_token_copy(const struct kx_token *token);
/* Adds a reference, to be dropped by kx_token_release; returns the token. */
struct kx_token *kx_token_keep(struct kx_token *token);
/* Adds a copy of a token until the store is closed; it replaces a stored token
 * with the same id. KX_OK, KX_TOO_MANY_TOKENS, KX_NO_MEMORY. */
enum kx_status kx_token_fix(struct kx_store *store,
                            const struct kx_token *token);

#endif
