/* Finds hand-kept indexes: a survey of all keys finds groups of entries,
 * samples of each two groups suggest that one is an index of the other, and a
 * proof compares all their entries. kindex/discover.h is the interface.
 *
 * One file because each part is used by the next one alone, and all of them
 * work on the groups, rows and candidates that are declared where they are
 * made. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <talloc.h>

#include "base/hash.h"
#include "json/json_string.h"
#include "kindex/discover.h"
#include "read/index_advice.h"
#include "schema/declaration.h"
#include "schema/extract.h"
#include "schema/indexable.h"

/* True for errors of the storage and lack of memory. */
static bool is_error(enum kx_status status)
{
    return status != KX_OK && status != KX_ABSENT;
}

/* ==== The survey ======================================================== */

/* Keys come in order, so the prefixes of the last key are a path of a tree, and
 * a prefix is complete when a key without it comes. A prefix is constant as
 * long as the part after the one before it has few values: once a prefix has
 * more than KX_DISCOVER_CHILDREN children, the children are dropped, and their
 * entries belong to the prefix alone. The children of the root stay. */

/* A key of a sample. */
struct sampled_key {
    uint64_t hash; /* of the key */
    struct kx_slice key;
};

/* The entries whose keys have the same constant prefix and the same number of
 * parts after it. */
struct key_group {
    struct kx_slice prefix; /* encoded parts */
    size_t parts;           /* number of them */
    size_t rest;            /* key parts after the prefix */
    uint64_t entries;
    uint64_t under;  /* entries with the prefix, of any length */
    size_t children; /* values of the part after the prefix that are followed by
                      * other parts, as far as they were counted */
    struct sampled_key *sample; /* those with the smallest hashes */
    size_t sample_count;
    size_t bytes; /* of the group and its sample */
};

struct node {
    LIST_ENTRY(node) link;
    LIST_HEAD(children, node) children; /* that are complete and large enough */
    size_t child_count;                 /* with those that were dropped */
    bool variable;                      /* the next part has too many values */
    struct kx_slice prefix;
    size_t parts;
    uint64_t under;
    struct key_group
        *groups[KX_DISCOVER_REST_MAX]; /* by the number of parts after
                                        * the prefix, less 1 */
};

struct survey {
    struct node root;
    struct node *path[KX_DISCOVER_DEPTH_MAX + 1]; /* of the last key */
    size_t depth;                                 /* the last of the path */
    size_t nodes;
    size_t bytes;      /* of all nodes and groups */
    size_t sample_max; /* keys of a sample */
    struct key_group **found;
    size_t found_count;
};

/* Returns the bytes of the first `parts` parts; 0 if there are fewer. */
static size_t survey_parts_size(struct kx_slice parts, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size =
            at == parts.size
                ? 0
                : kx_part_size(kx_slice(parts.data + at, parts.size - at));
        if (size == 0)
            return 0;
        at += size;
    }
    return at;
}

/* Returns the number of parts; 0 if they are not valid. */
static size_t survey_parts_count(struct kx_slice parts)
{
    size_t count = 0;
    for (size_t at = 0; at < parts.size; count++) {
        size_t size = kx_part_size(kx_slice(parts.data + at, parts.size - at));
        if (size == 0)
            return 0;
        at += size;
    }
    return count;
}

/* The encoding of a part can begin with that of another part, so the number of
 * parts must be the same, too. */
static bool has_prefix(struct kx_slice key, struct kx_slice prefix,
                       size_t parts)
{
    return kx_starts_with(key, prefix) &&
           survey_parts_size(key, parts) == prefix.size;
}

/* True if the key begins with the prefix and has `rest` parts after it.
 * *rest_out is these parts. */
static bool group_has(const struct key_group *group, struct kx_slice key,
                      struct kx_slice *rest_out)
{
    if (!has_prefix(key, group->prefix, group->parts))
        return false;
    *rest_out =
        kx_slice(key.data + group->prefix.size, key.size - group->prefix.size);
    return survey_parts_count(*rest_out) == group->rest;
}

/* Makes an empty survey under talloc context mem; NULL if memory ran out. */
static struct survey *survey_create(void *mem)
{
    struct survey *survey = talloc_zero(mem, struct survey);
    if (survey == NULL)
        return NULL;
    survey->path[0] = &survey->root;
    survey->sample_max = KX_DISCOVER_SAMPLE;
    return survey;
}

/* ---- Samples ------------------------------------------------------------ */

static size_t largest_hash(const struct key_group *group)
{
    size_t largest = 0;
    for (size_t i = 1; i < group->sample_count; i++)
        if (group->sample[i].hash > group->sample[largest].hash)
            largest = i;
    return largest;
}

/* The last key of a sample must be the one with the largest hash. */
static void move_largest_last(struct key_group *group)
{
    if (group->sample_count == 0)
        return;
    struct sampled_key *last = &group->sample[group->sample_count - 1];
    struct sampled_key *largest = &group->sample[largest_hash(group)];
    struct sampled_key moved = *largest;
    *largest = *last;
    *last = moved;
}

/* Drops the last key of the sample. */
static void drop_key(struct survey *survey, struct key_group *group)
{
    struct kx_slice key = group->sample[--group->sample_count].key;
    group->bytes -= key.size;
    survey->bytes -= key.size;
    talloc_free((void *)key.data);
    move_largest_last(group);
}

/* Adds a key to the sample if its hash is among the smallest. Long keys are
 * left out. */
static enum kx_status sample_key(struct survey *survey, struct key_group *group,
                                 struct kx_slice key)
{
    uint64_t hash = hash_bytes(key);
    bool full = group->sample_count >= survey->sample_max;
    if (key.size > KX_SAMPLE_KEY_MAX ||
        (full && hash >= group->sample[group->sample_count - 1].hash))
        return KX_OK;
    if (full)
        drop_key(survey, group);
    struct sampled_key *last = &group->sample[group->sample_count];
    last->hash = hash;
    if (!kx_slice_copy(group, key, &last->key))
        return KX_NO_MEMORY;
    group->sample_count++;
    group->bytes += key.size;
    survey->bytes += key.size;
    move_largest_last(group);
    return KX_OK;
}

static struct key_group *make_group(struct survey *survey, struct node *node,
                                    size_t rest)
{
    struct key_group *group = talloc_zero(node, struct key_group);
    if (group == NULL)
        return NULL;
    group->prefix = node->prefix;
    group->parts = node->parts;
    group->rest = rest;
    group->bytes =
        sizeof *group + (KX_DISCOVER_SAMPLE + 1) * sizeof *group->sample;
    group->sample =
        talloc_array(group, struct sampled_key, KX_DISCOVER_SAMPLE + 1);
    if (group->sample == NULL) {
        talloc_free(group);
        return NULL;
    }
    survey->bytes += group->bytes;
    return group;
}

/* Without memory for a group, its entries are only counted as those of its
 * prefix. */
static enum kx_status count_in(struct survey *survey, struct node *node,
                               struct kx_slice key, size_t rest)
{
    node->under++;
    if (rest > KX_DISCOVER_REST_MAX)
        return KX_OK;
    struct key_group **group = &node->groups[rest - 1];
    if (*group == NULL && survey->bytes >= KX_DISCOVER_MEMORY)
        return KX_OK;
    if (*group == NULL && (*group = make_group(survey, node, rest)) == NULL)
        return KX_NO_MEMORY;
    (*group)->entries++;
    return sample_key(survey, *group, key);
}

/* ---- The memory --------------------------------------------------------- */

static size_t bytes_of(const struct node *node)
{
    size_t bytes = sizeof *node + node->prefix.size;
    for (size_t i = 0; i < KX_DISCOVER_REST_MAX; i++)
        bytes += node->groups[i] != NULL ? node->groups[i]->bytes : 0;
    return bytes;
}

static void shrink_node(struct survey *survey, struct node *node)
{
    struct node *child;
    for (size_t i = 0; i < KX_DISCOVER_REST_MAX; i++)
        while (node->groups[i] != NULL &&
               node->groups[i]->sample_count > survey->sample_max)
            drop_key(survey, node->groups[i]);
    LIST_FOREACH(child, &node->children, link) {
        shrink_node(survey, child);
    }
}

/* Halves the samples while the survey has too many bytes. */
static void shrink_samples(struct survey *survey)
{
    while (survey->bytes > KX_DISCOVER_MEMORY &&
           survey->sample_max > KX_DISCOVER_SAMPLE_LEAST) {
        survey->sample_max /= 2;
        for (size_t depth = 0; depth <= survey->depth; depth++)
            shrink_node(survey, survey->path[depth]);
    }
}

/* ---- The tree ----------------------------------------------------------- */

/* Takes a node and those below it out of the numbers of the survey. */
static void uncount(struct survey *survey, const struct node *node)
{
    const struct node *child;
    survey->nodes--;
    survey->bytes -= bytes_of(node);
    LIST_FOREACH(child, &node->children, link) {
        uncount(survey, child);
    }
}

static void drop_children(struct survey *survey, struct node *node)
{
    node->variable = true;
    while (!LIST_EMPTY(&node->children)) {
        struct node *child = LIST_FIRST(&node->children);
        uncount(survey, child);
        LIST_REMOVE(child, link);
        talloc_free(child);
    }
}

/* The last node of the path is complete. */
static void close_node(struct survey *survey)
{
    struct node *node = survey->path[survey->depth--];
    if (node->under >= KX_DISCOVER_ENTRIES) {
        LIST_INSERT_HEAD(&survey->path[survey->depth]->children, node, link);
        return;
    }
    uncount(survey, node);
    talloc_free(node);
}

static enum kx_status add_node(struct survey *survey, struct kx_slice prefix)
{
    struct node *parent = survey->path[survey->depth];
    void *owner = survey->depth > 0 ? (void *)parent : (void *)survey;
    struct node *node = talloc_zero(owner, struct node);
    if (node == NULL || !kx_slice_copy(node, prefix, &node->prefix)) {
        talloc_free(node);
        return KX_NO_MEMORY;
    }
    node->parts = survey->depth + 1;
    survey->path[++survey->depth] = node;
    survey->nodes++;
    survey->bytes += bytes_of(node);
    return KX_OK;
}

/* Begins a node below the last one of the path. KX_ABSENT: the part after that
 * one is not constant, or there are too many nodes. */
static enum kx_status open_node(struct survey *survey, struct kx_slice prefix)
{
    struct node *parent = survey->path[survey->depth];
    if (parent->variable)
        return KX_ABSENT;
    if (survey->depth > 0 && parent->child_count++ == KX_DISCOVER_CHILDREN)
        drop_children(survey, parent);
    if (parent->variable || survey->nodes >= KX_DISCOVER_NODES ||
        survey->bytes >= KX_DISCOVER_MEMORY)
        return KX_ABSENT;
    return add_node(survey, prefix);
}

/* Closes the nodes that are complete, since the key is not below them. */
static void close_others(struct survey *survey, struct kx_slice key,
                         size_t parts)
{
    while (
        survey->depth > 0 &&
        (survey->depth >= parts ||
         !has_prefix(key, survey->path[survey->depth]->prefix, survey->depth)))
        close_node(survey);
}

/* Adds a key. Keys must come in key order. KX_OK, KX_NO_MEMORY. */
static enum kx_status survey_add(struct survey *survey, struct kx_slice key)
{
    size_t parts = survey_parts_count(key);
    enum kx_status status = KX_OK;
    close_others(survey, key, parts);
    for (size_t depth = survey->depth + 1;
         status == KX_OK && depth < parts && depth <= KX_DISCOVER_DEPTH_MAX;
         depth++)
        status = open_node(survey,
                           kx_slice(key.data, survey_parts_size(key, depth)));
    if (status == KX_ABSENT)
        status = KX_OK;
    for (size_t depth = 1; status == KX_OK && depth <= survey->depth; depth++)
        status = count_in(survey, survey->path[depth], key, parts - depth);
    shrink_samples(survey);
    return status;
}

/* ---- The result --------------------------------------------------------- */

/* True if the entries of the group are all below one child of its node. */
static bool is_in_child(const struct node *node, const struct key_group *group)
{
    const struct node *child;
    LIST_FOREACH(child, &node->children, link)
        if (group->rest > 1 && child->groups[group->rest - 2] != NULL &&
            child->groups[group->rest - 2]->entries == group->entries)
            return true;
    return false;
}

static void collect(struct survey *survey, const struct node *node)
{
    const struct node *child;
    for (size_t i = 0; i < KX_DISCOVER_REST_MAX; i++) {
        struct key_group *group = node->groups[i];
        if (group == NULL || group->entries < KX_DISCOVER_ENTRIES ||
            is_in_child(node, group))
            continue;
        group->children = node->child_count;
        group->under = node->under;
        survey->found[survey->found_count++] = group;
    }
    LIST_FOREACH(child, &node->children, link) {
        collect(survey, child);
    }
}

static int larger_first(const void *a, const void *b)
{
    const struct key_group *x = *(struct key_group *const *)a;
    const struct key_group *y = *(struct key_group *const *)b;
    return (x->entries < y->entries) - (x->entries > y->entries);
}

static int shorter_first(const void *a, const void *b)
{
    const struct key_group *x = *(struct key_group *const *)a;
    const struct key_group *y = *(struct key_group *const *)b;
    if (x->parts != y->parts)
        return x->parts < y->parts ? -1 : 1;
    int order = kx_compare(x->prefix, y->prefix);
    return order != 0 ? order : (x->rest > y->rest) - (x->rest < y->rest);
}

/* Ends the survey. *groups_out is the largest groups, at most
 * KX_DISCOVER_GROUPS, those with short prefixes first, in the survey's memory;
 * *left_out_out is the number of others. If all entries of a group have one
 * more part in common, only the group with the longer prefix is there. KX_OK,
 * KX_NO_MEMORY. */
static enum kx_status survey_finish(struct survey *survey,
                                    struct key_group ***groups_out,
                                    size_t *count_out, size_t *left_out_out)
{
    while (survey->depth > 0)
        close_node(survey);
    survey->found =
        talloc_array(survey, struct key_group *,
                     (unsigned)(survey->nodes + 1) * KX_DISCOVER_REST_MAX);
    if (survey->found == NULL)
        return KX_NO_MEMORY;
    collect(survey, &survey->root);
    size_t count = survey->found_count;
    if (count > KX_DISCOVER_GROUPS)
        count = KX_DISCOVER_GROUPS;
    qsort(survey->found, survey->found_count, sizeof(struct key_group *),
          larger_first);
    qsort(survey->found, count, sizeof(struct key_group *), shorter_first);
    *groups_out = survey->found;
    *count_out = count;
    *left_out_out = survey->found_count - count;
    return KX_OK;
}

/* ==== Contents of values ================================================ */

/* Values as discovery compares them: by hashes that do not depend on spelling,
 * as key parts, and as places that may be fields. */

/* One place in a value that may be a field of an index. */
struct content_place {
    struct kx_slice path;  /* JSON Pointer */
    bool each;             /* an element of the array at the path */
    struct kx_slice token; /* the value: no array, no object */
};
typedef void content_place_fn(void *target, const struct content_place *place);

/* Calls `visit` for the places of a value, at most CONTENT_PLACES and
 * CONTENT_LEVELS deep. `path` is scratch; the place's path is valid in the
 * call. */
enum { CONTENT_PLACES = 200, CONTENT_LEVELS = 3 };

const char *kx_hand_form_text(enum kx_hand_form form)
{
    static const char *const names[] = {[KX_HAND_KEY] = "key",
                                        [KX_HAND_PARTS] = "parts",
                                        [KX_HAND_COPY] = "copy",
                                        [KX_HAND_MEMBERS] = "members",
                                        [KX_HAND_EMPTY] = "empty"};
    return names[form];
}

/* Appends the value as JSON to text, which must be empty, or takes the JSON
 * text that it is. *json_out is valid as long as value and text. */
static void content_json(const struct kx_value *value, struct kx_buffer *text,
                         struct kx_slice *json_out)
{
    if (value->encoding == KX_JSON) {
        *json_out = value->data;
        return;
    }
    kx_value_to_json(value, text);
    *json_out = kx_buffer_slice(text);
}

/* Appends the encoded parts that a JSON value is: those of an array, or one.
 * False if it is not made of key parts. */
static bool content_parts(struct kx_slice json, struct kx_buffer *parts)
{
    struct kx_fault fault;
    if (kx_json_type(json) == KX_JSON_ARRAY)
        return kx_key_from_json(json, parts, &fault) == KX_OK &&
               parts->size > 0;
    struct kx_buffer array;
    kx_buffer_init(&array, parts->owner);
    kx_add_byte(&array, '[');
    kx_add_slice(&array, json);
    kx_add_byte(&array, ']');
    bool good = !array.failed && kx_key_from_json(kx_buffer_slice(&array),
                                                  parts, &fault) == KX_OK;
    kx_buffer_free(&array);
    return good;
}

/* ---- Hashes ------------------------------------------------------------- */

/* What a hash begins with, so that values of two types differ. */
enum { HASH_ARRAY = 1, HASH_OBJECT, HASH_STRING, HASH_NUMBER, HASH_WORD };

/* By code points, so that escapes do not matter. */
static uint64_t hash_string(struct kx_slice token)
{
    struct kx_slice body = json_string_body(token);
    uint64_t hash = HASH_STRING;
    while (body.size > 0)
        hash = hash_word(hash, json_string_next(&body));
    return hash;
}

static uint64_t hash_number(struct kx_slice token)
{
    double number = 0;
    uint64_t bits;
    kx_number_parse(token, &number);
    number = number == 0 ? 0 : number;
    memcpy(&bits, &number, sizeof bits);
    return hash_word(HASH_NUMBER, bits);
}

static uint64_t content_hash(struct kx_slice json);

/* The hash of an object is a sum, so the order of members does not matter. */
static uint64_t hash_member(struct kx_slice name, struct kx_slice value)
{
    return hash_word(hash_string(name), content_hash(value));
}

static uint64_t hash_nested(struct kx_json_iter iter)
{
    struct kx_slice name;
    struct kx_slice value;
    uint64_t hash = iter.object ? HASH_OBJECT : HASH_ARRAY;
    while (kx_json_next(&iter, &name, &value))
        hash = iter.object ? hash + hash_member(name, value)
                           : hash_word(hash, content_hash(value));
    return hash;
}

/* Returns a hash of a JSON value, which is the same for equal values: members
 * in any order, numbers as doubles, strings in any spelling. */
static uint64_t content_hash(struct kx_slice json)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    if (kx_json_iterate(json, &iter))
        return hash_nested(iter);
    if (!kx_json_find(json, kx_text(""), &token))
        return 0;
    enum kx_json_type type = kx_json_type(token);
    if (type == KX_JSON_STRING)
        return hash_string(token);
    if (type == KX_JSON_NUMBER)
        return hash_number(token);
    return hash_word(HASH_WORD, type);
}

/* Returns the hash of the object that has only these members of the object.
 * names are string tokens without escapes, with their quotes. */
static uint64_t content_hash_members(struct kx_slice object,
                                     const struct kx_slice *names, size_t count)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    uint64_t hash = HASH_OBJECT;
    if (kx_json_type(object) != KX_JSON_OBJECT ||
        !kx_json_iterate(object, &iter))
        return 0;
    while (kx_json_next(&iter, &name, &value))
        for (size_t i = 0; i < count; i++)
            if (json_string_equal(name, names[i]))
                hash += hash_member(name, value);
    return hash;
}

/* True for null, true, false, 0, 1, "", [] and {}: a value that says nothing
 * but that the key exists. */
static bool content_is_empty(struct kx_slice json)
{
    static const char *const texts[] = {"null", "true", "false", "0",
                                        "1",    "\"\"", "[]",    "{}"};
    struct kx_slice token;
    if (!kx_json_find(json, kx_text(""), &token))
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (kx_equal(token, kx_text(texts[i])))
            return true;
    return false;
}

/* ---- Places ------------------------------------------------------------- */

struct place_walk {
    struct kx_buffer *path;
    content_place_fn *visit;
    void *target;
    size_t places;
};

/* Appends a name without escapes as a reference token of a JSON Pointer. */
static void add_token(struct kx_slice name, struct kx_buffer *out)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] == '~' || name.data[i] == '/')
            kx_add_text(out, name.data[i] == '~' ? "~0" : "~1");
        else
            kx_add_byte(out, name.data[i]);
}

/* Appends a member's name to the path; a name with an escape is left out. */
static bool enter(struct place_walk *walk, struct kx_slice name)
{
    struct kx_slice body = json_string_body(name);
    if (memchr(body.data, '\\', body.size) != NULL)
        return false;
    kx_add_byte(walk->path, '/');
    add_token(body, walk->path);
    return walk->path->size <= KX_POINTER_MAX;
}

static bool is_scalar(struct kx_slice json)
{
    enum kx_json_type type = kx_json_type(json);
    return type != KX_JSON_OBJECT && type != KX_JSON_ARRAY &&
           type != KX_JSON_NULL;
}

static void visit_one(struct place_walk *walk, struct kx_slice token, bool each)
{
    struct content_place place = {
        .path = kx_buffer_slice(walk->path), .each = each, .token = token};
    if (is_scalar(token) && walk->places++ < CONTENT_PLACES)
        walk->visit(walk->target, &place);
}

static void visit_array(struct place_walk *walk, struct kx_slice array)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    kx_json_iterate(array, &iter);
    while (walk->places < CONTENT_PLACES &&
           kx_json_next(&iter, &none, &element))
        visit_one(walk, element, true);
}

static void visit_value(struct place_walk *walk, struct kx_slice json,
                        int level)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (is_scalar(json))
        visit_one(walk, json, false);
    else if (kx_json_type(json) == KX_JSON_ARRAY)
        visit_array(walk, json);
    if (kx_json_type(json) != KX_JSON_OBJECT || level == CONTENT_LEVELS)
        return;
    kx_json_iterate(json, &iter);
    while (walk->places < CONTENT_PLACES &&
           kx_json_next(&iter, &name, &value)) {
        size_t size = walk->path->size;
        if (enter(walk, name))
            visit_value(walk, value, level + 1);
        walk->path->size = size;
    }
}

/* Calls `visit` for the places of a value, at most CONTENT_PLACES and
 * CONTENT_LEVELS deep. `path` is scratch; the place's path is valid during the
 * call. */
static void content_visit(struct kx_slice json, struct kx_buffer *path,
                          content_place_fn *visit, void *target)
{
    struct place_walk walk = {.path = path, .visit = visit, .target = target};
    struct kx_slice token;
    path->size = 0;
    if (json.size > 0 && kx_json_find(json, kx_text(""), &token))
        visit_value(&walk, token, 0);
}

/* ==== Candidates ======================================================== */

/* A sample of index entries is paired with the primary entries that they tell.
 * In each pair every place of the primary value is compared with every part of
 * the index key; the place that is equal in most pairs becomes the field. Equal
 * values count as evidence by how rare they are, so that constants and small
 * numbers, which are equal by chance, propose nothing. */

/* How an index entry tells its primary entry. */
enum link_kind {
    LINK_TAIL,   /* its key ends with the parts of the primary key */
    LINK_VALUE,  /* its value is the primary key, or the parts of it */
    LINK_MEMBER, /* a member of its value is the last part of the primary key */
    LINK_FIELD   /* only by the field's value in its key */
};

struct link {
    enum link_kind kind;
    struct kx_slice member; /* of LINK_MEMBER: its name, a string token */
};

/* An entry of a sample, copied. */
struct row {
    struct kx_slice key;
    struct kx_slice json;     /* its value */
    struct kx_slice document; /* the JSON in which an index sees the value */
};

struct row_sample {
    struct row *rows;
    size_t count;
};

struct candidate {
    const struct key_group *primaries;
    const struct key_group *entries; /* of the index */
    struct link link;
    enum kx_hand_form form;
    bool extra; /* the member of the link is not part of the primary value */
    struct kx_slice members[KX_STORED_MAX]; /* of KX_HAND_MEMBERS: their names,
                                             * string tokens */
    size_t member_count;
    struct field fields[KX_FIELDS_MAX];
    size_t field_count;
    struct kx_slice where_path; /* with where_value (JSON): a condition, if
                                 * where_value is not empty */
    struct kx_slice where_value;
    bool adopts;
    struct declaration *declaration;
    struct kx_slice text; /* of the declaration, as a client declares it */
};

/* Reads entries and copies them. */
struct row_reader {
    struct kx_reader *reader;
    void *mem; /* of the copies */
    struct kx_buffer record;
    struct kx_buffer text;
    struct index_document document;
};

enum {
    PAIRS_MAX = 64,   /* a bit each */
    FIRST_PAIRS = 8,  /* if none of the first rows tells an entry, none does */
    FIELD_ROWS = 32,  /* primary entries whose values are looked up as keys */
    FIELD_PAIRS = 6,  /* of these must be found */
    LINK_MEMBERS = 8, /* members that may be the link */
    TALLIES_MAX = 512,
    WHERE_MISSING = 4,  /* primary entries without index entry, at least */
    WHERE_PRESENT = 90, /* percent of entries with index entry that have it */
    WHERE_ABSENT = 25   /* percent of the others that may have it */
};

struct row_pair {
    const struct row *entry;
    struct row primary;
};

/* Votes for a place to be the field at a position of the index key. */
struct field_votes {
    size_t position;
    struct field field;
    uint64_t pairs;    /* bit set: those in which it is equal */
    uint64_t identity; /* bit set: those in which it is the primary key, too */
};

struct trial {
    struct row_reader *rows;
    struct candidate *candidate;
    struct row_pair pairs[PAIRS_MAX];
    size_t pair_count;
    struct field_votes tallies[TALLIES_MAX];
    size_t tally_count;
    size_t pair;                                 /* the one that is compared */
    struct kx_slice parts[KX_DISCOVER_REST_MAX]; /* of its index key */
    struct kx_slice last; /* last part of its primary key */
    struct kx_buffer path;
    struct kx_buffer part;
    struct kx_buffer key;
};

static bool likely(size_t count, size_t of)
{
    return count > 0 && count * 100 >= of * KX_DISCOVER_LIKELY;
}

static struct kx_slice rest_of(const struct key_group *group,
                               struct kx_slice key)
{
    return kx_slice(key.data + group->prefix.size,
                    key.size - group->prefix.size);
}

static struct kx_slice nth_part(struct kx_slice parts, size_t n)
{
    size_t at = survey_parts_size(parts, n);
    struct kx_slice rest = kx_slice(parts.data + at, parts.size - at);
    return kx_slice(rest.data, kx_part_size(rest));
}

/* ---- Rows --------------------------------------------------------------- */

static void row_reader_init(struct row_reader *rows, void *mem,
                            struct kx_reader *reader)
{
    rows->reader = reader;
    rows->mem = mem;
    kx_buffer_init(&rows->record, mem);
    kx_buffer_init(&rows->text, mem);
    index_document_init(&rows->document, mem);
}

/* KX_OK; KX_ABSENT: no entry, or its value has more than KX_DISCOVER_VALUE
 * bytes; KX_NO_MEMORY, errors of the storage. */
static enum kx_status row_read(struct row_reader *rows, struct kx_slice key,
                               struct row *row_out)
{
    struct kx_entry entry;
    struct kx_slice json;
    struct kx_slice document;
    enum kx_status status =
        kx_read(rows->reader, key, &rows->record, &entry, NULL);
    if (status != KX_OK)
        return status;
    if (entry.value.data.size > KX_DISCOVER_VALUE)
        return KX_ABSENT;
    kx_buffer_clear(&rows->text);
    content_json(&entry.value, &rows->text, &json);
    status = index_document_of_value(&rows->document, &entry.value, &document);
    if (status == KX_OK &&
        (rows->text.failed || !kx_slice_copy(rows->mem, key, &row_out->key) ||
         !kx_slice_copy(rows->mem, json, &row_out->json) ||
         !kx_slice_copy(rows->mem, document, &row_out->document)))
        status = KX_NO_MEMORY;
    return status;
}

/* ---- The link ----------------------------------------------------------- */

static bool find_member(struct kx_slice object, struct kx_slice name,
                        struct kx_slice *value_out)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    if (kx_json_type(object) != KX_JSON_OBJECT ||
        !kx_json_iterate(object, &iter))
        return false;
    while (kx_json_next(&iter, &token, value_out))
        if (json_string_equal(token, name))
            return true;
    return false;
}

/* Appends the parts of a primary key: all of them, or those after the
 * prefix. */
static bool add_key(const struct key_group *primaries, struct kx_slice json,
                    struct kx_buffer *key)
{
    struct kx_slice rest;
    if (json.size > KX_KEY_MAX * 6 || !content_parts(json, key))
        return false;
    if (group_has(primaries, kx_buffer_slice(key), &rest))
        return true;
    if (survey_parts_count(kx_buffer_slice(key)) != primaries->rest)
        return false;
    key->size = 0;
    kx_add_slice(key, primaries->prefix);
    return content_parts(json, key);
}

/* Replaces key_out by the key of the primary entry that an index entry tells,
 * whether or not that entry exists. rest: the parts of the index entry's key
 * after the prefix. False: it tells none. */
static bool candidate_primary(const struct candidate *candidate,
                              struct kx_slice rest, struct kx_slice json,
                              struct kx_buffer *key_out)
{
    const struct key_group *primaries = candidate->primaries;
    struct kx_slice member;
    kx_buffer_clear(key_out);
    switch (candidate->link.kind) {
    case LINK_TAIL: {
        size_t at =
            survey_parts_size(rest, candidate->entries->rest - primaries->rest);
        kx_add_slice(key_out, primaries->prefix);
        kx_add(key_out, rest.data + at, rest.size - at);
        return !key_out->failed;
    }
    case LINK_VALUE:
        return add_key(primaries, json, key_out) && !key_out->failed;
    case LINK_MEMBER:
        return find_member(json, candidate->link.member, &member) &&
               kx_json_type(member) != KX_JSON_ARRAY &&
               add_key(primaries, member, key_out) && !key_out->failed;
    case LINK_FIELD:
        break;
    }
    return false;
}

/* Takes the pair of an index entry, if its primary entry exists. */
static enum kx_status pair_entry(struct trial *trial, const struct row *entry)
{
    const struct candidate *candidate = trial->candidate;
    struct row_pair *pair = &trial->pairs[trial->pair_count];
    if (!candidate_primary(candidate, rest_of(candidate->entries, entry->key),
                           entry->json, &trial->key))
        return KX_OK;
    enum kx_status status =
        row_read(trial->rows, kx_buffer_slice(&trial->key), &pair->primary);
    pair->entry = entry;
    if (status == KX_OK)
        trial->pair_count++;
    return status == KX_ABSENT ? KX_OK : status;
}

/* KX_ABSENT: too few have a primary entry. */
static enum kx_status pair_entries(struct trial *trial,
                                   const struct row *entries, size_t count)
{
    enum kx_status status = KX_OK;
    trial->pair_count = 0;
    if (count > PAIRS_MAX)
        count = PAIRS_MAX;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        if (i == FIRST_PAIRS && trial->pair_count == 0)
            return KX_ABSENT;
        status = pair_entry(trial, &entries[i]);
    }
    if (status != KX_OK)
        return status;
    return likely(trial->pair_count, count) ? KX_OK : KX_ABSENT;
}

/* ---- Fields ------------------------------------------------------------- */

static bool same_place(const struct field *a, const struct field *b)
{
    return a->key_part == b->key_part && a->fold == b->fold &&
           a->each == b->each && kx_equal(a->path, b->path);
}

static void vote(struct trial *trial, size_t position,
                 const struct field *field, bool identity)
{
    struct field_votes *tally = trial->tallies;
    size_t left = trial->tally_count;
    for (; left > 0; left--, tally++)
        if (tally->position == position && same_place(&tally->field, field))
            break;
    if (left == 0) {
        if (trial->tally_count == TALLIES_MAX)
            return;
        *tally = (struct field_votes){.position = position, .field = *field};
        if (!kx_slice_copy(trial, field->path, &tally->field.path))
            return;
        trial->tally_count++;
    }
    tally->pairs |= UINT64_C(1) << trial->pair;
    if (identity)
        tally->identity |= UINT64_C(1) << trial->pair;
}

/* Votes for the field at all positions where the index key has this part. */
static void vote_where_equal(struct trial *trial, struct kx_slice part,
                             const struct field *field, bool identity)
{
    for (size_t i = 0; i < trial->candidate->field_count; i++)
        if (kx_equal(part, trial->parts[i]))
            vote(trial, i, field, identity);
}

/* Votes for the place in each form in which it equals a part of the key. */
static void compare_place(void *target, const struct content_place *place)
{
    struct trial *trial = target;
    struct field field = {.path = place->path, .each = place->each};
    bool identity = false;
    bool text = place->token.data[0] == '"';
    for (int fold = FOLD_NONE; fold <= (text ? FOLD_CASEFOLD : FOLD_NONE);
         fold++) {
        kx_buffer_clear(&trial->part);
        if (indexable_add_value(place->token, (enum fold)fold, false,
                                &trial->part) != KX_OK)
            return;
        struct kx_slice part = kx_buffer_slice(&trial->part);
        identity |= fold == FOLD_NONE && kx_equal(part, trial->last);
        field.fold = (enum fold)fold;
        vote_where_equal(trial, part, &field, identity);
    }
}

static void compare_pair(struct trial *trial)
{
    const struct candidate *candidate = trial->candidate;
    const struct row_pair *pair = &trial->pairs[trial->pair];
    struct kx_slice key = rest_of(candidate->entries, pair->entry->key);
    struct kx_slice owner = rest_of(candidate->primaries, pair->primary.key);
    trial->last = nth_part(owner, candidate->primaries->rest - 1);
    for (size_t i = 0; i < candidate->field_count; i++)
        trial->parts[i] = nth_part(key, i);
    content_visit(pair->primary.document, &trial->path, compare_place, trial);
    for (size_t n = 1; n <= candidate->primaries->rest; n++) {
        struct field field = {.key_part = n};
        vote_where_equal(trial, nth_part(owner, n - 1), &field, true);
    }
}

static size_t ones(uint64_t bits)
{
    return (size_t)__builtin_popcountll(bits);
}

/* True if a is the better of two fields: it is equal in more pairs or, in as
 * many, needs less. */
static bool better(const struct field_votes *a, const struct field_votes *b)
{
    size_t x = ones(a->pairs);
    size_t y = ones(b->pairs);
    if (x != y)
        return x > y;
    if ((a->field.key_part == 0) != (b->field.key_part == 0))
        return a->field.key_part == 0;
    if (a->field.fold != b->field.fold)
        return a->field.fold < b->field.fold;
    if (a->field.each != b->field.each)
        return !a->field.each;
    return a->field.path.size < b->field.path.size;
}

/* How surprising it is that the field is equal, in bits. 0 if as many pairs
 * would be equal by chance. `key_at` n: the n-th part of all index keys. */
static double evidence(const struct trial *trial,
                       const struct field_votes *tally)
{
    const struct key_group *entries = trial->candidate->entries;
    uint64_t hashes[PAIRS_MAX];
    size_t count = trial->pair_count;
    double bits = 0;
    double chance = 0;
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_bytes(nth_part(
            rest_of(entries, trial->pairs[i].entry->key), tally->position));
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < count; k++)
            same += hashes[k] == hashes[i];
        chance += (double)same / (double)(count * count);
        if ((tally->pairs >> i & 1) != 0)
            bits += log2((double)count / (double)same);
    }
    double equal = (double)ones(tally->pairs) / (double)count;
    bool by_chance = equal - chance < (1 - chance) * KX_DISCOVER_LIKELY / 100.0;
    return by_chance ? 0 : bits;
}

/* Returns the best field of a position, or NULL. */
static const struct field_votes *best_field(const struct trial *trial,
                                            size_t position, bool has_each)
{
    const struct field_votes *best = NULL;
    for (size_t n = 0; n < trial->tally_count; n++) {
        const struct field_votes *votes = &trial->tallies[n];
        if (votes->position == position && !(has_each && votes->field.each) &&
            (best == NULL || better(votes, best)))
            best = votes;
    }
    return best;
}

/* Chooses the field of each position. False: one has none, or all could be
 * chance. The parts of the primary key are no evidence. */
static bool choose_fields(struct trial *trial)
{
    struct candidate *candidate = trial->candidate;
    double bits = 0;
    bool has_each = false;
    for (size_t i = 0; i < candidate->field_count; i++) {
        const struct field_votes *best = best_field(trial, i, has_each);
        if (best == NULL || !likely(ones(best->pairs), trial->pair_count))
            return false;
        if (!likely(ones(best->identity), ones(best->pairs)))
            bits += evidence(trial, best);
        has_each |= best->field.each;
        candidate->fields[i] = best->field;
        if (!kx_slice_copy(candidate, best->field.path,
                           &candidate->fields[i].path))
            return false;
    }
    return bits >= KX_DISCOVER_EVIDENCE;
}

static bool find_fields(struct trial *trial)
{
    struct candidate *candidate = trial->candidate;
    size_t owner =
        candidate->link.kind == LINK_TAIL ? candidate->primaries->rest : 0;
    candidate->field_count = candidate->entries->rest - owner;
    trial->tally_count = 0;
    for (trial->pair = 0; trial->pair < trial->pair_count; trial->pair++)
        compare_pair(trial);
    return choose_fields(trial);
}

/* ---- Forms -------------------------------------------------------------- */

static uint64_t hash_without(struct kx_slice object, struct kx_slice without)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    uint64_t hash = content_hash(kx_text("{}"));
    if (kx_json_type(object) != KX_JSON_OBJECT ||
        !kx_json_iterate(object, &iter))
        return content_hash(object);
    while (kx_json_next(&iter, &name, &value))
        if (!json_string_equal(name, without))
            hash += content_hash_members(object, &name, 1) -
                    content_hash(kx_text("{}"));
    return hash;
}

/* Returns the hash of the member that tells the primary key. */
static uint64_t hash_link(const struct candidate *candidate,
                          struct kx_slice json, struct kx_buffer *scratch)
{
    struct kx_slice member;
    return find_member(json, candidate->link.member, &member) &&
                   content_parts(member, scratch)
               ? hash_bytes(kx_buffer_slice(scratch))
               : 0;
}

/* Returns a hash of what an index entry holds, and of what it should hold. They
 * are equal if the entry is right. */
static uint64_t candidate_content(const struct candidate *candidate,
                                  struct kx_slice json,
                                  struct kx_buffer *scratch)
{
    kx_buffer_clear(scratch);
    switch (candidate->form) {
    case KX_HAND_KEY:
    case KX_HAND_PARTS:
        return content_parts(json, scratch)
                   ? hash_bytes(kx_buffer_slice(scratch))
                   : 0;
    case KX_HAND_EMPTY:
        return content_is_empty(json) ? 1 : 0;
    case KX_HAND_MEMBERS:
        if (candidate->member_count == 0)
            return hash_link(candidate, json, scratch);
        break;
    case KX_HAND_COPY:
    case KX_HAND_FORMS:
        break;
    }
    return candidate->extra ? hash_without(json, candidate->link.member)
                            : content_hash(json);
}

/* Returns the hash of what the index entry of an entry should hold. */
static uint64_t candidate_expected(const struct candidate *candidate,
                                   struct kx_slice primary_key,
                                   struct kx_slice json)
{
    struct kx_slice rest = rest_of(candidate->primaries, primary_key);
    switch (candidate->form) {
    case KX_HAND_KEY:
        return hash_bytes(primary_key);
    case KX_HAND_EMPTY:
        return 1;
    case KX_HAND_COPY:
        return content_hash(json);
    case KX_HAND_MEMBERS:
        if (candidate->member_count > 0)
            return content_hash_members(json, candidate->members,
                                        candidate->member_count);
        break;
    case KX_HAND_PARTS:
    case KX_HAND_FORMS:
        break;
    }
    return hash_bytes(rest);
}

static size_t count_form(struct trial *trial, enum kx_hand_form form)
{
    size_t count = 0;
    trial->candidate->form = form;
    for (size_t i = 0; i < trial->pair_count; i++) {
        const struct row_pair *pair = &trial->pairs[i];
        count += candidate_content(trial->candidate, pair->entry->json,
                                   &trial->part) ==
                 candidate_expected(trial->candidate, pair->primary.key,
                                    pair->primary.json);
    }
    return count;
}

/* True if all members of the entry's value but the link's are members of the
 * primary value. */
static bool is_part(const struct candidate *candidate,
                    const struct row_pair *pair, bool *extra_out)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    struct kx_slice other;
    if (kx_json_type(pair->entry->json) != KX_JSON_OBJECT ||
        !kx_json_iterate(pair->entry->json, &iter))
        return false;
    while (kx_json_next(&iter, &name, &value)) {
        bool there = find_member(pair->primary.json, name, &other);
        if (there && content_hash(value) == content_hash(other))
            continue;
        if (there || candidate->link.kind != LINK_MEMBER ||
            !json_string_equal(name, candidate->link.member))
            return false;
        *extra_out = true;
    }
    return true;
}

/* Adds the members of an entry's value that its primary value has. False: there
 * are too many. */
static bool add_members(struct candidate *candidate,
                        const struct row_pair *pair)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(pair->entry->json, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        size_t i = 0;
        while (i < candidate->member_count &&
               !json_string_equal(name, candidate->members[i]))
            i++;
        if (i < candidate->member_count ||
            !find_member(pair->primary.json, name, &value))
            continue;
        if (i == KX_STORED_MAX || memchr(name.data, '\\', name.size) != NULL ||
            !kx_slice_copy(candidate, name, &candidate->members[i]))
            return false;
        candidate->member_count++;
    }
    return true;
}

static bool find_members(struct trial *trial)
{
    struct candidate *candidate = trial->candidate;
    size_t count = 0;
    candidate->form = KX_HAND_MEMBERS;
    candidate->member_count = 0;
    for (size_t i = 0; i < trial->pair_count; i++) {
        bool extra = false;
        if (!is_part(candidate, &trial->pairs[i], &extra))
            continue;
        count++;
        candidate->extra |= extra;
        if (!add_members(candidate, &trial->pairs[i]))
            return false;
    }
    /* A value found only by its key must hold more than what is in the key. */
    size_t least = candidate->link.kind == LINK_FIELD    ? 2
                   : candidate->link.kind == LINK_MEMBER ? 0
                                                         : 1;
    return likely(count, trial->pair_count) && candidate->member_count >= least;
}

static bool find_form(struct trial *trial)
{
    static const enum kx_hand_form forms[] = {KX_HAND_PARTS, KX_HAND_KEY,
                                              KX_HAND_COPY};
    struct candidate *candidate = trial->candidate;
    candidate->extra = false;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (likely(count_form(trial, forms[i]), trial->pair_count))
            return true;
    candidate->extra = candidate->link.kind == LINK_MEMBER;
    if (candidate->extra &&
        likely(count_form(trial, KX_HAND_COPY), trial->pair_count))
        return true;
    candidate->extra = false;
    if (candidate->link.kind == LINK_TAIL &&
        likely(count_form(trial, KX_HAND_EMPTY), trial->pair_count))
        return true;
    return find_members(trial);
}

/* ---- Links by field ----------------------------------------------------- */

/* Looks up the entries that have a value of a primary entry as their key. */
struct field_search {
    struct trial *trial;
    const struct row *primary;
    bool found;
    enum kx_status status;
};

static void look_up_place(void *target, const struct content_place *place)
{
    struct field_search *search = target;
    struct trial *trial = search->trial;
    const struct candidate *candidate = trial->candidate;
    bool text = place->token.data[0] == '"';
    for (int fold = FOLD_NONE; fold <= (text ? FOLD_CASEFOLD : FOLD_NONE);
         fold++) {
        if (search->found || search->status != KX_OK)
            return;
        struct row *entry = talloc(trial->rows->mem, struct row);
        kx_buffer_clear(&trial->key);
        kx_add_slice(&trial->key, candidate->entries->prefix);
        if (entry == NULL || indexable_add_value(place->token, (enum fold)fold,
                                                 false, &trial->key) != KX_OK)
            return;
        enum kx_status status =
            row_read(trial->rows, kx_buffer_slice(&trial->key), entry);
        search->found = status == KX_OK;
        if (status == KX_OK)
            trial->pairs[trial->pair_count++] =
                (struct row_pair){.entry = entry, .primary = *search->primary};
        else if (status != KX_ABSENT)
            search->status = status;
    }
}

static enum kx_status pair_by_field(struct trial *trial)
{
    const struct key_group *primaries = trial->candidate->primaries;
    enum kx_status status = KX_OK;
    trial->pair_count = 0;
    if (trial->candidate->entries->rest != 1)
        return KX_ABSENT;
    for (size_t i = 0; i < primaries->sample_count && i < FIELD_ROWS; i++) {
        struct row row;
        struct field_search search = {.trial = trial, .primary = &row};
        status = row_read(trial->rows, primaries->sample[i].key, &row);
        if (status == KX_OK)
            content_visit(row.document, &trial->path, look_up_place, &search);
        if (status == KX_OK)
            status = search.status;
        if (is_error(status))
            return status;
        if (i == FIRST_PAIRS && trial->pair_count == 0)
            return KX_ABSENT;
    }
    return trial->pair_count >= FIELD_PAIRS ? KX_OK : KX_ABSENT;
}

/* ---- The candidate ------------------------------------------------------ */

static enum kx_status try_link(struct trial *trial, const struct row *entries,
                               size_t count)
{
    void *mem = trial->rows->mem;
    void *pairs = talloc_new(trial);
    if (pairs == NULL)
        return KX_NO_MEMORY;
    trial->rows->mem = pairs;
    enum kx_status status = trial->candidate->link.kind == LINK_FIELD
                                ? pair_by_field(trial)
                                : pair_entries(trial, entries, count);
    if (status == KX_OK && !(find_fields(trial) && find_form(trial)))
        status = KX_ABSENT;
    trial->rows->mem = mem;
    talloc_free(pairs);
    return status;
}

static enum kx_status try_members(struct trial *trial,
                                  const struct row *entries, size_t count)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    enum kx_status status = KX_ABSENT;
    if (trial->candidate->primaries->rest != 1 ||
        kx_json_type(entries[0].json) != KX_JSON_OBJECT)
        return KX_ABSENT;
    trial->candidate->link.kind = LINK_MEMBER;
    kx_json_iterate(entries[0].json, &iter);
    for (size_t i = 0; status == KX_ABSENT && i < LINK_MEMBERS &&
                       kx_json_next(&iter, &name, &value);
         i++) {
        if (!kx_slice_copy(trial->candidate, name,
                           &trial->candidate->link.member))
            return KX_NO_MEMORY;
        status = try_link(trial, entries, count);
    }
    return status;
}

static enum kx_status try_links(struct trial *trial, const struct row *entries,
                                size_t count)
{
    struct candidate *candidate = trial->candidate;
    enum kx_status status = KX_ABSENT;
    candidate->link.kind = LINK_TAIL;
    if (candidate->entries->rest > candidate->primaries->rest)
        status = try_link(trial, entries, count);
    if (status == KX_ABSENT) {
        candidate->link.kind = LINK_VALUE;
        status = try_link(trial, entries, count);
    }
    if (status == KX_ABSENT)
        status = try_members(trial, entries, count);
    /* This takes many look-ups, so it is left for copies. */
    if (status == KX_ABSENT &&
        kx_json_type(entries[0].json) == KX_JSON_OBJECT) {
        candidate->link.kind = LINK_FIELD;
        status = try_link(trial, entries, count);
    }
    return status;
}

/* Compares samples: `entries` are rows of the group `index`. KX_OK and a
 * candidate under mem, without a declaration; KX_ABSENT: there is no sign that
 * one is an index of the other; KX_NO_MEMORY, errors of the storage. Inside a
 * view. */
static enum kx_status candidate_make(struct row_reader *rows,
                                     const struct key_group *primaries,
                                     const struct key_group *index,
                                     const struct row_sample *entries,
                                     struct candidate **candidate_out)
{
    struct trial *trial = talloc_zero(rows->mem, struct trial);
    struct candidate *candidate = talloc_zero(rows->mem, struct candidate);
    if (trial == NULL || candidate == NULL)
        return KX_NO_MEMORY;
    candidate->primaries = primaries;
    candidate->entries = index;
    trial->rows = rows;
    trial->candidate = candidate;
    kx_buffer_init(&trial->path, trial);
    kx_buffer_init(&trial->part, trial);
    kx_buffer_init(&trial->key, trial);
    enum kx_status status = try_links(trial, entries->rows, entries->count);
    talloc_free(trial);
    *candidate_out = candidate;
    return status;
}

/* ---- The declaration ---------------------------------------------------- */

static void write_field(const struct field *field, struct kx_buffer *out)
{
    char part[32];
    if (field->key_part != 0) {
        snprintf(part, sizeof part, "{\"key\":%zu}", field->key_part);
        kx_add_text(out, part);
        return;
    }
    kx_add_text(out, "{\"path\":");
    kx_json_escape(field->path, out);
    if (field->fold != FOLD_NONE)
        kx_add_text(out, field->fold == FOLD_LOWER ? ",\"fold\":\"lower\""
                                                   : ",\"fold\":\"casefold\"");
    kx_add_text(out, field->each ? ",\"each\":true}" : "}");
}

static void write_store(const struct candidate *candidate,
                        struct kx_buffer *out)
{
    if (candidate->form == KX_HAND_COPY)
        kx_add_text(out, ",\"store\":\"value\"");
    if (candidate->form != KX_HAND_MEMBERS || candidate->member_count == 0)
        return;
    kx_add_text(out, ",\"store\":{\"fields\":[");
    for (size_t i = 0; i < candidate->member_count; i++) {
        kx_add_text(out, i == 0 ? "\"/" : ",\"/");
        add_token(json_string_body(candidate->members[i]), out);
        kx_add_byte(out, '"');
    }
    kx_add_text(out, "]}");
}

static void write_where(const struct candidate *candidate,
                        struct kx_buffer *out)
{
    if (candidate->where_value.size == 0)
        return;
    kx_add_text(out, ",\"where\":{\"path\":");
    kx_json_escape(candidate->where_path, out);
    kx_add_text(out, ",\"eq\":");
    kx_add_slice(out, candidate->where_value);
    kx_add_byte(out, '}');
}

static void write_declaration(const struct candidate *candidate,
                              struct kx_slice name, struct kx_buffer *out)
{
    const struct key_group *primaries = candidate->primaries;
    char depth[32];
    kx_add_text(out, "{\"name\":");
    kx_json_escape(name, out);
    kx_add_text(out, ",\"prefix\":");
    kx_key_to_json(primaries->prefix, out);
    kx_add_text(out, ",\"fields\":[");
    for (size_t i = 0; i < candidate->field_count; i++) {
        kx_add_text(out, i == 0 ? "" : ",");
        write_field(&candidate->fields[i], out);
    }
    kx_add_byte(out, ']');
    if (primaries->under != primaries->entries) {
        snprintf(depth, sizeof depth, ",\"depth\":%zu", primaries->rest);
        kx_add_text(out, depth);
    }
    if (candidate->link.kind != LINK_TAIL)
        kx_add_text(out, ",\"unique\":true");
    write_store(candidate, out);
    write_where(candidate, out);
    kx_add_text(out, candidate->adopts ? ",\"adopt\":true}" : "}");
}

/* Makes the declaration. With `name` the index has this name and adopts
 * nothing; without it the index has the name of the prefix and adopts the
 * entries. KX_OK; KX_BAD_INDEX: there is no such declaration; KX_NO_MEMORY. */
static enum kx_status candidate_declare(struct candidate *candidate,
                                        const char *name)
{
    struct kx_buffer out;
    struct kx_fault fault = {0};
    struct kx_buffer text;
    kx_buffer_init(&text, candidate);
    kx_buffer_init(&out, candidate);
    if (name == NULL)
        kx_key_index_name(candidate->entries->prefix, &text);
    else
        kx_add_text(&text, name);
    if (name == NULL && (candidate->entries->parts != 1 || text.size == 0))
        return KX_BAD_INDEX;
    candidate->adopts = name == NULL;
    write_declaration(candidate, kx_buffer_slice(&text), &out);
    if (out.failed || text.failed)
        return KX_NO_MEMORY;
    candidate->text = kx_buffer_slice(&out);
    talloc_free(candidate->declaration);
    candidate->declaration = NULL;
    return declaration_parse(candidate, candidate->text,
                             &candidate->declaration, &fault);
}

/* ---- The condition ------------------------------------------------------ */

struct where_rows {
    struct candidate *candidate;
    struct row rows[PAIRS_MAX];
    bool present[PAIRS_MAX]; /* it has an index entry */
    size_t count;
    size_t present_count;
    size_t best; /* how many rows the condition explains */
};

/* KX_ABSENT: the index covers no such entry. */
static enum kx_status has_index_entry(struct candidate *candidate,
                                      struct row_reader *rows,
                                      struct extract *extract,
                                      const struct row *row, bool *has_out)
{
    const struct declaration *declaration = candidate->declaration;
    struct record record = {
        .encoding = KX_JSON, .value = row->document, .stamp = 1};
    struct kx_entry entry;
    enum kx_status status =
        row->document.size == 0
            ? KX_ABSENT
            : extract_keys(extract, declaration, row->key, &record);
    if (status != KX_OK || extract->count == 0)
        return status == KX_NO_MEMORY ? status : KX_ABSENT;
    struct kx_slice key = extract_key(extract, 0);
    size_t name = declaration->name_key.size;
    kx_buffer_clear(&rows->text);
    kx_add_slice(&rows->text, candidate->entries->prefix);
    kx_add(&rows->text, key.data + name, key.size - name);
    status = kx_read(rows->reader, kx_buffer_slice(&rows->text), &rows->record,
                     &entry, NULL);
    *has_out = status == KX_OK;
    return status == KX_ABSENT ? KX_OK : status;
}

/* Replaces the condition of the candidate. False if memory ran out: then the
 * candidate has no condition. */
static bool set_condition(struct candidate *candidate,
                          const struct content_place *place)
{
    talloc_free((void *)candidate->where_path.data);
    talloc_free((void *)candidate->where_value.data);
    candidate->where_path = candidate->where_value = kx_slice(NULL, 0);
    return kx_slice_copy(candidate, place->path, &candidate->where_path) &&
           kx_slice_copy(candidate, place->token, &candidate->where_value);
}

static void try_condition(void *target, const struct content_place *place)
{
    struct where_rows *where = target;
    uint64_t hash = content_hash(place->token);
    struct kx_slice value;
    size_t with[2] = {0, 0};
    if (place->each)
        return;
    for (size_t i = 0; i < where->count; i++)
        with[where->present[i]] +=
            kx_json_find(where->rows[i].document, place->path, &value) &&
            content_hash(value) == hash;
    size_t missing = where->count - where->present_count;
    size_t explained = with[true] + missing - with[false];
    if (with[true] * 100 < where->present_count * WHERE_PRESENT ||
        with[false] * 100 > missing * WHERE_ABSENT || explained <= where->best)
        return;
    if (set_condition(where->candidate, place))
        where->best = explained;
}

static enum kx_status sample_present(struct where_rows *where,
                                     struct row_reader *rows)
{
    const struct key_group *primaries = where->candidate->primaries;
    struct extract extract;
    enum kx_status status = KX_OK;
    extract_init(&extract, where);
    for (size_t i = 0; i < primaries->sample_count && where->count < PAIRS_MAX;
         i++) {
        struct row *row = &where->rows[where->count];
        bool *present = &where->present[where->count];
        status = row_read(rows, primaries->sample[i].key, row);
        if (status == KX_OK)
            status =
                has_index_entry(where->candidate, rows, &extract, row, present);
        if (is_error(status))
            return status;
        if (status != KX_OK)
            continue;
        where->present_count += *present;
        where->count++;
    }
    return KX_OK;
}

/* If the sampled primary entries that lack an index entry differ from the
 * others in one value, makes that the condition of the declaration. KX_OK,
 * KX_NO_MEMORY, errors of the storage. Inside a view. */
static enum kx_status candidate_find_where(struct candidate *candidate,
                                           struct row_reader *rows)
{
    struct where_rows *where = talloc_zero(rows->mem, struct where_rows);
    if (where == NULL)
        return KX_NO_MEMORY;
    where->candidate = candidate;
    enum kx_status status = sample_present(where, rows);
    size_t missing = where->count - where->present_count;
    if (status == KX_OK && missing >= WHERE_MISSING)
        for (size_t i = 0; i < where->count; i++)
            if (where->present[i]) {
                content_visit(where->rows[i].document, &rows->text,
                              try_condition, where);
                break;
            }
    talloc_free(where);
    return status;
}

/* ==== Proofs ============================================================ */

/* First the primary entries are read: each index key that they yield is put in
 * a table of hashes, with a hash of what the index entry should hold. Then the
 * index entries are looked up there. If index entries are missing, the primary
 * entries are read once more to name them. If the table would have more than
 * KX_DISCOVER_KEYS keys, all is done in several rounds, each for a share of the
 * keys. */

enum {
    FIRST_SLOTS = 1024,
    FREE = 0, /* the low bits of a slot's key */
    EXPECTED = 1,
    SEEN = 2, /* its index entry was read */
    BITS = 3
};

/* Keys are hashes: of a million keys two are taken for one with a probability
 * of one in ten million. */
struct key_slot {
    uint64_t key;
    uint64_t content;
};

enum phase { EXPECT, COMPARE, NAME_MISSING };

struct proof {
    const struct candidate *candidate;
    struct kx_hand_index *result;
    enum phase phase;
    uint64_t rounds;
    uint64_t round;
    struct key_slot *slots;
    size_t capacity;
    size_t count;
    bool full;
    uint64_t expected; /* index keys, in all rounds */
    struct extract extract;
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer after;
    struct kx_buffer text;
    struct kx_buffer scratch;
    struct kx_buffer record;
    struct kx_buffer key; /* of the index entry, since a look-up may replace
                           * what the scan has shown */
    struct kx_buffer primary;
};

/* ---- The table ---------------------------------------------------------- */

static uint64_t slot_hash(struct kx_slice rest)
{
    return hash_bytes(rest) & ~(uint64_t)BITS;
}

/* The key under which a second entry with a key is noted, with its content. */
static uint64_t twin_hash(uint64_t hash, uint64_t content)
{
    return hash_word(hash, content) & ~(uint64_t)BITS;
}

static struct key_slot *find(const struct proof *proof, uint64_t hash)
{
    size_t at = (size_t)(hash >> 8) & (proof->capacity - 1);
    while ((proof->slots[at].key & BITS) != FREE &&
           (proof->slots[at].key & ~(uint64_t)BITS) != hash)
        at = (at + 1) & (proof->capacity - 1);
    return &proof->slots[at];
}

static bool is_used(const struct key_slot *slot)
{
    return (slot->key & BITS) != FREE;
}

static bool resize(struct proof *proof, size_t capacity)
{
    struct key_slot *old = proof->slots;
    size_t old_capacity = old == NULL ? 0 : proof->capacity;
    proof->slots =
        talloc_zero_array(proof, struct key_slot, (unsigned)capacity);
    if (proof->slots == NULL) {
        proof->slots = old;
        return false;
    }
    proof->capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (is_used(&old[i]))
            *find(proof, old[i].key & ~(uint64_t)BITS) = old[i];
    talloc_free(old);
    return true;
}

/* Returns the slot for a hash that is not in the table yet; NULL if the table
 * is full or memory ran out. */
static struct key_slot *add(struct proof *proof, uint64_t hash)
{
    if (proof->count == KX_DISCOVER_KEYS) {
        proof->full = true;
        return NULL;
    }
    if (proof->count * 2 >= proof->capacity &&
        !resize(proof, proof->capacity * 2))
        return NULL;
    proof->count++;
    return find(proof, hash);
}

/* ---- Examples ----------------------------------------------------------- */

static void set_sample(struct kx_sample *sample, struct kx_slice key)
{
    memcpy(sample->key, key.data, key.size);
    sample->size = key.size;
}

/* index_key: the key of the index entry; primary may be empty. */
static void name_fault(struct kx_hand_index *result, enum kx_damage damage,
                       struct kx_slice index_key, struct kx_slice primary)
{
    size_t *count = &result->sample_counts[damage];
    if (*count == KX_SAMPLES_MAX || index_key.size > KX_SAMPLE_KEY_MAX ||
        primary.size > KX_SAMPLE_KEY_MAX)
        return;
    struct kx_damaged *sample = &result->samples[damage][*count];
    set_sample(&sample->index_key, index_key);
    sample->key.size = 0;
    if (primary.size > 0)
        set_sample(&sample->key, primary);
    ++*count;
}

static void name_key(struct proof *proof, enum kx_damage damage,
                     struct kx_slice rest, struct kx_slice primary)
{
    kx_buffer_clear(&proof->key);
    kx_add_slice(&proof->key, proof->candidate->entries->prefix);
    kx_add_slice(&proof->key, rest);
    if (!proof->key.failed)
        name_fault(proof->result, damage, kx_buffer_slice(&proof->key),
                   primary);
}

/* ---- The passes --------------------------------------------------------- */

static void begin_pass(struct proof *proof, enum phase phase)
{
    struct kx_slice prefix = phase == COMPARE
                                 ? proof->candidate->entries->prefix
                                 : proof->candidate->primaries->prefix;
    proof->phase = phase;
    kx_buffer_clear(&proof->start);
    kx_buffer_clear(&proof->end);
    kx_buffer_clear(&proof->after);
    kx_add_slice(&proof->start, prefix);
    kx_add_slice(&proof->end, prefix);
    kx_add_byte(&proof->end, 0xff);
}

/* Begins a proof under talloc context mem. The candidate has a declaration. It
 * must stay valid, as must *result, in which the numbers are counted and the
 * examples noted. NULL if memory ran out. */
static struct proof *proof_create(void *mem, const struct candidate *candidate,
                                  struct kx_hand_index *result)
{
    struct proof *proof = talloc_zero(mem, struct proof);
    if (proof == NULL)
        return NULL;
    proof->candidate = candidate;
    proof->result = result;
    proof->rounds = 1 + candidate->primaries->entries / KX_DISCOVER_KEYS;
    extract_init(&proof->extract, proof);
    kx_buffer_init(&proof->start, proof);
    kx_buffer_init(&proof->end, proof);
    kx_buffer_init(&proof->after, proof);
    kx_buffer_init(&proof->text, proof);
    kx_buffer_init(&proof->scratch, proof);
    kx_buffer_init(&proof->record, proof);
    kx_buffer_init(&proof->key, proof);
    kx_buffer_init(&proof->primary, proof);
    begin_pass(proof, EXPECT);
    if (resize(proof, FIRST_SLOTS))
        return proof;
    talloc_free(proof);
    return NULL;
}

static bool in_round(const struct proof *proof, uint64_t hash)
{
    return (hash >> 40) % proof->rounds == proof->round;
}

static enum kx_status put_slot(struct proof *proof, uint64_t hash,
                               uint64_t bits, uint64_t content)
{
    struct key_slot *slot = add(proof, hash);
    if (slot == NULL)
        return proof->full ? KX_OK : KX_NO_MEMORY;
    *slot = (struct key_slot){.key = hash | bits, .content = content};
    return KX_OK;
}

/* Notes one index key that a primary entry yields. */
static enum kx_status expect_key(struct proof *proof, struct kx_slice rest,
                                 struct kx_slice primary, uint64_t content)
{
    uint64_t hash = slot_hash(rest);
    if (!in_round(proof, hash))
        return KX_OK;
    proof->expected++;
    if (!is_used(find(proof, hash)))
        return put_slot(proof, hash, EXPECTED, content);
    proof->result->counts[KX_DUPLICATE]++;
    name_key(proof, KX_DUPLICATE, rest, primary);
    hash = twin_hash(hash, content);
    return is_used(find(proof, hash)) ? KX_OK
                                      : put_slot(proof, hash, SEEN, content);
}

static void name_missing(struct proof *proof, struct kx_slice rest,
                         struct kx_slice primary)
{
    uint64_t hash = slot_hash(rest);
    struct key_slot *slot = find(proof, hash);
    if (!in_round(proof, hash) || (slot->key & BITS) != EXPECTED)
        return;
    slot->key |= SEEN;
    proof->result->counts[KX_MISSING]++;
    name_key(proof, KX_MISSING, rest, primary);
}

/* Returns the hash of what the index entries of a primary entry should hold. */
static uint64_t expected_content(struct proof *proof,
                                 const struct kx_entry *entry)
{
    const struct candidate *candidate = proof->candidate;
    struct kx_slice json = {0};
    kx_buffer_clear(&proof->text);
    if (candidate->form == KX_HAND_COPY || candidate->form == KX_HAND_MEMBERS)
        content_json(&entry->value, &proof->text, &json);
    return proof->text.failed ? 0
                              : candidate_expected(candidate, entry->key, json);
}

/* Takes the index keys in proof->extract, in the first and in the last pass. */
static enum kx_status take_keys(struct proof *proof,
                                const struct kx_entry *entry)
{
    size_t name = proof->candidate->declaration->name_key.size;
    uint64_t content =
        proof->phase == EXPECT ? expected_content(proof, entry) : 0;
    enum kx_status status = proof->text.failed ? KX_NO_MEMORY : KX_OK;
    for (size_t n = 0; status == KX_OK && n < proof->extract.count; n++) {
        struct kx_slice key = extract_key(&proof->extract, n);
        struct kx_slice rest = kx_slice(key.data + name, key.size - name);
        if (proof->phase == EXPECT)
            status = expect_key(proof, rest, entry->key, content);
        else
            name_missing(proof, rest, entry->key);
    }
    return status;
}

static enum kx_status take_primary(struct proof *proof,
                                   const struct kx_entry *entry)
{
    const struct candidate *candidate = proof->candidate;
    struct record record = {.encoding = entry->value.encoding,
                            .stamp = entry->stamp,
                            .expires_at_ms = entry->expires_at_ms,
                            .media_type = entry->value.media_type,
                            .value = entry->value.data};
    struct kx_slice rest;
    if (!group_has(candidate->primaries, entry->key, &rest))
        return KX_OK;
    enum kx_status status = extract_keys(
        &proof->extract, candidate->declaration, entry->key, &record);
    if (status == KX_NOT_INDEXABLE)
        return KX_OK;
    return status == KX_OK ? take_keys(proof, entry) : status;
}

static void note_wrong(struct proof *proof, enum kx_damage damage,
                       struct kx_slice primary)
{
    proof->result->counts[damage]++;
    name_fault(proof->result, damage, kx_buffer_slice(&proof->key), primary);
}

/* Notes an index entry, in proof->key, that is not what it should be: dangling
 * if the primary entry that it tells does not exist. */
static enum kx_status take_wrong(struct proof *proof, struct kx_reader *reader,
                                 bool tells, bool expected)
{
    struct kx_entry entry;
    struct kx_slice primary = kx_buffer_slice(&proof->primary);
    enum kx_status status = KX_ABSENT;
    if (tells)
        status = kx_read(reader, primary, &proof->record, &entry, NULL);
    if (is_error(status))
        return status;
    bool stale = status == KX_OK || (expected && !tells);
    note_wrong(proof, stale ? KX_STALE : KX_DANGLING,
               tells ? primary : kx_slice(NULL, 0));
    return KX_OK;
}

/* Finds the slot that an index entry agrees with. Marks the key as seen. */
static bool agrees(struct proof *proof, uint64_t hash, struct kx_slice json,
                   bool *expected_out)
{
    struct key_slot *slot = find(proof, hash);
    *expected_out = is_used(slot);
    if (!is_used(slot))
        return false;
    uint64_t content =
        candidate_content(proof->candidate, json, &proof->scratch);
    slot->key |= SEEN;
    if (slot->content == content)
        return true;
    slot = find(proof, twin_hash(hash, content));
    return is_used(slot) && slot->content == content;
}

/* Entries of another length under the prefix are in the way of an index that
 * adopts it; otherwise they are not concerned. */
static enum kx_status take_index_entry(struct proof *proof,
                                       struct kx_reader *reader,
                                       const struct kx_entry *entry)
{
    const struct candidate *candidate = proof->candidate;
    struct kx_slice rest = {0};
    struct kx_slice json;
    bool tells = false;
    bool expected = false;
    bool fits = group_has(candidate->entries, entry->key, &rest);
    uint64_t hash = slot_hash(fits ? rest : entry->key);
    if (!in_round(proof, hash) || (!fits && !candidate->adopts))
        return KX_OK;
    proof->result->entries++;
    kx_buffer_clear(&proof->text);
    content_json(&entry->value, &proof->text, &json);
    if (fits && agrees(proof, hash, json, &expected)) {
        proof->result->agree++;
        return proof->text.failed ? KX_NO_MEMORY : KX_OK;
    }
    if (fits)
        tells = candidate_primary(candidate, rest, json, &proof->primary);
    kx_buffer_clear(&proof->key);
    kx_add_slice(&proof->key, entry->key);
    if (proof->text.failed || proof->key.failed || proof->primary.failed)
        return KX_NO_MEMORY;
    return take_wrong(proof, reader, tells, expected);
}

static bool misses_some(const struct proof *proof)
{
    for (size_t i = 0; i < proof->capacity; i++)
        if ((proof->slots[i].key & BITS) == EXPECTED)
            return true;
    return false;
}

static void begin_round(struct proof *proof)
{
    memset(proof->slots, 0, proof->capacity * sizeof *proof->slots);
    proof->count = 0;
    begin_pass(proof, EXPECT);
}

/* There are more keys than one round can hold. */
static void begin_again(struct proof *proof)
{
    struct kx_hand_index *result = proof->result;
    proof->rounds *= 2;
    proof->round = 0;
    proof->full = false;
    proof->expected = 0;
    result->entries = result->agree = 0;
    memset(result->counts, 0, sizeof result->counts);
    memset(result->sample_counts, 0, sizeof result->sample_counts);
    begin_round(proof);
}

/* KX_END: that was the last pass. */
static enum kx_status end_pass(struct proof *proof)
{
    if (proof->full) {
        begin_again(proof);
        return KX_OK;
    }
    if (proof->phase == EXPECT) {
        begin_pass(proof, COMPARE);
        return KX_OK;
    }
    if (proof->phase == COMPARE && misses_some(proof)) {
        begin_pass(proof, NAME_MISSING);
        return KX_OK;
    }
    if (++proof->round == proof->rounds)
        return KX_END;
    begin_round(proof);
    return KX_OK;
}

/* Examines about `limit` more entries, in a view. KX_OK: there are more;
 * KX_END: all are counted; KX_NO_MEMORY, errors of the storage. */
static enum kx_status proof_next(struct proof *proof, struct kx_reader *reader,
                                 size_t limit)
{
    struct kx_entry entry;
    struct kx_range range = {.start = kx_buffer_slice(&proof->start),
                             .end = kx_buffer_slice(&proof->end),
                             .after = kx_buffer_slice(&proof->after)};
    enum kx_status status = kx_scan(reader, &range, NULL);
    for (size_t i = 0; status == KX_OK && i < limit && !proof->full; i++) {
        status = kx_scan_next(reader, &entry);
        if (status != KX_OK)
            break;
        kx_buffer_clear(&proof->after);
        kx_add_slice(&proof->after, entry.key);
        status = proof->phase == COMPARE
                     ? take_index_entry(proof, reader, &entry)
                     : take_primary(proof, &entry);
    }
    kx_scan_end(reader);
    if (proof->after.failed || proof->end.failed)
        return KX_NO_MEMORY;
    return status == KX_END || (status == KX_OK && proof->full)
               ? end_pass(proof)
               : status;
}

/* True if enough of the index entries are right, and few entries share a key of
 * a unique index. After KX_END. */
static bool proof_holds(const struct proof *proof)
{
    const struct kx_hand_index *result = proof->result;
    return result->agree * 100 >= result->entries * KX_DISCOVER_AGREE &&
           result->counts[KX_DUPLICATE] * 100 <=
               proof->expected * (100 - KX_DISCOVER_AGREE) &&
           result->entries >= KX_DISCOVER_ENTRIES;
}

/* ==== The discovery ===================================================== */

/* The steps of a discovery: the survey of all keys, the comparison of the
 * samples of every pair of groups, and the proofs. */

enum {
    NAMES_MAX = 100,        /* names that are tried for an index */
    NAMED = 2 * KX_KEY_MAX, /* more than the size of any prefix */
    SAMPLE_ROWS = 64        /* index entries of a sample that are read */
};

enum discovery_stage { SURVEY, SAMPLES, PROOFS, DONE };

struct found_index {
    struct kx_hand_index shown;
    struct candidate *candidate;
};

struct kx_discovery {
    enum discovery_stage stage;
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer after;
    struct survey *survey;
    uint64_t surveyed;
    struct key_group **groups;
    size_t group_count;
    size_t left_out;
    size_t index;   /* SAMPLES: the group that may be an index */
    size_t primary; /* and the one that may have its entries */
    void *sample;   /* memory of the rows of `index` */
    struct row_sample rows;
    struct candidate **candidates;
    size_t candidate_count;
    size_t at; /* PROOFS: the candidate that is proved */
    struct proof *proof;
    struct found_index *proved; /* being filled by the proof */
    struct found_index **found;
    size_t found_count;
};

enum kx_status kx_discover_begin(void *mem, struct kx_slice prefix,
                                 struct kx_discovery **discovery_out)
{
    struct kx_discovery *discovery = talloc_zero(mem, struct kx_discovery);
    if (discovery == NULL)
        return KX_NO_MEMORY;
    kx_buffer_init(&discovery->start, discovery);
    kx_buffer_init(&discovery->end, discovery);
    kx_buffer_init(&discovery->after, discovery);
    kx_add_slice(&discovery->start, prefix);
    kx_add_slice(&discovery->end, prefix);
    kx_add_byte(&discovery->end, 0xff);
    discovery->survey = survey_create(discovery);
    if (discovery->survey == NULL || discovery->end.failed) {
        talloc_free(discovery);
        return KX_NO_MEMORY;
    }
    *discovery_out = discovery;
    return KX_OK;
}

/* ---- The survey --------------------------------------------------------- */

/* True if the key is an entry of a declared index. */
static bool is_declared(struct kx_reader *reader, struct kx_slice key,
                        struct kx_buffer *name)
{
    struct kx_index_info info;
    kx_buffer_clear(name);
    kx_key_index_name(key, name);
    return name->size > 0 &&
           kx_index_find(reader, kx_buffer_slice(name), &info) == KX_OK;
}

/* Moves the scan past all keys with the first part of this one. */
static void skip_part(struct kx_discovery *discovery, struct kx_slice key)
{
    kx_buffer_clear(&discovery->after);
    kx_add(&discovery->after, key.data, kx_part_size(key));
    kx_add_byte(&discovery->after, 0xff);
}

static enum kx_status survey_some(struct kx_discovery *discovery,
                                  struct kx_reader *reader, size_t limit)
{
    struct kx_entry entry;
    struct kx_buffer name;
    uint64_t first = 0;
    struct kx_range range = {.start = kx_buffer_slice(&discovery->start),
                             .end = kx_buffer_slice(&discovery->end),
                             .after = kx_buffer_slice(&discovery->after)};
    kx_buffer_init(&name, discovery);
    enum kx_status status = kx_scan(reader, &range, NULL);
    for (size_t i = 0; status == KX_OK && i < limit; i++) {
        status = kx_scan_next(reader, &entry);
        if (status != KX_OK)
            break;
        uint64_t part = kx_hash(
            KX_HASH_START, kx_slice(entry.key.data, kx_part_size(entry.key)));
        if (part != first && is_declared(reader, entry.key, &name)) {
            skip_part(discovery, entry.key);
            break;
        }
        first = part;
        discovery->surveyed++;
        kx_buffer_clear(&discovery->after);
        kx_add_slice(&discovery->after, entry.key);
        status = survey_add(discovery->survey, entry.key);
    }
    kx_scan_end(reader);
    kx_buffer_free(&name);
    return discovery->after.failed ? KX_NO_MEMORY : status;
}

static enum kx_status end_survey(struct kx_discovery *discovery)
{
    discovery->stage = SAMPLES;
    enum kx_status status =
        survey_finish(discovery->survey, &discovery->groups,
                      &discovery->group_count, &discovery->left_out);
    size_t pairs = discovery->group_count * discovery->group_count + 1;
    discovery->candidates =
        talloc_array(discovery, struct candidate *, (unsigned)pairs);
    discovery->found = talloc_array(discovery, struct found_index *,
                                    (unsigned)discovery->group_count + 1);
    return discovery->candidates == NULL || discovery->found == NULL
               ? KX_NO_MEMORY
               : status;
}

/* ---- Samples ------------------------------------------------------------ */

static enum kx_status read_sample(struct kx_discovery *discovery,
                                  struct kx_reader *reader)
{
    const struct key_group *group = discovery->groups[discovery->index];
    struct row_reader rows;
    enum kx_status status = KX_OK;
    discovery->sample = talloc_new(discovery);
    discovery->rows.rows =
        talloc_array(discovery->sample, struct row, SAMPLE_ROWS);
    discovery->rows.count = 0;
    if (discovery->rows.rows == NULL)
        return KX_NO_MEMORY;
    row_reader_init(&rows, discovery->sample, reader);
    for (size_t i = 0;
         i < group->sample_count && discovery->rows.count < SAMPLE_ROWS; i++) {
        status = row_read(&rows, group->sample[i].key,
                          &discovery->rows.rows[discovery->rows.count]);
        if (is_error(status))
            return status;
        discovery->rows.count += status == KX_OK;
    }
    return KX_OK;
}

/* An index that cannot have the name of its entries is named later. */
static enum kx_status declare(struct candidate *candidate)
{
    enum kx_status status = candidate_declare(candidate, NULL);
    return status == KX_BAD_INDEX ? candidate_declare(candidate, "_") : status;
}

/* Adds the candidate, with its declaration and its condition. */
static enum kx_status complete(struct kx_discovery *discovery,
                               struct row_reader *rows,
                               struct candidate *candidate)
{
    enum kx_status status = declare(candidate);
    if (status == KX_OK)
        status = candidate_find_where(candidate, rows);
    if (status == KX_OK && candidate->where_value.size > 0)
        status = declare(candidate);
    if (status == KX_OK)
        discovery->candidates[discovery->candidate_count++] =
            talloc_steal(discovery, candidate);
    return status == KX_BAD_INDEX ? KX_OK : status;
}

static enum kx_status compare_samples(struct kx_discovery *discovery,
                                      struct kx_reader *reader)
{
    struct row_reader rows;
    struct candidate *candidate = NULL;
    void *mem = talloc_new(discovery);
    if (mem == NULL)
        return KX_NO_MEMORY;
    row_reader_init(&rows, mem, reader);
    enum kx_status status = candidate_make(
        &rows, discovery->groups[discovery->primary],
        discovery->groups[discovery->index], &discovery->rows, &candidate);
    if (status == KX_OK)
        status = complete(discovery, &rows, candidate);
    talloc_free(mem);
    return status == KX_ABSENT ? KX_OK : status;
}

static void next_pair(struct kx_discovery *discovery)
{
    if (++discovery->primary < discovery->group_count)
        return;
    discovery->primary = 0;
    discovery->index++;
    talloc_free(discovery->sample);
    discovery->sample = NULL;
}

/* ---- Which candidates are proved ---------------------------------------- */

static bool part_contains(struct kx_slice prefix, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= prefix.size; i++)
        if (memcmp(prefix.data + i, word, size) == 0)
            return true;
    return false;
}

/* If each of two groups could be an index of the other, because both hold the
 * values, the one that is named like an index is the index, and then the one
 * with the longer prefix. Less is more like primary entries: a group whose next
 * part has few values is rather several groups. */
static size_t index_likeness(const struct key_group *group)
{
    bool named = part_contains(group->prefix, "by") ||
                 part_contains(group->prefix, "index") ||
                 part_contains(group->prefix, "idx");
    bool several = group->rest > 1 && group->children < KX_DISCOVER_ENTRIES;
    return (several ? 2 * NAMED : 0) + (named ? NAMED : 0) + group->prefix.size;
}

static int primaries_first(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a;
    const struct candidate *y = *(struct candidate *const *)b;
    size_t left = index_likeness(x->primaries);
    size_t right = index_likeness(y->primaries);
    if (left != right)
        return left < right ? -1 : 1;
    if (x->entries->parts != y->entries->parts)
        return x->entries->parts < y->entries->parts ? -1 : 1;
    return kx_compare(x->entries->prefix, y->entries->prefix);
}

static bool overlaps(const struct key_group *a, const struct key_group *b)
{
    return a == b || (a->rest == b->rest + b->parts - a->parts &&
                      (kx_starts_with(b->prefix, a->prefix) ||
                       kx_starts_with(a->prefix, b->prefix)));
}

/* True if the entries are those of an index that was found, or those that one
 * was found for, or the primary entries are an index themselves. */
static bool is_settled(const struct kx_discovery *discovery,
                       const struct candidate *candidate)
{
    for (size_t i = 0; i < discovery->found_count; i++) {
        const struct candidate *other = discovery->found[i]->candidate;
        if (overlaps(other->entries, candidate->entries) ||
            overlaps(other->primaries, candidate->entries) ||
            overlaps(other->entries, candidate->primaries))
            return true;
    }
    return false;
}

/* ---- Proofs ------------------------------------------------------------- */

static bool name_is_found(const struct kx_discovery *discovery,
                          struct kx_slice name)
{
    for (size_t i = 0; i < discovery->found_count; i++)
        if (kx_equal(discovery->found[i]->candidate->declaration->name, name))
            return true;
    return false;
}

/* KX_OK: no index, and no entry, has the name. */
static enum kx_status name_is_free(struct kx_reader *reader,
                                   struct kx_slice name, struct kx_buffer *key)
{
    struct kx_index_info info;
    struct kx_entry entry;
    if (kx_index_find(reader, name, &info) == KX_OK)
        return KX_ABSENT;
    kx_buffer_clear(key);
    if (kx_key_add_string(key, name) != KX_OK)
        return KX_ABSENT;
    struct kx_slice start = kx_buffer_slice(key);
    kx_add_byte(key, 0xff);
    struct kx_range range = {.start = kx_slice(key->data, start.size),
                             .end = kx_buffer_slice(key)};
    enum kx_status status = kx_scan(reader, &range, NULL);
    if (status == KX_OK)
        status = kx_scan_next(reader, &entry);
    kx_scan_end(reader);
    if (status == KX_END)
        return KX_OK;
    return status == KX_OK ? KX_ABSENT : status;
}

/* Gives an index that cannot have the name of its entries another name. */
static enum kx_status name_index(struct kx_discovery *discovery,
                                 struct kx_reader *reader,
                                 struct candidate *candidate)
{
    struct kx_buffer name;
    struct kx_buffer key;
    enum kx_status status = KX_ABSENT;
    if (candidate->adopts)
        return KX_OK;
    kx_buffer_init(&name, candidate);
    kx_buffer_init(&key, candidate);
    for (unsigned n = 1; status == KX_ABSENT && n <= NAMES_MAX; n++) {
        index_advice_name(candidate->declaration, n, &name);
        if (!name_is_found(discovery, kx_buffer_slice(&name)))
            status = name_is_free(reader, kx_buffer_slice(&name), &key);
    }
    kx_add_byte(&name, 0);
    if (name.failed)
        return KX_NO_MEMORY;
    return status == KX_OK
               ? candidate_declare(candidate, (const char *)name.data)
               : status;
}

static bool form_fits(const struct candidate *candidate)
{
    return !candidate->extra && (candidate->form == KX_HAND_PARTS ||
                                 candidate->form == KX_HAND_COPY ||
                                 (candidate->form == KX_HAND_MEMBERS &&
                                  candidate->member_count > 0));
}

static enum kx_status begin_proof(struct kx_discovery *discovery)
{
    struct candidate *candidate = discovery->candidates[discovery->at];
    discovery->proved = talloc_zero(discovery, struct found_index);
    if (discovery->proved == NULL)
        return KX_NO_MEMORY;
    discovery->proved->candidate = candidate;
    discovery->proved->shown.prefix = candidate->entries->prefix;
    discovery->proved->shown.form = candidate->form;
    discovery->proved->shown.adopts = candidate->adopts;
    discovery->proved->shown.fits = form_fits(candidate);
    discovery->proof =
        proof_create(discovery, candidate, &discovery->proved->shown);
    return discovery->proof == NULL ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status end_proof(struct kx_discovery *discovery,
                                struct kx_reader *reader)
{
    struct found_index *proved = discovery->proved;
    enum kx_status status = KX_ABSENT;
    if (proof_holds(discovery->proof))
        status = name_index(discovery, reader, proved->candidate);
    if (status == KX_OK) {
        proved->shown.declaration = proved->candidate->text;
        discovery->found[discovery->found_count++] = proved;
    }
    TALLOC_FREE(discovery->proof);
    discovery->at++;
    return status == KX_ABSENT || status == KX_BAD_INDEX ? KX_OK : status;
}

static int by_prefix(const void *a, const void *b)
{
    const struct found_index *x = *(struct found_index *const *)a;
    const struct found_index *y = *(struct found_index *const *)b;
    return kx_compare(x->shown.prefix, y->shown.prefix);
}

/* Passes over the candidates that need no proof. */
static void skip_settled(struct kx_discovery *discovery)
{
    while (discovery->at < discovery->candidate_count &&
           is_settled(discovery, discovery->candidates[discovery->at]))
        discovery->at++;
}

static enum kx_status end_proofs(struct kx_discovery *discovery)
{
    qsort(discovery->found, discovery->found_count, sizeof *discovery->found,
          by_prefix);
    discovery->stage = DONE;
    return KX_END;
}

static enum kx_status prove_some(struct kx_discovery *discovery,
                                 struct kx_reader *reader, size_t limit)
{
    enum kx_status status = KX_OK;
    if (discovery->proof == NULL) {
        skip_settled(discovery);
        if (discovery->at == discovery->candidate_count)
            return end_proofs(discovery);
        status = begin_proof(discovery);
    }
    if (status == KX_OK)
        status = proof_next(discovery->proof, reader, limit);
    return status == KX_END ? end_proof(discovery, reader) : status;
}

/* ---- Steps -------------------------------------------------------------- */

static enum kx_status sample_some(struct kx_discovery *discovery,
                                  struct kx_reader *reader)
{
    enum kx_status status = KX_OK;
    if (discovery->index == discovery->group_count) {
        qsort(discovery->candidates, discovery->candidate_count,
              sizeof *discovery->candidates, primaries_first);
        discovery->stage = PROOFS;
        return KX_OK;
    }
    if (discovery->sample == NULL)
        status = read_sample(discovery, reader);
    if (status == KX_OK && discovery->rows.count > 0 &&
        !overlaps(discovery->groups[discovery->primary],
                  discovery->groups[discovery->index]))
        status = compare_samples(discovery, reader);
    next_pair(discovery);
    return status;
}

enum kx_status kx_discover_next(struct kx_discovery *discovery,
                                struct kx_reader *reader, size_t limit)
{
    enum kx_status status = KX_END;
    switch (discovery->stage) {
    case SURVEY:
        status = survey_some(discovery, reader, limit);
        return status == KX_END ? end_survey(discovery) : status;
    case SAMPLES:
        return sample_some(discovery, reader);
    case PROOFS:
        return prove_some(discovery, reader, limit);
    case DONE:
        break;
    }
    return status;
}

const struct kx_hand_index *
kx_discover_found(const struct kx_discovery *discovery, size_t n)
{
    return n < discovery->found_count ? &discovery->found[n]->shown : NULL;
}

uint64_t kx_discover_surveyed(const struct kx_discovery *discovery)
{
    return discovery->surveyed;
}

size_t kx_discover_left_out(const struct kx_discovery *discovery)
{
    return discovery->left_out;
}
