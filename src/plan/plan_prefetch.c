/* Reading ahead what a plan looks up, where each look-up is a round trip to
 * another machine, or a read of a slow disk: the entries that the next commits
 * name, and the rows of an index that one entry has. */
#include "plan/plan.h"

#include <talloc.h>

#include "engine/engine.h"

enum { PREFETCH_KEYS = 1024 /* of commits, about, at a time */ };

static void add(struct kx_slice *keys, size_t *count, struct kx_slice key)
{
    if (key.size != 0 && *count < PREFETCH_KEYS)
        keys[(*count)++] = key;
}

/* A mutation that names its entry by a value has no key yet. */
static void add_keys(const struct kx_commit *commit, struct kx_slice *keys,
                     size_t *count)
{
    for (size_t i = 0; i < commit->check_count; i++)
        if (!kx_check_of_range(&commit->checks[i]))
            add(keys, count, commit->checks[i].key);
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (!kx_mutates_range(&commit->mutations[i]))
            add(keys, count, commit->mutations[i].key);
}

size_t plan_prefetch_commits(struct plan *plan,
                             const struct kx_commit *const *commits,
                             size_t count)
{
    struct kx_slice *keys = talloc_array(NULL, struct kx_slice, PREFETCH_KEYS);
    size_t key_count = 0;
    size_t i = 0;
    for (; keys != NULL && i < count && key_count < PREFETCH_KEYS; i++)
        if (commits[i]->command.kind == KX_WRITE)
            add_keys(commits[i], keys, &key_count);
    overlay_prefetch(plan->overlay, keys, key_count);
    talloc_free(keys);
    return i;
}

void plan_prefetch_rows(struct plan *plan)
{
    size_t before = plan->before.count;
    size_t count = before + plan->now.count;
    if (count < 2 || !engine_prefetches(plan->view))
        return;
    struct kx_slice *keys =
        talloc_array(NULL, struct kx_slice, (unsigned)count);
    if (keys == NULL)
        return;
    for (size_t n = 0; n < count; n++)
        keys[n] = n < before ? extract_key(&plan->before, n)
                             : extract_key(&plan->now, n - before);
    overlay_prefetch(plan->overlay, keys, count);
    talloc_free(keys);
}
