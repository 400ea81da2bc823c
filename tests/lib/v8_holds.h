/* What holds for any bytes of a V8 value: nothing beyond
 * them is read, and what passes the check is shown and read again. */
#ifndef V8_HOLDS_H
#define V8_HOLDS_H

#include "kindex.h"
#include "unit.h"
#include "entry/v8_json.h"
#include "v8/v8_normalize.h"
#include "entry/value.h"

/* Fails unless the JSON that shows the value passes the check and stands for
 * the same value. */
void v8_shows(const struct kx_value *value, void *memory);

/* Fails unless all of that holds. Returns whether the bytes are a valid value.
 */
bool v8_holds(struct kx_slice bytes, void *memory);

#endif
