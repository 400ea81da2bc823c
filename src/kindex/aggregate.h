/* Totals of several groups of an aggregate index, and counts that one holds. */
#ifndef KINDEX_AGGREGATE_H
#define KINDEX_AGGREGATE_H

#include "kindex/query.h"

enum { KX_GROUPS_MAX = 10000 /* groups that are added up */ };

/* Appends the sum of the totals of all groups in a range of an aggregate index
 * (start and end as for kx_scan_index), as JSON like that of one group, with
 * the number of groups: {"count":3,"sum":{"/total":"87.50"},"groups":2};
 * without groups all are 0. Inside a view; ends an open scan. KX_OK;
 * KX_INDEX_ABSENT, KX_INDEX_NOT_READY; KX_BAD_INDEX: the index has no totals;
 * KX_AGAIN: there are more than KX_GROUPS_MAX groups; KX_BUSY (as kx_read),
 * KX_NO_MEMORY, KX_FAILED. After an error the buffer's contents are undefined.
 */
enum kx_status kx_aggregate(struct kx_reader *reader, struct kx_slice index,
                            const struct kx_range *range, struct kx_buffer *out,
                            struct kx_fault *fault);

/* The number of entries in a range of keys, from an index that counts exactly
 * these: an aggregate index without fields, sums, `where` and depth, of the
 * prefix that the range is of. Inside a view. KX_OK, *index_out being its name;
 * KX_ABSENT: no index holds the number, or too many expired entries would have
 * to be taken off; KX_NO_MEMORY, KX_FAILED. */
enum kx_status kx_count_held(struct kx_reader *reader,
                             const struct kx_range *range,
                             struct kx_slice *index_out, uint64_t *count_out);

/* The index that holds the number of the queried entries, if these are all
 * under a prefix (kx_count_held). Inside a view. KX_OK, KX_ABSENT. */
enum kx_status kx_count_index(struct kx_reader *reader,
                              const struct kx_query *query,
                              struct kx_slice *index_out);
/* As kx_advise, the declaration of an aggregate index that would hold the
 * number of the queried entries. */
enum kx_status kx_advise_count(struct kx_reader *reader,
                               const struct kx_query *query, bool check_name,
                               struct kx_buffer *out);

#endif
