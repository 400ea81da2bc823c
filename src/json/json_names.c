/* Names are compared by a 64-bit hash first. The hash is cheap and collisions
 * can be forged, so only speed depends on it, never a result. Small objects
 * compare a new name with those before it; large ones are sorted once at their
 * end. */
#include "json/json_names.h"

#include <stdlib.h>

#include <talloc.h>

#include "json/json_string.h"

bool json_name_hash_escaped(struct kx_slice token, uint64_t *hash_out)
{
    struct kx_buffer plain;
    kx_buffer_init(&plain, NULL);
    kx_json_unescape(token, &plain);
    kx_add_byte(&plain, '"');
    bool done = !plain.failed;
    if (done)
        *hash_out = json_name_hash(plain.data, plain.data + plain.size - 1,
                                   plain.data + plain.size);
    kx_buffer_free(&plain);
    return done;
}

/* Doubles the stack, which moves to the heap the first time. */
static bool make_room(struct json_names *names)
{
    size_t count = json_names_count(names);
    bool few = names->items == names->few;
    struct json_name *items = talloc_realloc(NULL, few ? NULL : names->items,
                                             struct json_name, count * 2);
    if (items == NULL)
        return false;
    if (few)
        memcpy(items, names->few, sizeof(names->few));
    names->items = items;
    names->next = items + count;
    names->last = items + count * 2 - 1;
    return true;
}

static bool are_equal(const struct json_name *a, const struct json_name *b)
{
    return a->hash == b->hash && json_string_equal(a->token, b->token);
}

static bool is_known(const struct json_names *names, size_t first)
{
    for (const struct json_name *name = names->items + first;
         name < names->next; name++)
        if (are_equal(name, names->next))
            return true;
    return false;
}

/* The element at `next` must be free for the next name, so the stack grows as
 * soon as its last element is used. */
enum kx_status json_names_add_slowly(struct json_names *names,
                                     struct json_object *object)
{
    if (json_names_count(names) - object->first <= JSON_NAMES_COMPARED &&
        is_known(names, object->first))
        return KX_BAD_JSON;
    object->seen |= UINT64_C(1) << (names->next->hash >> 58);
    bool full = names->next == names->last;
    names->next++;
    return full && !make_room(names) ? KX_NO_MEMORY : KX_OK;
}

/* By hash, then name; equal names in the order of the text. */
static int compare_names(const void *a, const void *b)
{
    const struct json_name *x = a;
    const struct json_name *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    int order = json_string_compare(x->token, y->token);
    if (order != 0)
        return order;
    return x->token.data < y->token.data ? -1 : x->token.data > y->token.data;
}

const uint8_t *json_names_twice(struct json_names *names,
                                const struct json_object *object, size_t end)
{
    struct json_name *items = names->items + object->first;
    size_t count = end - object->first;
    if (count <= JSON_NAMES_COMPARED)
        return NULL;
    qsort(items, count, sizeof(*items), compare_names);
    const uint8_t *twice = NULL;
    for (size_t i = 1; i < count; i++)
        if (are_equal(&items[i], &items[i - 1]) &&
            (twice == NULL || items[i].token.data < twice))
            twice = items[i].token.data;
    return twice;
}
