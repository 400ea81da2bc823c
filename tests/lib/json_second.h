/* Compares our JSON with Jansson: except for known differences both accept the
 * same texts, and find the same values in them. */
#ifndef JSON_SECOND_H
#define JSON_SECOND_H

#include <jansson.h>

#include "json_exact.h"

/* Parses a text with Jansson; NULL, and the reason in error, if it refuses. */
json_t *second_read(struct kx_slice text, json_error_t *error);

/* Fails unless a checked text and what Jansson made of it are the same
 * value. */
void second_same(struct kx_slice text, const json_t *json);

/* Fails unless both accept the text or both refuse it, or they differ in a
 * known way. Returns Jansson's value if both accept it, else NULL. */
json_t *second_compare(struct kx_slice text);

#endif
