/* Declared indexes as JSON: the normalized declaration with all defaults, and
 * the state of the index. If `counted` is false (access_counts_index,
 * access_counts_declared), members with counts or keys of entries are left out.
 */
#ifndef API_INDEXJSON_H
#define API_INDEXJSON_H

#include "kindex.h"

/* Appends the declaration with state, entries and, where it applies, build and
 * failure. */
void indexjson_write(const struct kx_index_info *info, bool counted,
                     struct kx_buffer *out);

/* Appends the same with size and use of the index, which it reads in the
 * current view; ends a scan. */
void indexjson_write_used(const struct kx_index_info *info, bool counted,
                          struct kx_reader *reader, struct kx_buffer *out);

/* Appends the progress of a build. */
void indexjson_write_build(const struct kx_index_info *info,
                           struct kx_buffer *out);

/* Returns the estimated seconds until the build ends, at least 1; 0: unknown.
 */
uint64_t indexjson_eta(const struct kx_index_info *info);

/* Appends declaration, estimate and warnings of a dry declaration as members.
 * If not `counted`, only the declaration. */
void indexjson_write_estimate(const struct kx_preview *preview, bool counted,
                              struct kx_buffer *out);

/* Appends the result of a dry declaration, and what it would adopt (NULL:
 * nothing). */
void indexjson_write_preview(const struct kx_preview *preview, bool counted,
                             const struct kx_adoption *adoption,
                             struct kx_buffer *out);

/* Appends examples of one kind of damage as elements of an array. *some_inout:
 * whether the array has elements. */
void indexjson_write_damaged(enum kx_damage damage,
                             const struct kx_damaged *samples, size_t count,
                             bool *some_inout, struct kx_buffer *out);

#endif
