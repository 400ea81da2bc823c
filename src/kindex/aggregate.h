/* Totals of groups of an aggregate index, and counts that such an index has. */
#ifndef KINDEX_AGGREGATE_H
#define KINDEX_AGGREGATE_H

#include "kindex/query.h"

enum { KX_GROUPS_MAX = 10000 /* groups that one call adds up */ };

/* Adds up the totals of all groups in a range of an aggregate index (start and
 * end as for kx_scan_index). Appends JSON like that of one group, plus the
 * number of groups: {"count":3,"sum":{"/total":"87.50"},"groups":2}; all are 0
 * if there are no groups. Inside a view; ends an open scan. KX_OK;
 * KX_INDEX_ABSENT; KX_INDEX_NOT_READY; KX_BAD_INDEX: the index has no totals;
 * KX_AGAIN: there are more than KX_GROUPS_MAX groups; KX_BUSY: too many expired
 * entries would have to be subtracted; KX_NO_MEMORY; KX_FAILED; KX_UNREACHABLE.
 * After an error the buffer's contents are undefined. */
enum kx_status kx_aggregate(struct kx_reader *reader, struct kx_slice index,
                            const struct kx_range *range, struct kx_buffer *out,
                            struct kx_fault *fault);

/* Sets *count_out to the number of entries in a range of keys, from an index
 * that counts exactly these: an aggregate index without fields, sums, `where`
 * and depth, whose prefix is that of the range. *index_out is the index's name.
 * Inside a view. KX_OK; KX_ABSENT: no index has the number, or too many expired
 * entries would have to be subtracted; KX_NO_MEMORY; KX_FAILED; KX_UNREACHABLE.
 */
enum kx_status kx_count_held(struct kx_reader *reader,
                             const struct kx_range *range,
                             struct kx_slice *index_out, uint64_t *count_out);

/* Finds the index that has the number of the queried entries, if these are all
 * entries under a prefix (kx_count_held). Inside a view. KX_OK, KX_ABSENT. */
enum kx_status kx_count_index(struct kx_reader *reader,
                              const struct kx_query *query,
                              struct kx_slice *index_out);
/* Like kx_advise, but appends the declaration of an aggregate index that would
 * have the number of the queried entries. */
enum kx_status kx_advise_count(struct kx_reader *reader,
                               const struct kx_query *query, bool check_name,
                               struct kx_buffer *out);

#endif
