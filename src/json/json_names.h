/* The member names of the objects that are open while a text is checked; they
 * reveal duplicate names. The names of the innermost object are the top of one
 * stack, and are popped when the object is closed. */
#ifndef JSON_NAMES_H
#define JSON_NAMES_H

#include <endian.h>

#include <talloc.h>

#include "base/hash.h"

struct json_name {
    struct kx_slice token; /* with its quotes */
    uint64_t hash;         /* of the unescaped characters */
};

/* One open object: its names begin at `first`. */
struct json_object {
    size_t first;
    uint64_t seen; /* a bit for each hash; if clear, the name is new */
};

enum {
    JSON_NAMES_FEW = 64,
    JSON_NAMES_COMPARED = 32 /* a larger object is sorted at its end */
};

struct json_names {
    struct json_name *items; /* `few`, or on the heap if there are more */
    struct json_name *next;  /* the next free element; there always is one */
    struct json_name *last;  /* the last element allocated */
    struct json_name few[JSON_NAMES_FEW];
};

static inline void json_names_init(struct json_names *names)
{
    names->items = names->few;
    names->next = names->few;
    names->last = names->few + JSON_NAMES_FEW - 1;
}

static inline size_t json_names_count(const struct json_names *names)
{
    return (size_t)(names->next - names->items);
}

/* Opens an object, or closes the one opened last. */
static inline struct json_object json_names_open(const struct json_names *names)
{
    return (struct json_object){.first = json_names_count(names)};
}

static inline void json_names_close(struct json_names *names,
                                    const struct json_object *object)
{
    names->next = names->items + object->first;
}

/* Frees the memory on the heap. */
static inline void json_names_free(struct json_names *names)
{
    if (names->items != names->few)
        talloc_free(names->items);
}

/* The eight bytes at `at` in native byte order. */
static inline uint64_t json_name_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Hash of a name without escapes, from `name` to its closing quote. The text
 * ends at `end`. Names of the same size, at most JSON_NAME_EXACT bytes, have
 * the same hash only if they are equal. */
enum { JSON_NAME_EXACT = 7 };
static inline uint64_t json_name_hash(const uint8_t *name, const uint8_t *quote,
                                      const uint8_t *end)
{
    size_t size = (size_t)(quote - name);
    if (size >= 8) {
        uint64_t hash = size;
        for (; quote - name > 8; name += 8)
            hash = hash_word(hash, json_name_word(name));
        return hash_word(hash, json_name_word(quote - 8)) * HASH_FACTOR;
    }
    uint64_t tail = 0;
    if (end - name >= 8)
        memcpy(&tail, name, 8);
    else
        memcpy(&tail, name, size + 1);
    /* The quote is hashed, too: without it, an empty name would be a shift by
     * 64. */
    return (le64toh(tail) << (56 - 8 * size)) * HASH_FACTOR;
}

/* The same hash for a token with escapes. False if memory runs out. */
bool json_name_hash_escaped(struct kx_slice token, uint64_t *hash_out);

/* The slow path of json_names_add: the stack is full, or the name may be a
 * duplicate. */
enum kx_status json_names_add_slowly(struct json_names *names,
                                     struct json_object *object);

/* Adds the name in names->next to the object opened last. KX_OK; KX_BAD_JSON if
 * the object has that name already (for an object with more than
 * JSON_NAMES_COMPARED names, json_names_twice detects it); KX_NO_MEMORY. */
static inline enum kx_status json_names_add(struct json_names *names,
                                            struct json_object *object)
{
    uint64_t bit = UINT64_C(1) << (names->next->hash >> 58);
    if ((object->seen & bit) != 0 || names->next == names->last)
        return json_names_add_slowly(names, object);
    object->seen |= bit;
    names->next++;
    return KX_OK;
}

/* The first name that the object repeats, or NULL. `end` is the number of names
 * up to its last. Only objects with more than JSON_NAMES_COMPARED names are
 * searched, since json_names_add has checked the others. The order of the names
 * is lost. */
const uint8_t *json_names_twice(struct json_names *names,
                                const struct json_object *object, size_t end);

#endif
