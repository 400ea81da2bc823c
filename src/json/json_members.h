/* The members of one JSON object, sorted by name. With them, two objects are
 * compared or merged in O(n log n), independent of the order of their
 * members. */
#ifndef JSON_MEMBERS_H
#define JSON_MEMBERS_H

#include "kindex.h"

struct json_member {
    struct kx_slice name; /* token with its quotes */
    struct kx_slice value;
    bool found; /* json_members_find has returned it */
};

enum { JSON_MEMBERS_FEW = 16 };

struct json_members {
    struct json_member *items; /* `few`, or on the heap if there are more */
    size_t count;
    struct json_member few[JSON_MEMBERS_FEW];
};

/* Collects the members of an object in valid JSON text, to which they point. If
 * memory runs out, returns false and only the count is valid. */
bool json_members_read(struct json_members *members, struct kx_slice object);
/* Frees the memory on the heap. */
void json_members_free(struct json_members *members);

/* Returns the value of the member with this name (a token); false if there is
 * no such member. */
bool json_members_find(struct json_members *members, struct kx_slice name,
                       struct kx_slice *value_out);
/* True if json_members_find has returned the member with this name. */
bool json_members_found(const struct json_members *members,
                        struct kx_slice name);

#endif
