/* What an index's declaration takes out of an entry: the key of its index
 * entry. A pure function of declaration, key and value, so that a rebuild from
 * the data gives the same entries as upkeep by each write.
 */
#ifndef EXTRACT_H
#define EXTRACT_H

#include "declaration.h"
#include "record.h"

/* Replaces key_out by the encoded key of the index entry for a covered entry;
 * owner_at_out: where the owner begins in it, 0 for a unique index. KX_OK;
 * KX_ABSENT: the entry has no indexable value and is left out (a field is
 * missing, null, an array or an object, or the index key would be longer than
 * KX_KEY_MAX); KX_NO_MEMORY. */
enum kx_status extract_key(const struct declaration *declaration,
                           struct kx_slice key, const struct record *record,
                           struct kx_buffer *key_out, uint16_t *owner_at_out);

/* Replaces key_out by the index key under which a client looks for field
 * values (encoded parts): text is folded as the fields declare. KX_OK,
 * KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status extract_lookup(const struct declaration *declaration,
                              struct kx_slice parts, struct kx_buffer *key_out);

/* Fills the record of that index entry: index, owner, encoding, value and
 * expiry; the stamp is the caller's. Slices point into key and record. */
struct record extract_record(const struct declaration *declaration,
                             struct kx_slice key, const struct record *record,
                             uint16_t owner_at, uint32_t index);

#endif
