/* Declared indexes as JSON: the declaration as the core keeps it, with all
 * defaults filled in, and what has become of it. Used by /indexes and by the
 * refusal of reads from an index that is being built. */
#ifndef API_INDEXJSON_H
#define API_INDEXJSON_H

#include "kindex.h"

/* Appends the declaration with state, entries and, where it applies, build
 * and failure. */
void indexjson_write(const struct kx_index_info *info, struct kx_buffer *out);

/* The same, and how big it is and how much it is used, in the reader's present
 * view; ends a scan. */
void indexjson_write_used(const struct kx_index_info *info,
                          struct kx_reader *reader, struct kx_buffer *out);

/* Appends the progress of a build. */
void indexjson_write_build(const struct kx_index_info *info,
                           struct kx_buffer *out);

/* Seconds until the build is done, by its speed so far, at least 1; 0 when that
 * is not known. */
uint64_t indexjson_eta(const struct kx_index_info *info);

/* Appends what a dry declaration has found, and what it would adopt (or NULL).
 */
void indexjson_write_preview(const struct kx_preview *preview,
                             const struct kx_adoption *adoption,
                             struct kx_buffer *out);

#endif
