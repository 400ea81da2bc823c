/* Commits whose allocations fail. */
#include "alloc_world.h"

static enum kx_status run_commit(struct world *world)
{
    uint64_t stamps[] = {1, 2, 3};
    struct kx_bounds bounds = {
        .min = test_json("0"), .max = test_json("40"), .out = KX_OUT_CLAMP};
    struct kx_where *where = NULL;
    enum kx_status status = kx_where_read(
        world->mem, kx_text("{\"path\":\"/n\",\"in\":[1,2]}"), &where, NULL);
    if (status != KX_OK)
        return status;
    struct kx_check checks[] = {{.key = key_of(world, "[\"u\",1]"),
                                 .condition = KX_MEETS,
                                 .where = where},
                                {.condition = KX_RANGE_AT_MOST,
                                 .stamps = stamps,
                                 .stamp_count = 1,
                                 .start = key_of(world, "[\"none\",1]"),
                                 .end = key_of(world, "[\"none\",2]")},
                                {.condition = KX_RANGE_IS,
                                 .digest = (const uint8_t[KX_SHA256_SIZE]){0},
                                 .start = key_of(world, "[\"none\",1]"),
                                 .end = key_of(world, "[\"none\",2]")},
                                {.key = key_of(world, "[\"u\",9]"),
                                 .condition = KX_IS_NONE_OF,
                                 .stamps = stamps,
                                 .stamp_count = 3}};
    struct kx_mutation mutations[] = {
        put(world, "[\"u\",9]", "{\"e\":\"Z@x\",\"t\":[\"r\",\"q\"],\"n\":9}"),
        put(world, "[\"u\",1]", "{\"e\":\"aa@x\",\"t\":[\"b\"],\"n\":1}"),
        {.type = KX_DELETE, .key = key_of(world, "[\"u\",3]")},
        {.type = KX_SUM,
         .key = key_of(world, "[\"n\",1]"),
         .value = test_json("41"),
         .bounds = &bounds,
         .returns = KX_RETURN_NEW},
        {.type = KX_PATCH,
         .key = key_of(world, "[\"n\",2]"),
         .value = test_json("{\"a\":{\"c\":2}}")}};
    mutations[0].expires_at_ms = kx_now_ms() + 3600000;
    mutations[1].returns = KX_RETURN_OLD;
    struct kx_commit commit = {.checks = checks,
                               .check_count = 4,
                               .mutations = mutations,
                               .mutation_count = 5,
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static void undo_commit(struct world *world)
{
    struct kx_mutation mutations[] = {
        put(world, "[\"u\",1]", "{\"e\":\"a@x\",\"t\":[\"r\",\"b\"],\"n\":1}"),
        put(world, "[\"u\",3]", "{\"e\":\"c@x\",\"t\":[],\"n\":3}"),
        put(world, "[\"n\",1]", "1"),
        put(world, "[\"n\",2]", "{\"a\":{\"b\":1}}"),
        {.type = KX_DELETE, .key = key_of(world, "[\"u\",9]")},
    };
    done(commit(world, mutations, 5), "undoing");
}

static enum kx_status run_range(struct world *world)
{
    struct kx_mutation all = {.type = KX_DELETE_RANGE,
                              .key = key_of(world, "[\"u\"]"),
                              .end = key_of(world, "[\"u\",3]"),
                              .limit = 10};
    return commit(world, &all, 1);
}

static void undo_range(struct world *world)
{
    struct kx_mutation mutations[] = {
        put(world, "[\"u\",1]", "{\"e\":\"a@x\",\"t\":[\"r\",\"b\"],\"n\":1}"),
        put(world, "[\"u\",2]", "{\"e\":\"b@x\",\"t\":[\"r\"],\"n\":2}"),
    };
    done(commit(world, mutations, 2), "undoing");
}

static enum kx_status run_violation(struct world *world)
{
    struct kx_mutation one =
        put(world, "[\"u\",7]", "{\"e\":\"A@X\",\"t\":[]}");
    return commit(world, &one, 1);
}

static enum kx_status run_owned(struct world *world)
{
    struct kx_mutation one = put(world, "[\"by_e\",\"a@x\"]", "7");
    return commit(world, &one, 1);
}

static enum kx_status run_failed_check(struct world *world)
{
    struct kx_check check = {.key = key_of(world, "[\"u\",1]"),
                             .condition = KX_IS_ABSENT};
    struct kx_commit commit = {
        .checks = &check, .check_count = 1, .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static enum kx_status run_dry(struct world *world)
{
    struct kx_mutation one =
        put(world, "[\"u\",7]", "{\"e\":\"7@x\",\"t\":[\"r\"]}");
    struct kx_commit commit = {.mutations = &one,
                               .mutation_count = 1,
                               .dry = true,
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

/* A V8 value, which is read for the indexes and shown as JSON. */
static enum kx_status run_v8(struct world *world)
{
    struct kx_buffer v8, json;
    kx_buffer_init(&v8, world->mem);
    kx_buffer_init(&json, world->mem);
    kx_v8_from_json(kx_text("{\"e\":\"v8@x\",\"t\":[\"v\"],\"d\":[1.5,null]}"),
                    &v8);
    if (v8.failed)
        return KX_NO_MEMORY;
    struct kx_mutation one = put(world, "[\"u\",8]", "");
    one.value =
        (struct kx_value){.encoding = KX_V8, .data = kx_buffer_slice(&v8)};
    enum kx_status status = kx_v8_check(one.value.data, world->mem, NULL);
    if (status == KX_OK)
        kx_value_to_json(&one.value, &json);
    if (json.failed)
        return KX_NO_MEMORY;
    return status == KX_OK ? commit(world, &one, 1) : status;
}

static void undo_v8(struct world *world)
{
    done(test_delete(&world->test, world->mem, "[\"u\",8]"), "undoing");
}

static enum kx_status commit_under(struct world *world, const char *key,
                                   struct kx_mutation *mutation)
{
    struct kx_idempotency idempotency = {.key = kx_text(key),
                                         .until_ms = kx_now_ms() + 3600000};
    struct kx_commit commit = {.mutations = mutation,
                               .mutation_count = 1,
                               .memory = world->mem,
                               .idempotency = &idempotency};
    return test_commit(&world->test, &commit);
}

/* Under another key each time, so that it is carried out. */
static enum kx_status run_keyed(struct world *world)
{
    static int number;
    char key[32];
    struct kx_mutation sum = {.type = KX_SUM,
                              .key = key_of(world, "[\"n\",1]"),
                              .value = test_json("1"),
                              .returns = KX_RETURN_NEW};
    snprintf(key, sizeof key, "key %d", number++);
    return commit_under(world, key, &sum);
}

static void undo_keyed(struct world *world)
{
    struct kx_mutation one = put(world, "[\"n\",1]", "1");
    done(commit(world, &one, 1), "undoing");
}

/* Carried out once, without effect, and replayed from then on. */
static enum kx_status run_replayed(struct world *world)
{
    struct kx_mutation nothing = {.type = KX_DELETE,
                                  .key = key_of(world, "[\"n\",99]"),
                                  .returns = KX_RETURN_OLD};
    return commit_under(world, "replayed", &nothing);
}

static const struct operation OPERATIONS[] = {
    {"commit under a key", furnish, run_keyed, undo_keyed},
    {"replayed commit", furnish, run_replayed, NULL},
    {"commit", furnish, run_commit, undo_commit},
    {"delete range", furnish, run_range, undo_range},
    {"unique violation", furnish, run_violation, NULL},
    {"owned key", furnish, run_owned, NULL},
    {"failed check", furnish, run_failed_check, NULL},
    {"dry commit", furnish, run_dry, NULL},
    {"v8", furnish, run_v8, undo_v8},
};

const struct operations ALLOC_COMMITS = {
    OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS, 1};
