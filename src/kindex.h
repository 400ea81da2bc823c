/* Kindex: an ordered key-value store whose declared indexes are always
 * consistent with its entries.
 *
 * This is the public interface of the core: code outside src/ includes this
 * header, or the parts of src/kindex/ that it needs, and nothing else. There
 * are four concepts: keys (ordered typed parts), entries (key, value,
 * versionstamp), commits (checks and mutations, applied atomically) and indexes
 * (entries that the store derives from other entries). The parts are listed in
 * reading order; the shortest route is key, value, entry, commit, reader,
 * index.
 *
 * Threads: a commit may be submitted from any thread. A reader belongs to one
 * thread. For everything else the rule is stated at the declaration.
 *
 * Memory: a slice never owns the bytes it points to. A buffer owns its bytes,
 * which are allocated in the talloc context given to kx_buffer_init.
 */
#ifndef KINDEX_H
#define KINDEX_H

#define KX_VERSION "0.2.0"
#define KX_DATE "2026-11-26" /* of this version */

/* Basics: limits, status, bytes, text. */
#include "kindex/limit.h"
#include "kindex/status.h"
#include "kindex/bytes.h"
#include "kindex/text.h"

/* Stored data. */
#include "kindex/key.h"
#include "kindex/json.h"
#include "kindex/value.h"
#include "kindex/entry.h"

/* Writing and reading. */
#include "kindex/store.h"
#include "kindex/node.h"
#include "kindex/idempotency.h"
#include "kindex/commit.h"
#include "kindex/reader.h"

/* Derived data: indexes, and rules for what is stored. */
#include "kindex/index.h"
#include "kindex/ranges.h"
#include "kindex/tree.h"
#include "kindex/conflict.h"
#include "kindex/rule.h"
#include "kindex/adoption.h"
#include "kindex/verification.h"
#include "kindex/query.h"
#include "kindex/discover.h"

/* Other services of an open store. */
#include "kindex/watch.h"
#include "kindex/object_store.h"
#include "kindex/encryption.h"
#include "kindex/backup.h"
#include "kindex/copy.h"
#include "kindex/token.h"
#include "kindex/follower.h"
#include "kindex/stats.h"
#include "kindex/clock.h"
#include "kindex/log.h"

#endif
