/* Who may do what. Without tokens whoever can connect may do everything; from
 * the first token on every request needs one, but for those of SCOPE_NONE.
 *
 * access_admit is passed once, before the body is read; it looks at the token
 * and its scopes. About keys a handler asks, by the functions below, once it
 * has read which they are and before it looks at any; commits are asked about
 * by the exchange. A reply to a request about which nobody has asked does not
 * get out. A refusal never depends on what is stored. */
#ifndef API_ACCESS_H
#define API_ACCESS_H

#include "rest/selector.h"

/* Finds out who asks, counts the request, and looks whether the token has the
 * route's scope at all. False when it is refused: reply is then complete (401,
 * 403, 429). */
bool access_admit(struct request *request, struct reply *reply);

/* The token that a request has with it (Authorization: Bearer), whether it is
 * one or not; NULL when there is none. Lives as long as the request's head. */
const char *access_bearer(const struct request *request);

/* The same for a request that was let in: false when its token is not good any
 * more (401). */
bool access_admit_again(struct request *request, struct reply *reply);

/* Is the caller's token still good, or still none needed? Any time between
 * admission and end. */
bool access_holds(const struct request *request);
/* When it stops to be, by the monotonic clock; 0: not known beforehand. */
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
bool access_selector(struct request *request, struct reply *reply,
                     enum scope scope, const struct selector *selector);

/* May it have the request's commit carried out? Everything in it is looked at
 * before the writer gets it. */
bool access_commit(struct request *request, struct reply *reply);

/* The same questions without a reply: for what is left out of one, and for what
 * has no single answer. The first looks only at prefixes, the second as well at
 * whose key it is (not inside a view). */
bool access_covers(const struct request *request, enum scope scope,
                   struct kx_slice prefix);
bool access_sees(const struct request *request, enum scope scope,
                 struct kx_slice key);
bool access_spans(const struct request *request, enum scope scope,
                  const struct kx_range *range);

/* The same for several keys. For streams, before each of their parts: whose
 * keys they are changes when an index is declared or dropped. */
bool access_sees_all(const struct request *request, enum scope scope,
                     const struct kx_slice *keys, size_t count);

/* The same for an index (not inside a view), and for what a list is of, for
 * those that go on for longer. */
bool access_sees_index(const struct request *request, enum scope scope,
                       struct kx_slice name);
bool access_selects(const struct request *request, enum scope scope,
                    const struct selector *selector);

/* What was asked for cannot be said to be about keys, or was found out by the
 * functions above that only answer. */
void access_asked(struct request *request);

/* The last look at a reply before it goes: counts a stream, adds the headers
 * that a caller with a token gets, writes the audit log. */
void access_settle(struct request *request, struct reply *reply);

/* The request is over. */
void access_leave(struct request *request);

#endif
