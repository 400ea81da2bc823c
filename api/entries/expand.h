/* ?expand=/user: the entries to which the shown ones refer, beside their
 * values. An entry then has the member "expanded":{"/user":{...}}, in the same
 * view. It is null if the value refers to nothing, to no entry, or to one that
 * the caller may not read. */
#ifndef API_EXPAND_H
#define API_EXPAND_H

#include "rest/entryjson.h"

enum {
    EXPANSIONS_MAX = 8,          /* references of one read */
    EXPANDED_ENTRIES_MAX = 1000, /* of one page */
};

/* Reads ?expand=: paths of references, separated by commas, each as a rule
 * declares it, or with the prefix of the other entries: /user:users. Sets NULL
 * if it is not given. The expansion lies in the query's memory. Returns false
 * with PROBLEM_BAD_PARAMETER. */
bool expand_read(const struct request *request,
                 const struct query_params *query,
                 struct expanding **expansion_out, struct input_error *error);

/* Reads the same from a JSON array of strings (checked text). False with
 * PROBLEM_BAD_REQUEST. */
bool expand_read_array(const struct request *request, struct kx_slice array,
                       struct expanding **expansion_out,
                       struct input_error *error);

/* Returns the number of entries of a page that may be shown. */
size_t expand_limit(const struct expanding *expansion, size_t limit);

/* Appends the parts of an entry that shape selects, and what it refers to. Call
 * it inside the view that has the entry. */
void expand_write(const struct kx_entry *entry, const struct shape *shape,
                  struct kx_buffer *out);

#endif
