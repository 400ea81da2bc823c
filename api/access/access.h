/* The rights of callers. While there are no tokens every client may do
 * everything; from the first token on every request needs one, except routes of
 * SCOPE_NONE and SCOPE_OPTIONAL.
 *
 * access_admit checks the token and its scopes once, before the body is read. A
 * handler checks keys by the functions below, after it has parsed them and
 * before it reads any; the exchange checks commits. A reply to a request whose
 * rights were not checked is not sent. A refusal never depends on stored
 * entries. The thread that has the request: the loop's, or a worker's. */
#ifndef API_ACCESS_H
#define API_ACCESS_H

#include "http/request.h"

/* Finds the caller's token, counts the request, and checks that the token has
 * the route's scope for any keys. False when the request is refused: reply is
 * then complete (401, 403, 429). */
bool access_admit(struct request *request, struct reply *reply);

/* The text after Authorization: Bearer, unchecked; NULL without that header.
 * Lives as long as the request's head. */
const char *access_bearer(const struct request *request);

/* Checks an admitted request again: false when its token is no longer valid
 * (401). */
bool access_admit_again(struct request *request, struct reply *reply);

/* Is the caller's token still valid, or is still none needed? Any time between
 * admission and end. */
bool access_holds(const struct request *request);
/* When the token expires, by the monotonic clock; 0: never, or no token. */
uint64_t access_until_ns(const struct request *request);

/* May the caller do this with the key and all that begin with its parts; with
 * each of several keys; with the keys of a range, or of an index; with the
 * entries that an index is declared for (and its name, when that is
 * SCOPE_INDEX)? False: reply is then complete (403). Not inside a view. */
bool access_key(struct request *request, struct reply *reply, enum scope scope,
                struct kx_slice key);
bool access_keys(struct request *request, struct reply *reply, enum scope scope,
                 const struct kx_slice *keys, size_t count);
bool access_range(struct request *request, struct reply *reply,
                  enum scope scope, const struct kx_range *range);
bool access_index(struct request *request, struct reply *reply,
                  enum scope scope, struct kx_slice name);

/* May the caller know the counts, conflicts and sample keys of the index
 * (access_counts_index)? False: reply is then complete (403). Not inside a
 * view.
 */
bool access_counts(struct request *request, struct reply *reply,
                   struct kx_slice name);

/* May the caller have the request's commit carried out? All of it is checked
 * before the writer gets it. */
bool access_commit(struct request *request, struct reply *reply);

/* How many mutations of the request's commit, from the first one on, the caller
 * may have carried out; no mutation is of a range. If the commit is cut to
 * these, access_commit does not check them again. Not inside a view. */
size_t access_mutations(struct request *request);

/* The same checks without a reply, for parts that a reply leaves out. The first
 * only compares prefixes; the second also finds the index that owns the key
 * (not inside a view). */
bool access_covers(const struct request *request, enum scope scope,
                   struct kx_slice prefix);
bool access_sees(const struct request *request, enum scope scope,
                 struct kx_slice key);
bool access_spans(const struct request *request, enum scope scope,
                  const struct kx_range *range);

/* May the caller do this with the index that a view shows? The grants must
 * cover the prefix that it is declared for. SCOPE_INDEX, which is needed to
 * declare, change or drop it, must also be granted for the index's own name,
 * because its entries lie under the name. */
bool access_covers_index(const struct request *request, enum scope scope,
                         const struct kx_index_info *index);

/* May the caller know how many entries an index has or would have, which of
 * them conflict, and keys of some of them? That takes SCOPE_LIST for the prefix
 * that it is declared for, because with `where` a count tells what is in
 * values; and for the prefix that a migration gives it. In a view, or of a
 * declaration. */
bool access_counts_index(const struct request *request,
                         const struct kx_index_info *index);
bool access_counts_declared(const struct request *request,
                            struct kx_slice declaration);

/* The same for several keys. Streams call it before each chunk, because the
 * owner of a key changes when an index is declared or dropped. */
bool access_sees_all(const struct request *request, enum scope scope,
                     const struct kx_slice *keys, size_t count);

/* The same for an index. Not inside a view. */
bool access_sees_index(const struct request *request, enum scope scope,
                       struct kx_slice name);
/* The same for SCOPE_LIST, inside a view. */
bool access_lists_index(const struct request *request, struct kx_slice name);

/* The prefixes that are longer than this one, and for which the caller has the
 * scope: in key order, none within another. Their number is returned. Whether
 * they belong to an index is not checked. For a caller that may not do this
 * with all keys under the prefix. */
size_t access_below(const struct request *request, enum scope scope,
                    struct kx_slice prefix,
                    struct kx_slice prefixes_out[KX_GRANTS_MAX]);

/* Marks the rights as checked: the request is not about keys, or the handler
 * has used those functions above that take no reply. */
void access_asked(struct request *request);

/* Called last before a reply is sent: counts a stream, adds the headers about
 * the token's limits, writes the audit log. */
void access_settle(struct request *request, struct reply *reply);

/* The request has ended: releases its token. */
void access_leave(struct request *request);

#endif
