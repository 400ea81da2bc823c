/* Jansson as a second opinion on JSON: it takes and refuses the same texts,
 * with differences that are known, and finds the same values in them. */
#ifndef JSON_SECOND_H
#define JSON_SECOND_H

#include <jansson.h>

#include "json_exact.h"

/* What Jansson makes of a text; NULL when it refuses it, with the reason. */
json_t *second_read(struct kx_slice text, json_error_t *error);

/* Fails unless a checked text and what Jansson made of it are the same
 * value. */
void second_same(struct kx_slice text, const json_t *json);

/* Both take the text, or neither does. Returns what Jansson made of it, or
 * NULL, also when only one of them takes it, for a reason that is known. */
json_t *second_compare(struct kx_slice text);

#endif
