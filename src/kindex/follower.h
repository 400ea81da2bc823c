/* Reads of the rows that another process changes, on a node that is not active
 * (kindex/node.h). */
#ifndef KINDEX_FOLLOWER_H
#define KINDEX_FOLLOWER_H

#include "kindex/node.h"
#include "kindex/reader.h"
#include "kindex/token.h"

/* A follower is a reader whose every view is a state of the database, with the
 * indexes and tokens of that state: nothing in memory is used that may be
 * older. `joined` is of kx_join, and may have become active. One thread.
 * kx_reader_close closes it, before the store is closed. KX_OK, KX_NO_MEMORY.
 */
enum kx_status kx_follower_open(struct kx_store *joined,
                                struct kx_reader **reader_out);

/* Begins the view of a follower, which lasts until kx_read_release. Its state
 * is one that the database had during this call. KX_OK; KX_AGAIN: that state is
 * below `least`; KX_UNREACHABLE: no answer until then (kx_monotonic_ns);
 * KX_BAD_DIRECTORY: there is no store, or one of another format; KX_NO_MEMORY,
 * KX_FAILED. Without KX_OK there is no view. */
enum kx_status kx_follow(struct kx_reader *follower,
                         const struct kx_position *least, uint64_t until_ns,
                         struct kx_fault *fault);

/* The position of the view. */
struct kx_position kx_follower_position(const struct kx_reader *follower);

/* As kx_tokens_any and kx_token_find, in the view of a follower. A token that
 * the view does not have is marked as revoked for all users of it in this
 * process. After a read that failed no token is found, and kx_follower_failed
 * returns true until the next kx_follow. */
bool kx_follower_tokens_any(const struct kx_reader *follower);
struct kx_token *kx_follower_token(struct kx_reader *follower,
                                   struct kx_slice id);
bool kx_follower_failed(const struct kx_reader *follower);

#endif
