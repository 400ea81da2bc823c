/* The values that have no children. */
#ifndef V8_SCALAR_H
#define V8_SCALAR_H

#include "v8/v8_reader.h"

/* Reads a value without children, after its tag. */
typedef bool v8_read_fn(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag);
/* The function that reads values with this tag; NULL for containers and unknown
 * tags. */
v8_read_fn *v8_scalar(uint8_t tag);
/* The element size of a view in bytes; 0 for an unknown letter. */
size_t v8_element_size(uint8_t type);

#endif
