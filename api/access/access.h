/* The rights of callers. While there are no tokens, every client has all
 * rights. Once there is a token, and always with --grants, every request needs
 * one, except on routes of SCOPE_NONE and SCOPE_OPTIONAL. It is an access token
 * of the store or, with --jwt-keys, a JSON Web Token.
 *
 * access_admit checks the token and its scopes once, before the body is read. A
 * handler parses the keys of its request, checks them with the functions below,
 * and only then reads entries; the exchange checks commits. A reply to a
 * request whose rights were not checked is not sent. A refusal never depends on
 * stored entries. All functions belong to the thread that has the request: the
 * loop's, or a worker's. */
#ifndef API_ACCESS_H
#define API_ACCESS_H

#include "http/request.h"
#include "kindex.h"

/* ---- The text of a token: kindex_<id>_<secret> --------------------------- */

/* The id finds the stored token, whose digest the secret must match. Any
 * thread.
 */
enum {
    CREDENTIAL_SECRET_SIZE = 32,                    /* random bytes */
    CREDENTIAL_SIZE = 7 + KX_TOKEN_ID_SIZE + 1 + 43 /* bytes of the text */
};

struct credential {
    char id[KX_TOKEN_ID_SIZE + 1];
    uint8_t digest[KX_TOKEN_DIGEST_SIZE]; /* SHA-256 of the secret */
};

/* Creates a token and writes its text, with a NUL, to text (CREDENTIAL_SIZE + 1
 * bytes). False if memory ran out or the system has no random bytes. */
bool credential_make(struct credential *credential_out, char *text);

/* Reads the text of a token. False if it has another form. */
bool credential_read(struct kx_slice text, struct credential *credential_out);

/* True if the credential has the secret of this token. Runs in constant time.
 */
bool credential_fits(const struct credential *credential,
                     const struct kx_token *token);

/* ---- Rights of a request ------------------------------------------------ */

/* Finds the caller's token, counts the request, and checks that the token has
 * the route's scope for some keys. On false the request is refused, and reply
 * is complete (401, 403, 429). */
bool access_admit(struct request *request, struct reply *reply);

/* True if the server answers only requests with a token, except on routes of
 * SCOPE_NONE and SCOPE_OPTIONAL: it has tokens, or accepts other identities. On
 * a standby only while the request is admitted. */
bool access_needs_token(const struct request *request);

/* Returns the text after "Authorization: Bearer", unchecked, or NULL without
 * that header. The text is valid as long as the request's head. */
const char *access_bearer(const struct request *request);

/* Checks an admitted request again. On false its token is no longer valid, and
 * reply is complete (401). */
bool access_admit_again(struct request *request, struct reply *reply);

/* True if the caller's token is still valid, or still no token is needed. Call
 * it at any time between access_admit and access_leave. */
bool access_holds(const struct request *request);
/* Returns when the token expires, in nanoseconds of the monotonic clock; 0 if
 * it never expires or there is no token. */
uint64_t access_until_ns(const struct request *request);

/* Return true if the caller has the scope for: a key and all keys that begin
 * with its parts (access_key); each of several keys (access_keys); the keys of
 * a range, or of the index that owns them (access_range); the entries for which
 * an index is declared and, for SCOPE_INDEX, also the index's name
 * (access_index). On false reply is complete (403). Not inside a view. */
bool access_key(struct request *request, struct reply *reply, enum scope scope,
                struct kx_slice key);
bool access_keys(struct request *request, struct reply *reply, enum scope scope,
                 const struct kx_slice *keys, size_t count);
bool access_range(struct request *request, struct reply *reply,
                  enum scope scope, const struct kx_range *range);
bool access_index(struct request *request, struct reply *reply,
                  enum scope scope, struct kx_slice name);

/* True if the caller has the scope for the prefix of a rule; only a caller that
 * has it for all keys is told that there is no such rule. On false reply is
 * complete (403). Not inside a view. */
bool access_rule(struct request *request, struct reply *reply, enum scope scope,
                 struct kx_slice name);

/* True if the caller may see the counts, conflicts and sample keys of the index
 * (see access_counts_index). On false reply is complete (403). Not inside a
 * view. */
bool access_counts(struct request *request, struct reply *reply,
                   struct kx_slice name);

/* True if the caller has the rights for everything in the request's commit,
 * which is checked before the writer gets it. On false reply is complete (403).
 */
bool access_commit(struct request *request, struct reply *reply);

/* Returns the number of leading mutations of the request's commit for which the
 * caller has the rights. No mutation may be of a range. If the commit is
 * truncated to these, access_commit does not check them again. Not inside a
 * view. */
size_t access_mutations(struct request *request);

/* Check rights without making a reply, for replies that omit what the caller
 * must not see. access_covers only compares prefixes. access_sees (a key and
 * all keys that begin with its parts) and access_spans (a range) also find the
 * index that owns the keys; not inside a view. */
bool access_covers(const struct request *request, enum scope scope,
                   struct kx_slice prefix);
bool access_sees(const struct request *request, enum scope scope,
                 struct kx_slice key);
bool access_spans(const struct request *request, enum scope scope,
                  const struct kx_range *range);

/* True if the caller has the scope for the prefix for which the index is
 * declared. SCOPE_INDEX, which is needed to declare, change or drop an index,
 * must also be granted for the index's own name, because index entries lie
 * under the name. Call it inside the view from which `index` comes. */
bool access_covers_index(const struct request *request, enum scope scope,
                         const struct kx_index_info *index);

/* True if the caller may see how many entries an index has or would have, which
 * of them conflict, and sample keys. This takes SCOPE_LIST for the prefix for
 * which the index is declared, because with `where` a count reveals values; and
 * for the prefix that a migration gives it. access_counts_index is for an index
 * in a view, access_counts_declared for a declaration. */
bool access_counts_index(const struct request *request,
                         const struct kx_index_info *index);
bool access_counts_declared(const struct request *request,
                            struct kx_slice declaration);

/* True if access_sees is true for each of several keys. Streams call it before
 * each chunk, because the owner of a key changes when an index is declared or
 * dropped. Not inside a view. */
bool access_sees_all(const struct request *request, enum scope scope,
                     const struct kx_slice *keys, size_t count);

/* True if the caller has the scope for an index, as access_index requires. Not
 * inside a view. */
bool access_sees_index(const struct request *request, enum scope scope,
                       struct kx_slice name);
/* True if the caller has SCOPE_LIST for an index. Inside a view. */
bool access_lists_index(const struct request *request, struct kx_slice name);

/* Writes the prefixes under `prefix` for which the caller has the scope to
 * prefixes_out, in key order and none within another, and returns their number.
 * Does not check whether they belong to an index. For callers without the scope
 * for the whole prefix. */
size_t access_below(const struct request *request, enum scope scope,
                    struct kx_slice prefix,
                    struct kx_slice prefixes_out[KX_GRANTS_MAX]);

/* Marks the rights as checked. Call it if the request is not about keys, or
 * after checks with the functions that take no reply. */
void access_asked(struct request *request);

/* Counts the reply if it is a stream, adds headers about the token's limits,
 * and writes the audit log. Called last before a reply is sent. */
void access_finish(struct request *request, struct reply *reply);

/* Releases the token and the certificate of a request that has ended. */
void access_leave(struct request *request);

#endif
