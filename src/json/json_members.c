/* Members of an object as a sorted array. A few need no memory besides the
 * struct. Names are compared by their unescaped characters. */
#include "json/json_members.h"

#include <stdlib.h>

#include <talloc.h>

#include "json/json_string.h"

static size_t count_members(struct kx_json_iter iter)
{
    struct kx_slice name;
    struct kx_slice value;
    size_t count = 0;
    while (kx_json_next(&iter, &name, &value))
        count++;
    return count;
}

static int compare_members(const void *a, const void *b)
{
    const struct json_member *x = a;
    const struct json_member *y = b;
    return json_string_compare(x->name, y->name);
}

bool json_members_read(struct json_members *members, struct kx_slice object)
{
    struct kx_json_iter iter = {.rest = object};
    kx_json_iterate(object, &iter);
    members->count = count_members(iter);
    members->items = members->few;
    if (members->count > JSON_MEMBERS_FEW)
        members->items = talloc_array(NULL, struct json_member, members->count);
    if (members->items == NULL)
        return false;
    for (size_t i = 0; i < members->count; i++) {
        struct json_member *item = &members->items[i];
        kx_json_next(&iter, &item->name, &item->value);
        item->found = false;
    }
    qsort(members->items, members->count, sizeof(*members->items),
          compare_members);
    return true;
}

void json_members_free(struct json_members *members)
{
    if (members->items != members->few)
        talloc_free(members->items);
}

static struct json_member *find(const struct json_members *members,
                                struct kx_slice name)
{
    struct json_member wanted = {.name = name};
    return bsearch(&wanted, members->items, members->count, sizeof(wanted),
                   compare_members);
}

bool json_members_find(struct json_members *members, struct kx_slice name,
                       struct kx_slice *value_out)
{
    struct json_member *member = find(members, name);
    if (member == NULL)
        return false;
    member->found = true;
    *value_out = member->value;
    return true;
}

bool json_members_found(const struct json_members *members,
                        struct kx_slice name)
{
    const struct json_member *member = find(members, name);
    return member != NULL && member->found;
}
