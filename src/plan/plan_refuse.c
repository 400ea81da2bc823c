/* What is told when an index refuses a commit. */
#include "plan/plan_refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

/* For refusals, which outlive the plan: into the commit's own memory. */
static struct kx_slice copy(const struct kx_commit *commit,
                            struct kx_slice slice)
{
    void *data = talloc_memdup(commit->memory, slice.data, slice.size);
    return kx_slice(data, data == NULL ? 0 : slice.size);
}

static void name_index(struct kx_refusal *refusal, const struct index *index)
{
    snprintf(refusal->index, sizeof refusal->index, "%s",
             index->declaration->name_text);
}

/* A set with the stamp as suffix names the keys with one more part, which is a
 * stamp. */
static bool names(const struct kx_mutation *mutation, struct kx_slice key)
{
    struct kx_key_reader reader;
    struct kx_part part;
    uint64_t stamp;
    size_t size = mutation->key.size;
    if (!mutation->suffix_stamp)
        return kx_equal(mutation->key, key);
    if (!kx_starts_with(key, mutation->key))
        return false;
    struct kx_slice rest = kx_slice(key.data + size, key.size - size);
    kx_key_read(&reader, rest);
    return kx_part_size(rest) == rest.size &&
           kx_key_next(&reader, &part) == KX_OK && part.type == KX_STRING &&
           kx_stamp_parse(part.bytes, &stamp);
}

/* The last mutation that names the key; 0 when no mutation names it (a range).
 */
static size_t mutation_of(const struct kx_commit *commit, struct kx_slice key)
{
    size_t i = commit->mutation_count;
    while (i > 1 && !names(&commit->mutations[i - 1], key))
        i--;
    return i == 0 ? 0 : i - 1;
}

static enum kx_status describe_duplicate(struct kx_commit *commit)
{
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer text;
    kx_buffer_init(&text, commit->memory);
    kx_key_to_json(refusal->index_value, &text);
    kx_add_text(&text, " for the entry ");
    kx_key_to_json(refusal->existing_key, &text);
    return kx_fail(&refusal->fault, KX_UNIQUE_VIOLATION,
                   "index %s already has %.*s", refusal->index, (int)text.size,
                   (const char *)text.data);
}

enum kx_status plan_refuse_duplicate(struct kx_commit *commit,
                                     const struct duplicate *duplicate)
{
    struct kx_refusal *refusal = &commit->refusal;
    const struct declaration *declaration = duplicate->index->declaration;
    struct kx_slice index_key = duplicate->index_key;
    size_t skip = declaration->name_key.size;
    name_index(refusal, duplicate->index);
    refusal->mutation = mutation_of(commit, duplicate->attempted);
    struct kx_buffer value;
    kx_buffer_init(&value, commit->memory);
    extract_lookup_values(
        declaration, kx_slice(index_key.data + skip, index_key.size - skip),
        &value);
    refusal->index_value = kx_buffer_slice(&value);
    refusal->attempted_key = copy(commit, duplicate->attempted);
    struct kx_buffer existing;
    kx_buffer_init(&existing, commit->memory);
    kx_add_slice(&existing, declaration->prefix);
    kx_add_slice(&existing, duplicate->owner);
    refusal->existing_key = kx_buffer_slice(&existing);
    return describe_duplicate(commit);
}

enum kx_status plan_refuse_unindexable(struct kx_commit *commit,
                                       const struct index *index,
                                       const struct extract *extract)
{
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer detail;
    struct kx_buffer field;
    kx_buffer_init(&detail, commit->memory);
    kx_buffer_init(&field, commit->memory);
    extract_describe(extract, &detail, &field);
    name_index(refusal, index);
    refusal->mutation = mutation_of(commit, extract->key);
    refusal->attempted_key = copy(commit, extract->key);
    refusal->field = kx_buffer_slice(&field);
    return kx_fail(&refusal->fault, KX_NOT_INDEXABLE, "index %s: %.*s",
                   refusal->index, (int)detail.size, (const char *)detail.data);
}

enum kx_status plan_refuse_range(struct kx_commit *commit,
                                 const struct index *index)
{
    struct kx_refusal *refusal = &commit->refusal;
    name_index(refusal, index);
    return kx_fail(&refusal->fault, KX_INDEX_OWNED_KEY,
                   "the range lies within the entries of index %s, which "
                   "change only with their primary entries",
                   refusal->index);
}

void plan_refuse_of_range(struct kx_commit *commit, struct kx_slice key)
{
    commit->refusal.attempted_key = copy(commit, key);
}

enum kx_status plan_refuse_unready(struct kx_refusal *refusal,
                                   const struct index *index)
{
    name_index(refusal, index);
    return kx_fail(&refusal->fault, KX_INDEX_NOT_READY, "index %s is %s",
                   refusal->index, kx_index_state_text(index->state));
}

static const char *what_is_held(const struct kx_mutation *mutation, bool held)
{
    if (!held)
        return "nothing";
    return mutation->type == KX_DELETE ? "a value" : "another value";
}

/* The key is named last: a long one is cut. */
static enum kx_status describe_owned(struct kx_commit *commit,
                                     const struct kx_mutation *mutation)
{
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer key;
    kx_buffer_init(&key, commit->memory);
    kx_key_to_json(mutation->key, &key);
    return kx_fail(&refusal->fault, KX_INDEX_OWNED_KEY,
                   "the key belongs to index %s, which holds %s there after "
                   "this commit: %.*s",
                   refusal->index, what_is_held(mutation, refusal->held),
                   (int)key.size, (const char *)key.data);
}

enum kx_status plan_refuse_owned(struct kx_commit *commit, size_t mutation,
                                 const struct index *index,
                                 const struct kx_entry *held)
{
    struct kx_refusal *refusal = &commit->refusal;
    name_index(refusal, index);
    refusal->mutation = mutation;
    refusal->attempted_key = copy(commit, commit->mutations[mutation].key);
    refusal->held = held != NULL;
    if (held != NULL) {
        refusal->holds.encoding = held->value.encoding;
        refusal->holds.data = copy(commit, held->value.data);
        refusal->holds.media_type = copy(commit, held->value.media_type);
    }
    return describe_owned(commit, &commit->mutations[mutation]);
}

enum kx_status plan_refuse_bounds(struct kx_commit *commit,
                                  const struct kx_value *stored)
{
    struct kx_refusal *refusal = &commit->refusal;
    refusal->held = stored != NULL;
    if (stored != NULL) {
        refusal->holds.encoding = stored->encoding;
        refusal->holds.data = copy(commit, stored->data);
    }
    return KX_OUT_OF_BOUNDS;
}

/* The key is named last: a long one is cut. */
enum kx_status plan_refuse_entry(struct kx_fault *fault, void *mem,
                                 struct kx_slice key, struct kx_slice why)
{
    struct kx_buffer text;
    kx_buffer_init(&text, mem);
    kx_key_to_json(key, &text);
    return kx_fail(fault, KX_NOT_INDEXABLE,
                   "an entry cannot be indexed, because %.*s: %.*s",
                   (int)why.size, (const char *)why.data, (int)text.size,
                   (const char *)text.data);
}

enum kx_status plan_refuse_entry_cost(struct kx_fault *fault, void *mem,
                                      struct kx_slice key, uint64_t budget)
{
    char why[120];
    snprintf(why, sizeof why,
             "to store it with its index entries costs more than the %" PRIu64
             " units of a commit",
             budget);
    return plan_refuse_entry(fault, mem, key, kx_text(why));
}
