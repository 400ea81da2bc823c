/* Indexes: what is done to them while allocations fail. */
#include "alloc_world.h"

static void drop(struct world *world, const char *name)
{
    enum kx_status status = change(world, KX_DROP_INDEX, name, "");
    if (status != KX_INDEX_ABSENT)
        done(status, "dropping");
    if (wait_freed(world) != KX_OK)
        wrong("a dropped index stays");
}

static bool is_verified(const struct kx_index_info *info)
{
    return info->verification != NULL && !info->verification->running;
}

static const char BY_N[] =
    "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\",{\"key\":1}],"
    "\"store\":{\"fields\":[\"/e\"]},\"where\":{\"path\":\"/n\",\"ge\":2}}";

static void furnish_many(struct world *world)
{
    char key[32], value[64];
    furnish(world);
    for (int i = 10; i < 60; i++) {
        snprintf(key, sizeof key, "[\"u\",%d]", i);
        snprintf(value, sizeof value, "{\"e\":\"%d@x\",\"n\":%d}", i, i % 7);
        done(test_set(&world->test, world->mem, key, value), "furnishing");
    }
}

static enum kx_status run_build(struct world *world)
{
    enum kx_status status = test_declare(&world->test, world->mem, BY_N);
    return status == KX_OK ? wait_index(world, "by_n", index_is_built) : status;
}

static void undo_build(struct world *world)
{
    drop(world, "by_n");
}

static enum kx_status run_drop(struct world *world)
{
    enum kx_status status = change(world, KX_DROP_INDEX, "by_t", "");
    return status == KX_OK ? wait_freed(world) : status;
}

static void undo_drop(struct world *world)
{
    done(test_declare(&world->test, world->mem,
                      "{\"name\":\"by_t\",\"prefix\":[\"u\"],\"fields\":[{"
                      "\"path\":\"/t\",\"each\":true}],\"store\":\"value\"}"),
         "undoing");
    wait_index(world, "by_t", index_is_built);
}

static enum kx_status run_preview(struct world *world)
{
    struct kx_commit commit = {.command.kind = KX_DECLARE_INDEX,
                               .command.declaration = kx_text(BY_N),
                               .dry = true,
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

/* An index of each kind of change. */
static enum kx_status run_set(struct world *world)
{
    struct kx_slice texts[] = {
        kx_text(BY_N),
        kx_text("{\"name\":\"by_e\",\"prefix\":[\"u\"],\"fields\":[{"
                "\"path\":\"/e\",\"fold\":\"lower\"}],\"unique\":true,"
                "\"store\":\"value\"}")};
    struct kx_index_set set = {
        .declarations = texts, .count = 2, .prune = true};
    struct kx_commit commit = {.command.kind = KX_DECLARE_INDEXES,
                               .command.set = &set,
                               .memory = world->mem};
    enum kx_status status = test_commit(&world->test, &commit);
    if (status == KX_OK)
        status = wait_index(world, "by_n", index_is_built);
    return status == KX_OK ? wait_index(world, "by_e", index_is_built) : status;
}

static const char ADOPTED[] =
    "{\"name\":\"x\",\"prefix\":[\"u\"],\"fields\":[\"/e\"],\"unique\":true,"
    "\"adopt\":true}";

static enum kx_status run_dry_run(struct world *world)
{
    struct kx_dry_run *dry_run;
    enum kx_status status =
        kx_dry_run_begin(world->mem, kx_text(ADOPTED), &dry_run, NULL);
    while (status == KX_OK) {
        kx_read_begin(world->test.reader);
        status = kx_dry_run_next(dry_run, world->test.reader, 100);
        kx_read_end(world->test.reader);
    }
    return status == KX_END ? KX_OK : status;
}

static enum kx_status run_adopt(struct world *world)
{
    enum kx_status status = test_declare(&world->test, world->mem, ADOPTED);
    return status == KX_OK ? wait_index(world, "x", index_is_built) : status;
}

static void undo_adopt(struct world *world)
{
    drop(world, "x");
    done(test_set(&world->test, world->mem, "[\"x\",\"old\"]", "true"),
         "undoing");
}

static enum kx_status migrate(struct world *world, const char *patch)
{
    enum kx_status status = change(world, KX_MIGRATE_INDEX, "by_e", patch);
    return status == KX_OK ? wait_index(world, "by_e", index_is_built) : status;
}

static enum kx_status run_migrate(struct world *world)
{
    return migrate(world, "{\"store\":\"value\"}");
}

static void undo_migrate(struct world *world)
{
    done(migrate(world, "{\"store\":\"pointer\"}"), "undoing");
}

static void undo_set(struct world *world)
{
    drop(world, "by_n");
    undo_drop(world);
    undo_migrate(world);
}

static enum kx_status run_verify(struct world *world)
{
    struct kx_index_info info = {0};
    struct kx_commit commit = {.command.kind = KX_VERIFY_INDEX,
                               .command.index_name = kx_text("by_t"),
                               .command.repair = true,
                               .memory = world->mem};
    enum kx_status status = test_commit(&world->test, &commit);
    if (status == KX_OK)
        status = wait_index(world, "by_t", is_verified);
    if (status != KX_OK)
        return status;
    kx_read_begin(world->test.reader);
    status = kx_index_find(world->test.reader, kx_text("by_t"), &info);
    for (int i = 0; status == KX_OK && i < KX_DAMAGES; i++)
        if (info.verification->counts[i] != 0)
            wrong("%s entries", kx_damage_text((enum kx_damage)i));
    kx_read_end(world->test.reader);
    return status;
}

static enum kx_status run_pace(struct world *world)
{
    struct kx_commit commit = {
        .command.kind = KX_PACE_INDEX,
        .command.index_name = kx_text("by_t"),
        .command.pace = {.sets_limit = true, .per_second = 1000},
        .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static void undo_pace(struct world *world)
{
    struct kx_commit commit = {.command.kind = KX_PACE_INDEX,
                               .command.index_name = kx_text("by_t"),
                               .command.pace = {.sets_limit = true},
                               .memory = world->mem};
    done(test_commit(&world->test, &commit), "undoing");
}

/* A unique index over duplicates. */
static enum kx_status run_conflicts(struct world *world)
{
    struct kx_conflict conflict;
    enum kx_status status = test_declare(
        &world->test, world->mem,
        "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"],"
        "\"unique\":true}");
    if (status == KX_OK)
        status = wait_index(world, "by_n", index_is_built);
    if (status != KX_OK)
        return status;
    kx_read_begin(world->test.reader);
    status = kx_conflicts(world->test.reader, kx_text("by_n"),
                          kx_slice(NULL, 0), NULL);
    while (status == KX_OK)
        status = kx_conflict_next(world->test.reader, &conflict);
    kx_scan_end(world->test.reader);
    kx_read_end(world->test.reader);
    return status == KX_END ? KX_OK : status;
}

static const struct operation OPERATIONS[] = {
    {"build", furnish_many, run_build, undo_build},
    {"drop", furnish, run_drop, undo_drop},
    {"preview", furnish, run_preview, NULL},
    {"dry run", furnish, run_dry_run, NULL},
    {"adopt", furnish, run_adopt, undo_adopt},
    {"migrate", furnish, run_migrate, undo_migrate},
    {"set", furnish, run_set, undo_set},
    {"verify", furnish, run_verify, NULL},
    {"pace", furnish, run_pace, undo_pace},
    {"conflicts", furnish_many, run_conflicts, undo_build},
};

const struct operations ALLOC_INDEXES = {
    OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS, 1};
