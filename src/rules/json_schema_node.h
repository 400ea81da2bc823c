/* A compiled schema: nodes that json_schema.c makes and json_schema_check.c
 * applies. Nodes point to one another and to the schema's copy of its text. */
#ifndef JSON_SCHEMA_NODE_H
#define JSON_SCHEMA_NODE_H

#include "json/json_names.h"
#include "json/json_number.h"
#include "rules/json_schema.h"
#include "rules/pattern.h"

/* How a node applies the subschemas for the same value. */
enum schema_way {
    SCHEMA_ALL, /* allOf and $ref */
    SCHEMA_ANY,
    SCHEMA_ONE,
    SCHEMA_NOT,
    SCHEMA_IF,
    SCHEMA_THEN,
    SCHEMA_ELSE,
    SCHEMA_WAYS
};

/* Subschemas for the same value: those of one way after those of the way
 * before it. */
struct schema_inner {
    const struct schema_node **nodes;
    size_t begin[SCHEMA_WAYS + 1]; /* the first node of each way; the end */
};

/* Values as they are written. */
struct schema_values {
    struct kx_slice *items;
    size_t count;
    const char *keyword; /* enum or const */
    bool escaped;        /* an item has a backslash */
};

/* Bounds and divisor, in the order of their keywords. */
enum schema_number {
    SCHEMA_MINIMUM,
    SCHEMA_MAXIMUM,
    SCHEMA_ABOVE, /* exclusiveMinimum */
    SCHEMA_BELOW, /* exclusiveMaximum */
    SCHEMA_DIVISOR
};

struct schema_bound {
    struct json_decimal number;
    enum schema_number kind;
};

struct schema_numbers {
    size_t count;
    struct schema_bound bounds[SCHEMA_DIVISOR + 1];
};

/* Counts; UINT64_MAX as max: no bound. */
struct schema_limits {
    uint64_t min;
    uint64_t max;
};

struct schema_string {
    struct schema_limits length; /* in characters */
    const struct pattern *pattern;
    struct kx_slice pattern_token;
};

struct schema_array {
    const struct schema_node **prefix;
    size_t prefix_count;
    const struct schema_node *items; /* after the prefix */
    const struct schema_node *contains;
    struct schema_limits contained;
    struct schema_limits count;
    bool unique;
};

/* A name that the schema of an object mentions. */
struct schema_name {
    uint64_t hash;
    struct kx_slice token;          /* with its quotes; size 0: a free slot */
    const struct schema_node *node; /* of its value; NULL: any value */
    bool required;
    bool escaped; /* the token has a backslash */
};

struct schema_pattern {
    const struct pattern *pattern;
    const struct schema_node *node;
};

/* What holds if an object has a member of this name. */
struct schema_dependent {
    struct kx_slice token;
    struct kx_slice required;       /* an array of names; size 0: none */
    const struct schema_node *node; /* of the object; NULL: no schema */
};

struct schema_object {
    struct schema_name *names; /* a hash table with at least one free slot */
    size_t mask;               /* the number of slots - 1 */
    size_t required_count;
    struct schema_pattern *patterns;
    size_t pattern_count;
    const struct schema_node *additional; /* NULL: any value */
    const struct schema_node *property_names;
    struct schema_limits count;
    struct schema_dependent *dependents;
    size_t dependent_count;
};

enum { SCHEMA_ANY_TYPE = 0x7f };

/* One subschema. A group of keywords that the schema does not have is NULL. */
struct schema_node {
    uint8_t types;       /* a bit for each enum kx_json_type that is allowed */
    bool integers_only;  /* numbers must be integers */
    bool plain;          /* no keywords for values of more than one type */
    bool shared;         /* a $ref leads to the node, so that it may be applied
                          * to the same value twice */
    const char *keyword; /* that applies the node */
    const struct schema_values *values;
    const struct schema_values *constant;
    const struct schema_numbers *numbers;
    const struct schema_string *string;
    const struct schema_array *array;
    const struct schema_object *object;
    const struct schema_inner *inner;
    /* Of the compiler. */
    const uint8_t *at; /* in the text of the schema */
    uint32_t waiting;  /* nodes that apply the node to the same value and are
                        * not in order yet */
    uint32_t chain;    /* nodes that apply one another to the same value, up to
                        * this one */
};

struct json_schema {
    struct kx_slice text;
    const struct schema_node *root;
};

/* Finds the hash by which names are compared. False if memory ran out.
 * `escaped`: the token has a backslash. `end` is that of the text around the
 * token. */
static inline bool schema_hash(struct kx_slice token, bool escaped,
                               const uint8_t *end, uint64_t *hash_out)
{
    if (escaped)
        return json_name_hash_escaped(token, hash_out);
    *hash_out =
        json_name_hash(token.data + 1, token.data + token.size - 1, end);
    return true;
}

static inline bool schema_is_escaped(struct kx_slice token)
{
    return memchr(token.data, '\\', token.size) != NULL;
}

#endif
