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
    JSON_SCHEMA_SIZE_MAX = 65536,      /* bytes of a schema */
    JSON_SCHEMA_REFERENCES_MAX = 1000, /* $refs of a schema */
    JSON_SCHEMA_CHAIN_MAX = 32,        /* schemas that apply one another to the
                                        * same value */
    JSON_SCHEMA_POSITIONS_MAX = 10000, /* characters of all patterns, with each
                                        * repeat written out */
    JSON_SCHEMA_DEPTH_MAX = 200,       /* schemas inside each other that apply
                                        * to one value of a text */
    JSON_SCHEMA_UNITS_PER_BYTE = 100,  /* of base/charge.h, for each byte of a
                                        * checked text */
    JSON_SCHEMA_UNITS_MORE = 100000,   /* as many more for each text */
    JSON_SCHEMA_UNIQUE_MAX = 100000,   /* elements under uniqueItems */
    JSON_SCHEMA_KEYWORD_MAX = 32,      /* bytes of a keyword, with its NUL */
    JSON_SCHEMA_EXPECTED_MAX = 256     /* bytes of `expected`, with its NUL */
};

/* The first violation in a text. A value that would cost more than its units to
 * check, or be checked too deep, is a violation as well. */
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
