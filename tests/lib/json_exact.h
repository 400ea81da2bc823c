/* The check of JSON on a text whose end is the end of its memory, so that a
 * look beyond it is noticed. */
#ifndef JSON_EXACT_H
#define JSON_EXACT_H

#include "kindex.h"
#include "unit.h"

/* As kx_json_check. */
enum kx_status json_exact_check(struct kx_slice text, struct kx_fault *fault);

#endif
