/* Checks a copy of a JSON text that ends where its memory ends, so that a
 * sanitizer finds a read beyond it. */
#ifndef JSON_EXACT_H
#define JSON_EXACT_H

#include "kindex.h"
#include "unit.h"

/* Returns what kx_json_check returns for the text. */
enum kx_status json_exact_check(struct kx_slice text, struct kx_fault *fault);

#endif
