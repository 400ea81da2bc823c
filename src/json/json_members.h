/* The members of one JSON object, sorted by name: two objects are compared or
 * merged in the time that sorting takes, whatever their order. */
#ifndef JSON_MEMBERS_H
#define JSON_MEMBERS_H

#include "kindex.h"

struct json_member {
    struct kx_slice name; /* token with its quotes */
    struct kx_slice value;
    bool found; /* by json_members_find, at some time */
};

enum { JSON_MEMBERS_FEW = 16 };

struct json_members {
    struct json_member *items; /* few, or on the heap when they are many */
    size_t count;
    struct json_member few[JSON_MEMBERS_FEW];
};

/* Collects the members of an object (valid JSON text, to which they point).
 * When memory runs out it returns false and only the count is right. */
bool json_members_read(struct json_members *members, struct kx_slice object);
/* Frees what lies on the heap. */
void json_members_free(struct json_members *members);

/* The value of the member with this name (a token); false: there is none. */
bool json_members_find(struct json_members *members, struct kx_slice name,
                       struct kx_slice *value_out);
/* Has a member with this name, which there is, been found? */
bool json_members_found(const struct json_members *members,
                        struct kx_slice name);

#endif
