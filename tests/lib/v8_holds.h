/* Properties of any bytes that may be a V8 value: no byte beyond them is read,
 * and a valid value reads back from the JSON that shows it. */
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

/* Fails unless both properties hold. Returns true if the bytes are valid. */
bool v8_holds(struct kx_slice bytes, void *memory);

#endif
