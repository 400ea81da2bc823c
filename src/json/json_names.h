/* The member names of the objects that are open while a text is checked, so
 * that a name used twice is found. The names of an object lie together at the
 * end of one stack, which is popped when the object is closed. */
#ifndef JSON_NAMES_H
#define JSON_NAMES_H

#include <endian.h>

#include "base/hash.h"

struct json_name {
    struct kx_slice token; /* with its quotes */
    uint64_t hash;         /* of the characters, however they are written */
};

/* One open object: its names are those from `first` on. */
struct json_object {
    size_t first;
    uint64_t seen; /* one bit for each hash: a clear one proves a new name */
};

enum {
    JSON_NAMES_FEW = 64,
    JSON_NAMES_COMPARED = 32 /* a bigger object is sorted when it ends */
};

struct json_names {
    struct json_name *items; /* few, or on the heap when they are many */
    struct json_name *next;  /* behind the last; there is room for it */
    struct json_name *last;  /* of the room */
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

/* An object is opened, or the one opened last is closed. */
static inline struct json_object json_names_open(const struct json_names *names)
{
    return (struct json_object){.first = json_names_count(names)};
}

static inline void json_names_close(struct json_names *names,
                                    const struct json_object *object)
{
    names->next = names->items + object->first;
}

/* Frees what lies on the heap. */
void json_names_free(struct json_names *names);

/* The eight bytes at `at`, as they lie there. */
static inline uint64_t json_name_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Hash of the characters from `name` to its closing quote in a text, without
 * escapes, that ends at `end`. */
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
    /* The quote counts, too: there is no shift by 64. */
    return (le64toh(tail) << (56 - 8 * size)) * HASH_FACTOR;
}

/* The same of the characters of a token with escapes. False when memory runs
 * out. */
bool json_name_hash_escaped(struct kx_slice token, uint64_t *hash_out);

/* json_names_add where there is no more room or the name may be a known one. */
enum kx_status json_names_add_slowly(struct json_names *names,
                                     struct json_object *object);

/* Adds the name in names->next to the object opened last. KX_OK; KX_BAD_JSON
 * when the object has it already (a big one finds out in json_names_twice);
 * KX_NO_MEMORY. */
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

/* The first name that the object repeats, or NULL. `end` is where its names
 * end; only objects with more than JSON_NAMES_COMPARED are looked at, the
 * others have been. The order of the names is lost. */
const uint8_t *json_names_twice(struct json_names *names,
                                const struct json_object *object, size_t end);

#endif
