/* Declared indexes as JSON: the declaration as the core keeps it, with all
 * defaults, and the state of the index. Used by /indexes and by the refusal of
 * reads from an index that is being built. */
#ifndef API_INDEXJSON_H
#define API_INDEXJSON_H

#include "kindex.h"

/* Appends the declaration with state, entries and, where it applies, build
 * and failure. Not `counted` (access_counts_index): without the members that
 * have counts or keys of entries. */
void indexjson_write(const struct kx_index_info *info, bool counted,
                     struct kx_buffer *out);

/* The same with size and use of the index, in the reader's current view; ends a
 * scan. */
void indexjson_write_used(const struct kx_index_info *info, bool counted,
                          struct kx_reader *reader, struct kx_buffer *out);

/* Appends the progress of a build. */
void indexjson_write_build(const struct kx_index_info *info,
                           struct kx_buffer *out);

/* The estimated seconds until the build ends, at least 1; 0 when unknown. */
uint64_t indexjson_eta(const struct kx_index_info *info);

/* Appends declaration, estimate and warnings of a dry declaration as members;
 * not `counted` (access_counts_declared): only the declaration. */
void indexjson_write_estimate(const struct kx_preview *preview, bool counted,
                              struct kx_buffer *out);

/* Appends the result of a dry declaration, and what it would adopt (NULL:
 * nothing to adopt). */
void indexjson_write_preview(const struct kx_preview *preview, bool counted,
                             const struct kx_adoption *adoption,
                             struct kx_buffer *out);

#endif
