/* A compiled schema: nodes that json_schema.c makes and json_schema_check.c
 * applies. Nodes point to one another and to the schema's copy of its text. */
#ifndef JSON_SCHEMA_NODE_H
#define JSON_SCHEMA_NODE_H

#include "json/json_names.h"
#include "rules/json_schema.h"

/* Values as they are written. */
struct schema_values {
    struct kx_slice *items;
    size_t count;
};

/* Bounds as they are written; size 0: no bound. */
struct schema_numbers {
    struct kx_slice minimum;
    struct kx_slice maximum;
};

/* A name that the schema of an object mentions. */
struct schema_name {
    uint64_t hash;
    struct kx_slice token;          /* with its quotes; size 0: a free slot */
    const struct schema_node *node; /* of its value; NULL: any value */
    bool required;
};

/* The names in a hash table with at least one free slot. */
struct schema_object {
    struct schema_name *names;
    size_t mask; /* the number of slots - 1 */
    size_t required_count;
};

enum { SCHEMA_ANY_TYPE = 0x7f };

/* One subschema. A group of keywords that it does not have is NULL. */
struct schema_node {
    uint8_t types;       /* a bit for each enum kx_json_type that is allowed */
    bool integers_only;  /* numbers must be integers */
    const char *keyword; /* that applies the node */
    const struct schema_values *values; /* of `enum` */
    const struct schema_numbers *numbers;
    const struct schema_object *object;
};

struct json_schema {
    struct kx_slice text;
    const struct schema_node *root;
};

#endif
