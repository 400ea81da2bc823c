/* Kindex: an ordered key-value store whose declared indexes are always right.
 *
 * This is the door of the core: code outside src/ includes it, or those parts
 * of src/kindex/ that it needs, and nothing else. It names four things: keys
 * (ordered typed parts), entries (key, value, versionstamp), commits (checks
 * and mutations that hold together or not at all) and indexes (entries that
 * the store derives from other entries). Read the parts in the order in which
 * they stand here; the shortest way is key, value, entry, commit, reader,
 * index.
 *
 * Threads: a commit may be submitted from any thread. A reader belongs to one
 * thread. Everything else says so where it is declared.
 *
 * Memory: slices never own what they point to. A buffer owns its bytes and
 * lives in the talloc context it was given.
 */
#ifndef KINDEX_H
#define KINDEX_H

#define KX_VERSION "0.1.0"
#define KX_DATE "2026-11-21" /* of this version */

/* What every call has: limits, a status, bytes, text. */
#include "kindex/limit.h"
#include "kindex/status.h"
#include "kindex/bytes.h"
#include "kindex/text.h"

/* What is stored. */
#include "kindex/key.h"
#include "kindex/json.h"
#include "kindex/value.h"
#include "kindex/entry.h"

/* How it is written and read. */
#include "kindex/store.h"
#include "kindex/commit.h"
#include "kindex/reader.h"

/* What is derived from it. */
#include "kindex/index.h"
#include "kindex/conflict.h"
#include "kindex/adoption.h"
#include "kindex/verification.h"
#include "kindex/question.h"

/* What an open store has besides. */
#include "kindex/watch.h"
#include "kindex/backup.h"
#include "kindex/token.h"
#include "kindex/figures.h"
#include "kindex/clock.h"
#include "kindex/log.h"

#endif
