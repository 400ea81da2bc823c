/* A hash of lists, one for each value. */
#include "plan/conflict_set.h"

#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(group) ((group)->lost = true)
#include <uthash.h>

/* The rows of one value. */
struct group {
    UT_hash_handle hh;
    struct kx_slice value;
    struct kx_slice *keys;
    size_t count;
    size_t capacity;
    bool lost; /* the hash had no memory for it */
};

struct conflict_set {
    struct group *groups;
};

static int free_groups(struct conflict_set *set)
{
    HASH_CLEAR(hh, set->groups);
    return 0;
}

struct conflict_set *conflict_set_create(void *mem)
{
    struct conflict_set *set = talloc_zero(mem, struct conflict_set);
    if (set != NULL)
        talloc_set_destructor(set, free_groups);
    return set;
}

static struct group *find(const struct conflict_set *set, struct kx_slice value)
{
    struct group *group;
    HASH_FIND(hh, set->groups, value.data, (unsigned)value.size, group);
    return group;
}

static bool copy(void *mem, struct kx_slice bytes, struct kx_slice *copy_out)
{
    uint8_t *place = talloc_memdup(mem, bytes.data, bytes.size);
    *copy_out = kx_slice(place, bytes.size);
    return place != NULL;
}

static struct group *add_group(struct conflict_set *set, struct kx_slice value)
{
    struct group *group = talloc_zero(set, struct group);
    if (group == NULL)
        return NULL;
    if (copy(group, value, &group->value))
        HASH_ADD_KEYPTR(hh, set->groups, group->value.data,
                        (unsigned)group->value.size, group);
    else
        group->lost = true;
    if (group->lost) {
        talloc_free(group);
        return NULL;
    }
    return group;
}

static bool make_room(struct group *group)
{
    if (group->count < group->capacity)
        return true;
    size_t capacity = group->capacity * 2 + 4;
    struct kx_slice *keys =
        talloc_realloc(group, group->keys, struct kx_slice, (unsigned)capacity);
    if (keys == NULL)
        return false;
    group->keys = keys;
    group->capacity = capacity;
    return true;
}

bool conflict_set_add(struct conflict_set *set, struct kx_slice key,
                      size_t value_size)
{
    struct kx_slice value = kx_slice(key.data, value_size);
    struct group *group = find(set, value);
    if (group == NULL)
        group = add_group(set, value);
    if (group == NULL || !make_room(group) ||
        !copy(group, key, &group->keys[group->count]))
        return false;
    group->count++;
    return true;
}

const struct kx_slice *conflict_set_of(const struct conflict_set *set,
                                       struct kx_slice value, size_t *count_out)
{
    const struct group *group = find(set, value);
    *count_out = group != NULL ? group->count : 0;
    return group != NULL ? group->keys : NULL;
}
