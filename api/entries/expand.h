/* ?expand=/user: shows an entry together with the entry to which its value
 * refers, read in the same view: "expanded":{"/user":{...}}. The member /user
 * is null if the value has no reference there, or if the target does not exist
 * or the caller may not read it. */
#ifndef API_EXPAND_H
#define API_EXPAND_H

#include "rest/entryjson.h"

enum {
    EXPANSIONS_MAX = 8,          /* references of one read */
    EXPANDED_ENTRIES_MAX = 1000, /* of one page */
};

/* Reads ?expand=: paths of references, separated by commas. A rule declares the
 * reference at the path, unless the path is followed by the prefix of the
 * targets: /user:users. Sets NULL if the parameter is absent. The expansion
 * lies in the query's memory. Returns false with PROBLEM_BAD_PARAMETER. */
bool expand_read(const struct request *request,
                 const struct query_params *query,
                 struct expanding **expansion_out, struct input_error *error);

/* Reads the same from a JSON array of strings (checked text). False with
 * PROBLEM_BAD_REQUEST. */
bool expand_read_array(const struct request *request, struct kx_slice array,
                       struct expanding **expansion_out,
                       struct input_error *error);

/* Returns how many entries a page may have: at most `limit`, and fewer if the
 * expanded ones would be more than EXPANDED_ENTRIES_MAX. */
size_t expand_limit(const struct expanding *expansion, size_t limit);

/* Appends the parts of an entry that shape selects, and the entries to which it
 * refers. Call it inside the view that has the entry. */
void expand_write(const struct kx_entry *entry, const struct shape *shape,
                  struct kx_buffer *out);

#endif
