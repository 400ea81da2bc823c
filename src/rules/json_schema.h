/* JSON Schema (2020-12): compiled once, then applied to JSON text without a
 * tree. A compiled schema never changes, so any number of threads may check
 * with it at the same time.
 *
 * Numbers are compared by their decimal values. `format`, `title` and other
 * annotations are accepted and assert nothing. */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include "base/charge.h"
#include "kindex.h"

struct json_schema;

enum {
    JSON_SCHEMA_KEYWORD_MAX = 32,   /* bytes of a keyword, with its NUL */
    JSON_SCHEMA_EXPECTED_MAX = 256, /* bytes of `expected`, with its NUL */
    JSON_SCHEMA_DEPTH_MAX = 200     /* subschemas applied inside each other */
};

/* The first violation in a text. */
struct json_schema_violation {
    char keyword[JSON_SCHEMA_KEYWORD_MAX]; /* that does not hold */
    char pointer[KX_POINTER_MAX + 1]; /* to the value; if that is longer, to
                                       * a value around it */
    struct kx_slice value;            /* in the checked text */
    char expected[JSON_SCHEMA_EXPECTED_MAX]; /* what would be right: "at least
                                              * 0", "a string" */
};

/* Compiles a schema: a value of text that kx_json_check_document accepted. The
 * text is copied. The schema lives until `owner` (a talloc context) or the
 * schema itself is freed with talloc_free. KX_OK; KX_BAD_VALUE, with the
 * pointer into the schema and the reason in fault (NULL is allowed);
 * KX_NO_MEMORY. */
enum kx_status json_schema_compile(struct kx_slice text, const void *owner,
                                   struct json_schema **schema_out,
                                   struct kx_fault *fault);

/* Checks one value of checked JSON text. KX_OK: the value is as the schema
 * says; KX_CHECK_FAILED: it is not, and violation_out is filled in (otherwise
 * violation_out is undefined; NULL is allowed); KX_NO_MEMORY. The work is added
 * to charge (NULL: not counted). */
enum kx_status json_schema_check(const struct json_schema *schema,
                                 struct kx_slice json, struct charge *charge,
                                 struct json_schema_violation *violation_out);

#endif
