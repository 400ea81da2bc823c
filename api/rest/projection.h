/* Which members of values a read asks for: ?fields=/name,/address/city, or the
 * member `fields` of a range of POST /get. An entry is then shown with an
 * object of only these members, nested as they are in its value. Missing
 * members are left out, and a value that is not an object is shown as {}. */
#ifndef API_PROJECTION_H
#define API_PROJECTION_H

#include "rest/query_params.h"

/* Zeroed, it selects whole values. */
struct projection {
    struct kx_slice paths[KX_PROJECTION_MAX]; /* JSON Pointers */
    size_t count;
};

/* Reads the parameter of a query, if it is given: pointers and names of
 * members, separated by commas, or a JSON array of them. The paths lie in the
 * query's memory. False with PROBLEM_BAD_PARAMETER. */
bool projection_read(const struct query_params *query,
                     struct projection *fields_out, struct input_error *error);

/* Reads a JSON array of pointers and names (checked text). The paths lie in
 * memory. False with PROBLEM_BAD_REQUEST. */
bool projection_read_array(struct kx_slice array, const void *memory,
                           struct projection *fields_out,
                           struct input_error *error);

/* Appends the object with the selected members of a value. True: it is plain
 * JSON. False: it is typed, or memory ran out. */
bool projection_write(const struct projection *fields,
                      const struct kx_value *value, struct kx_buffer *out);

#endif
