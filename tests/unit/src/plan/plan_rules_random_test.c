/* Random commits under a rule that is declared again and again, with a clock
 * that only the test moves: after each, the result, the entries and the number
 * of violations are those of a model, which only knows numbers. The rule has
 * bounds that move, so that stored entries come to violate it. */
#include "store.h"

enum { ENTRIES = 6, STEPS = 12000, SPAN = 12, MUTATIONS = 3, LIFE = 50 };

struct model_entry {
    bool there; /* it is stored; it may have expired */
    int number;
    int64_t expires_at_ms; /* 0: never */
};

struct model {
    struct story *story;
    uint64_t seed;
    int64_t now_ms;
    bool declared;
    int min;
    int max;
    struct model_entry entries[ENTRIES];
    unsigned refused;
    unsigned no_worse; /* writes of entries that violated the rule and do so
                        * still */
    unsigned resolved; /* times that the last violation has ended */
};

static const char *key_of(void *mem, int n)
{
    return talloc_asprintf(mem, "[\"n\",%d]", n);
}

static bool is_visible(const struct model *model, const struct model_entry *at)
{
    return at->there &&
           (at->expires_at_ms == 0 || at->expires_at_ms > model->now_ms);
}

static int distance(const struct model *model, int number)
{
    if (number < model->min)
        return model->min - number;
    return number > model->max ? model->max - number : 0;
}

static bool violates(const struct model *model, const struct model_entry *at)
{
    return model->declared && at->there && distance(model, at->number) != 0;
}

/* The distances have a sign for the side of the bounds. */
static bool is_no_worse(const struct model *model,
                        const struct model_entry *before,
                        const struct model_entry *now)
{
    int was = distance(model, before->number);
    int is = distance(model, now->number);
    return is_visible(model, before) && (was > 0) == (is > 0) &&
           (was < 0) == (is < 0) && abs(is) <= abs(was);
}

/* Returns whether the rule allows what a commit makes of the entries. An entry
 * that has expired and keeps its expiry was not written. */
static bool allows(struct model *model, const struct model_entry *after)
{
    unsigned kept = 0;
    for (int n = 0; n < ENTRIES; n++) {
        const struct model_entry *before = &model->entries[n];
        bool same = before->there && before->number == after[n].number &&
                    (is_visible(model, before) ||
                     before->expires_at_ms == after[n].expires_at_ms);
        if (!violates(model, &after[n]) || same)
            continue;
        if (!is_no_worse(model, before, &after[n]))
            return false;
        kept++;
    }
    model->no_worse += kept;
    return true;
}

/* Adds a random mutation, and makes it in the model's copy. Sums take an entry
 * that has expired for none. */
static void mutate(struct model *model, void *mem, struct kx_mutation *mutation,
                   struct model_entry *after)
{
    int n = (int)random_below(&model->seed, ENTRIES);
    int number = (int)random_below(&model->seed, SPAN);
    bool expires = random_below(&model->seed, 3) == 0;
    struct model_entry *at = &after[n];
    *mutation = (struct kx_mutation){.key = test_key(mem, key_of(mem, n))};
    switch (random_below(&model->seed, 4)) {
    case 0:
        mutation->type = KX_DELETE;
        at->there = false;
        return;
    case 1:
        mutation->type = KX_SUM;
        number -= SPAN / 2;
        mutation->value = test_json(talloc_asprintf(mem, "%d", number));
        if (is_visible(model, at))
            number += at->number;
        break;
    default:
        mutation->type = KX_SET;
        mutation->value = test_json(talloc_asprintf(mem, "%d", number));
        break;
    }
    mutation->expires_at_ms =
        expires ? model->now_ms + 1 + (int64_t)random_below(&model->seed, LIFE)
                : 0;
    *at = (struct model_entry){true, number, mutation->expires_at_ms};
}

static unsigned count_violations(const struct model *model)
{
    unsigned count = 0;
    for (int n = 0; n < ENTRIES; n++)
        count += violates(model, &model->entries[n]);
    return count;
}

static void commit_some(struct model *model, void *mem)
{
    struct kx_mutation mutations[MUTATIONS];
    struct model_entry after[ENTRIES];
    unsigned before = count_violations(model);
    struct kx_commit commit = {.mutations = mutations,
                               .mutation_count =
                                   random_below(&model->seed, MUTATIONS) + 1,
                               .memory = mem};
    memcpy(after, model->entries, sizeof after);
    for (size_t i = 0; i < commit.mutation_count; i++)
        mutate(model, mem, &mutations[i], after);
    enum kx_status status = test_commit(&model->story->test, &commit);
    if (!allows(model, after)) {
        assert_true(status == KX_RULE_VIOLATED || status == KX_OUT_OF_BOUNDS);
        assert_string_equal(commit.refusal.index, "r");
        model->refused++;
        return;
    }
    assert_int_equal(status, KX_OK);
    memcpy(model->entries, after, sizeof after);
    model->resolved += before > 0 && count_violations(model) == 0;
}

static struct kx_rule_info rule_info(struct model *model)
{
    struct kx_rule_info info;
    struct kx_reader *reader = model->story->test.reader;
    kx_read_begin(reader);
    assert_int_equal(kx_rule_find(reader, kx_text("r"), &info), KX_OK);
    kx_read_end(reader);
    return info;
}

/* The check of the rule runs beside the commits: sometimes they wait for it. */
static void await_check(struct model *model)
{
    while (rule_info(model).state == KX_INDEX_BUILDING)
        usleep(100);
}

static void declare(struct model *model, void *mem)
{
    model->declared = true;
    model->min = (int)random_below(&model->seed, SPAN / 2);
    model->max = model->min + (int)random_below(&model->seed, SPAN / 2);
    struct kx_commit commit = {
        .command = {.kind = KX_DECLARE_RULE,
                    .declaration = kx_text(talloc_asprintf(
                        mem,
                        "{\"name\":\"r\",\"prefix\":[\"n\"],\"bounds\":{"
                        "\"min\":%d,\"max\":%d}}",
                        model->min, model->max))},
        .memory = mem};
    assert_int_equal(test_commit(&model->story->test, &commit), KX_OK);
    if (random_below(&model->seed, 2) == 0)
        await_check(model);
}

static void compare_entries(struct model *model, void *mem)
{
    for (int n = 0; n < ENTRIES; n++) {
        const struct model_entry *at = &model->entries[n];
        const char *value = test_get(&model->story->test, mem, key_of(mem, n));
        assert_int_equal(value != NULL, is_visible(model, at));
        if (value != NULL)
            assert_int_equal(atoi(value), at->number);
    }
}

/* Entries that have expired count until they are removed, so only a number
 * without them is compared. */
static void compare_count(struct model *model)
{
    for (int n = 0; n < ENTRIES; n++)
        if (model->entries[n].there && !is_visible(model, &model->entries[n]))
            return;
    if (!model->declared)
        return;
    await_check(model);
    struct kx_rule_info info = rule_info(model);
    assert_int_equal(info.violations, count_violations(model));
    assert_int_equal(info.state, info.violations == 0 ? KX_INDEX_READY
                                                      : KX_INDEX_CONFLICTED);
}

TEST_WITH(rule_follows_the_model, begin, finish)
{
    struct model model = {.story = *state, .now_ms = 2000000000000};
    model.seed = random_seed("rules");
    kx_clock_set(model.now_ms);
    for (int step = 0; step < STEPS; step++) {
        void *mem = talloc_new(model.story->mem);
        size_t what = random_below(&model.seed, 20);
        if (what == 0)
            declare(&model, mem);
        else if (what == 1)
            kx_clock_set(model.now_ms +=
                         (int64_t)random_below(&model.seed, LIFE));
        else
            commit_some(&model, mem);
        compare_entries(&model, mem);
        if (what % 4 == 3)
            compare_count(&model);
        talloc_free(mem);
    }
    assert_true(model.refused > 100 && model.no_worse > 20 &&
                model.resolved > 10);
}
