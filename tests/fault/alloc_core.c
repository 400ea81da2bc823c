/* Each public operation of the core, with the n-th allocation failing for every
 * n until none does. What is refused has changed nothing, what is done is done
 * whole, the same operation succeeds when it is repeated, and when the store is
 * closed nothing is left behind.
 *
 *   alloc_core STEP [OPERATION [N]]      every STEP-th n; this one only
 */
#include "../lib/store.h"
#include "alloc.h"

#include <dirent.h>

enum { PATIENCE_MS = 20000 };

struct world {
    struct test_store test;
    void *mem; /* of one run */
    bool persistent;
};

/* `run` does it; `undo` takes back what it has changed, without a failure. Both
 * may be called again. `furnish`, if any, comes first. */
struct operation {
    const char *name;
    void (*furnish)(struct world *world);
    enum kx_status (*run)(struct world *world);
    void (*undo)(struct world *world);
};

static size_t passed, failures, points;
static const char *operation_name;
static size_t point;

static void wrong(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("FAILED  %s, allocation %zu: ", operation_name, point);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    if (failures++ < 20)
        alloc_where();
}

/* ---- The whole state, as text ---------------------------------------------
 */

static void show_entries(struct world *world, struct kx_buffer *out)
{
    struct kx_range range = {.start = kx_slice("\x01", 1),
                             .end = kx_slice("\xff", 1)};
    struct kx_reader *reader = world->test.reader;
    struct kx_entry entry;
    enum kx_status status = kx_scan(reader, &range, NULL);
    while (status == KX_OK && (status = kx_scan_next(reader, &entry)) == KX_OK)
        test_show(&entry, out);
    if (status != KX_END)
        wrong("reading everything: %s", kx_status_name(status));
}

static const char *show(struct world *world, const void *mem)
{
    struct kx_buffer out;
    struct kx_index_info info;
    kx_buffer_init(&out, mem);
    kx_read_begin(world->test.reader);
    for (size_t n = 0; kx_index_at(world->test.reader, n, &info) == KX_OK;
         n++) {
        if (info.state == KX_INDEX_DROPPING)
            continue;
        kx_add_slice(&out, info.declaration);
        kx_add_text(&out, kx_index_state_text(info.state));
        kx_add_text(&out, info.target.size > 0 ? " migrates\n" : "\n");
    }
    show_entries(world, &out);
    kx_read_end(world->test.reader);
    kx_add_byte(&out, 0);
    return (const char *)out.data;
}

/* ---- Waiting ---------------------------------------------------------------
 */

typedef bool settled_fn(const struct kx_index_info *info);

/* KX_AGAIN: it did not come to that. */
static enum kx_status wait_index(struct world *world, const char *name,
                                 settled_fn *settled)
{
    struct kx_index_info info;
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        enum kx_status status = test_index(&world->test, name, &info);
        if (status != KX_OK || settled(&info))
            return status;
        usleep(ms < 20 ? 100 : 1000);
        if (ms == 20 && world->persistent)
            alloc_disarm(); /* it would be waited for without end */
    }
    return KX_AGAIN;
}

static bool is_built(const struct kx_index_info *info)
{
    return info->state != KX_INDEX_BUILDING &&
           info->state != KX_INDEX_MIGRATING &&
           info->state != KX_INDEX_DROPPING && info->target.size == 0;
}

static bool is_verified(const struct kx_index_info *info)
{
    return info->verification != NULL && !info->verification->running;
}

static bool is_gone(const struct kx_index_info *info)
{
    (void)info;
    return false;
}

/* ---- Commits ----------------------------------------------------------------
 */

/* What a run begins with is made without failures. */
static struct kx_slice key_of(struct world *world, const char *json)
{
    alloc_exempt(true);
    struct kx_slice key = test_key(world->mem, json);
    alloc_exempt(false);
    return key;
}

static struct kx_mutation put(struct world *world, const char *key,
                              const char *value)
{
    return (struct kx_mutation){
        .type = KX_SET, .key = key_of(world, key), .value = test_json(value)};
}

static enum kx_status commit(struct world *world, struct kx_mutation *mutations,
                             size_t count)
{
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = count, .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static enum kx_status change(struct world *world, enum kx_commit_kind kind,
                             const char *name, const char *declaration)
{
    struct kx_commit commit = {.kind = kind,
                               .index_name = kx_text(name),
                               .declaration = kx_text(declaration),
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static void done(enum kx_status status, const char *what)
{
    if (status != KX_OK)
        wrong("%s: %s", what, kx_status_name(status));
}

static void drop(struct world *world, const char *name)
{
    enum kx_status status = change(world, KX_DROP_INDEX, name, "");
    if (status != KX_INDEX_ABSENT)
        done(status, "dropping");
    if (wait_index(world, name, is_gone) != KX_INDEX_ABSENT)
        wrong("a dropped index stays");
}

static void furnish(struct world *world)
{
    struct kx_mutation mutations[] = {
        put(world, "[\"u\",1]", "{\"e\":\"a@x\",\"t\":[\"r\",\"b\"],\"n\":1}"),
        put(world, "[\"u\",2]", "{\"e\":\"b@x\",\"t\":[\"r\"],\"n\":2}"),
        put(world, "[\"u\",3]", "{\"e\":\"c@x\",\"t\":[],\"n\":3}"),
        put(world, "[\"n\",1]", "1"),
        put(world, "[\"n\",2]", "{\"a\":{\"b\":1}}"),
        put(world, "[\"x\",\"old\"]", "true"),
    };
    done(commit(world, mutations, sizeof mutations / sizeof *mutations),
         "furnishing");
    done(test_declare(&world->test, world->mem,
                      "{\"name\":\"by_e\",\"prefix\":[\"u\"],\"fields\":[{"
                      "\"path\":\"/e\",\"fold\":\"lower\"}],\"unique\":true}"),
         "declaring");
    done(test_declare(&world->test, world->mem,
                      "{\"name\":\"by_t\",\"prefix\":[\"u\"],\"fields\":[{"
                      "\"path\":\"/t\",\"each\":true}],\"store\":\"value\"}"),
         "declaring");
    wait_index(world, "by_e", is_built);
    wait_index(world, "by_t", is_built);
}

static enum kx_status run_commit(struct world *world)
{
    uint64_t stamps[] = {1, 2, 3};
    struct kx_check checks[] = {
        {.key = key_of(world, "[\"u\",1]"), .condition = KX_IS_PRESENT},
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
         .value = test_json("41")},
        {.type = KX_PATCH,
         .key = key_of(world, "[\"n\",2]"),
         .value = test_json("{\"a\":{\"c\":2}}")}};
    mutations[0].expires_at_ms = kx_now_ms() + 3600000;
    struct kx_commit commit = {.checks = checks,
                               .check_count = 2,
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

/* ---- Reads -----------------------------------------------------------------
 */

static enum kx_status walk(struct kx_reader *reader, enum kx_status begun,
                           size_t expected)
{
    struct kx_entry entry;
    size_t count = 0;
    while (begun == KX_OK && (begun = kx_scan_next(reader, &entry)) == KX_OK) {
        kx_scan_position(reader);
        count++;
    }
    if (begun == KX_END && count != expected)
        wrong("%zu entries instead of %zu", count, expected);
    return begun == KX_END ? KX_OK : begun;
}

static enum kx_status read_all(struct world *world, struct kx_reader *reader)
{
    struct kx_buffer record, fold;
    struct kx_entry entry;
    struct kx_fault fault;
    struct kx_estimate estimate;
    uint64_t bytes;
    kx_buffer_init(&record, world->mem);
    kx_buffer_init(&fold, world->mem);
    struct kx_slice parts = key_of(world, "[\"A@x\"]");
    struct kx_slice fields[] = {kx_text("/n"), kx_text("/e")};
    struct kx_lookup lookup = {.index = kx_text("by_e"), .value = parts};
    struct kx_range range = {.start = kx_slice("\x02u", 2),
                             .end = kx_slice("\x02v", 2)};
    enum kx_status status =
        kx_read(reader, key_of(world, "[\"u\",1]"), &record, &entry, &fault);
    if (status == KX_OK)
        status = walk(reader, kx_scan(reader, &range, &fault), 3);
    range.reverse = true;
    range.fields = fields;
    range.field_count = 2;
    if (status == KX_OK)
        status = walk(reader, kx_scan(reader, &range, &fault), 3);
    range = (struct kx_range){.reverse = false};
    if (status == KX_OK)
        status = walk(
            reader, kx_scan_index(reader, kx_text("by_t"), &range, &fault), 3);
    if (status == KX_OK)
        status = kx_index_fold(reader, lookup.index, parts, &fold);
    if (status == KX_OK)
        status = kx_index_get(reader, &lookup, &entry, &fault);
    if (status == KX_OK)
        status = kx_index_bytes(reader, lookup.index, &bytes);
    if (status == KX_OK)
        status =
            kx_estimate(reader, kx_text("by_t"), &range, &estimate, &fault);
    return status;
}

static enum kx_status run_read(struct world *world)
{
    struct kx_reader *reader;
    enum kx_status status = kx_reader_open(world->test.store, &reader);
    if (status != KX_OK)
        return status;
    kx_read_begin(reader);
    status = read_all(world, reader);
    kx_read_end(reader);
    kx_reader_close(reader);
    return status;
}

static enum kx_status fit_all(struct world *world, struct kx_question *question)
{
    struct kx_fit fit;
    struct kx_buffer out;
    kx_buffer_init(&out, world->mem);
    enum kx_status status = kx_fit_entries(question, &fit);
    for (size_t n = 0; status == KX_OK; n++)
        status = kx_fit_at(world->test.reader, question, n, &fit);
    if (status != KX_END)
        return status;
    status = kx_advise(world->test.reader, question, &out);
    return status == KX_ABSENT ? KX_OK : status;
}

static enum kx_status run_explain(struct world *world)
{
    struct kx_question *question;
    struct kx_fault fault;
    enum kx_status status = kx_question_read(
        world->mem,
        kx_text("{\"prefix\":[\"u\"],\"where\":[{\"path\":\"/e\",\"eq\":"
                "\"A\"},{\"path\":\"/n\",\"gt\":1}],\"order\":[\"/n\"],"
                "\"fields\":[\"/e\"]}"),
        &question, &fault);
    if (status != KX_OK)
        return status;
    kx_read_begin(world->test.reader);
    status = fit_all(world, question);
    kx_read_end(world->test.reader);
    return status;
}

/* The watch must be told, whatever fails meanwhile. */
static enum kx_status run_watch(struct world *world)
{
    struct kx_slice keys[] = {key_of(world, "[\"n\",1]"),
                              key_of(world, "[\"u\",1]")};
    struct kx_watch *watch;
    bool told = false;
    struct kx_ticket ticket = {.owner = &told};
    enum kx_status status =
        kx_watch_open(world->test.store, keys, 2, world->mem, &watch);
    if (status != KX_OK)
        return status;
    if (kx_watch_wait(watch, &ticket) != KX_OK)
        wrong("a new watch is told");
    struct kx_mutation one = put(world, "[\"n\",1]", "5");
    status = commit(world, &one, 1);
    if (status == KX_OK)
        test_wait(&world->test, &told);
    else if (!kx_watch_cancel(world->test.store, &ticket))
        test_wait(&world->test, &told);
    kx_watch_close(watch);
    return status;
}

static void undo_watch(struct world *world)
{
    done(test_set(&world->test, world->mem, "[\"n\",1]", "1"), "undoing");
}

/* ---- Indexes ---------------------------------------------------------------
 */

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
    return status == KX_OK ? wait_index(world, "by_n", is_built) : status;
}

static void undo_build(struct world *world)
{
    drop(world, "by_n");
}

static enum kx_status run_drop(struct world *world)
{
    enum kx_status status = change(world, KX_DROP_INDEX, "by_t", "");
    if (status == KX_OK && wait_index(world, "by_t", is_gone) == KX_AGAIN)
        status = KX_AGAIN;
    return status;
}

static void undo_drop(struct world *world)
{
    done(test_declare(&world->test, world->mem,
                      "{\"name\":\"by_t\",\"prefix\":[\"u\"],\"fields\":[{"
                      "\"path\":\"/t\",\"each\":true}],\"store\":\"value\"}"),
         "undoing");
    wait_index(world, "by_t", is_built);
}

static enum kx_status run_preview(struct world *world)
{
    struct kx_commit commit = {.kind = KX_DECLARE_INDEX,
                               .declaration = kx_text(BY_N),
                               .dry = true,
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static const char ADOPTED[] =
    "{\"name\":\"x\",\"prefix\":[\"u\"],\"fields\":[\"/e\"],\"unique\":true,"
    "\"adopt\":true}";

static enum kx_status run_rehearsal(struct world *world)
{
    struct kx_rehearsal *rehearsal;
    enum kx_status status =
        kx_rehearse(world->mem, kx_text(ADOPTED), &rehearsal, NULL);
    while (status == KX_OK) {
        kx_read_begin(world->test.reader);
        status = kx_rehearse_next(rehearsal, world->test.reader, 100);
        kx_read_end(world->test.reader);
    }
    return status == KX_END ? KX_OK : status;
}

static enum kx_status run_adopt(struct world *world)
{
    enum kx_status status = test_declare(&world->test, world->mem, ADOPTED);
    return status == KX_OK ? wait_index(world, "x", is_built) : status;
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
    return status == KX_OK ? wait_index(world, "by_e", is_built) : status;
}

static enum kx_status run_migrate(struct world *world)
{
    return migrate(world, "{\"store\":\"value\"}");
}

static void undo_migrate(struct world *world)
{
    done(migrate(world, "{\"store\":\"pointer\"}"), "undoing");
}

static enum kx_status run_verify(struct world *world)
{
    struct kx_index_info info = {0};
    struct kx_commit commit = {.kind = KX_VERIFY_INDEX,
                               .index_name = kx_text("by_t"),
                               .repair = true,
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
    struct kx_commit commit = {.kind = KX_PACE_INDEX,
                               .index_name = kx_text("by_t"),
                               .pace = {.sets_limit = true, .per_second = 1000},
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static void undo_pace(struct world *world)
{
    struct kx_commit commit = {.kind = KX_PACE_INDEX,
                               .index_name = kx_text("by_t"),
                               .pace = {.sets_limit = true},
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
        status = wait_index(world, "by_n", is_built);
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

/* ---- Opening ---------------------------------------------------------------
 */

/* The world's own store is closed meanwhile. */
static enum kx_status run_open(struct world *world)
{
    struct kx_fault fault;
    test_store_close(&world->test);
    long before = alloc_live();
    enum kx_status status =
        kx_open(&world->test.options, &world->test.store, &fault);
    if (status == KX_OK)
        kx_close(world->test.store);
    alloc_disarm();
    if (alloc_live() != before)
        wrong("%ld blocks are left", alloc_live() - before);
    test_store_open(&world->test);
    return status;
}

static const struct operation OPERATIONS[] = {
    {"open", furnish, run_open, NULL},
    {"read", furnish, run_read, NULL},
    {"commit", furnish, run_commit, undo_commit},
    {"delete range", furnish, run_range, undo_range},
    {"unique violation", furnish, run_violation, NULL},
    {"owned key", furnish, run_owned, NULL},
    {"failed check", furnish, run_failed_check, NULL},
    {"dry commit", furnish, run_dry, NULL},
    {"v8", furnish, run_v8, undo_v8},
    {"explain", furnish, run_explain, NULL},
    {"watch", furnish, run_watch, undo_watch},
    {"build", furnish_many, run_build, undo_build},
    {"drop", furnish, run_drop, undo_drop},
    {"preview", furnish, run_preview, NULL},
    {"rehearsal", furnish, run_rehearsal, NULL},
    {"adopt", furnish, run_adopt, undo_adopt},
    {"migrate", furnish, run_migrate, undo_migrate},
    {"verify", furnish, run_verify, NULL},
    {"pace", furnish, run_pace, undo_pace},
    {"conflicts", furnish_many, run_conflicts, undo_build},
};

/* ---- The sweep --------------------------------------------------------------
 */

static void undo(struct world *world, const struct operation *operation)
{
    if (operation->undo != NULL)
        operation->undo(world);
}

/* Runs it with the n-th allocation failing; false when none did. */
static bool try_point(struct world *world, const struct operation *operation,
                      enum kx_status wanted, const char *const states[2])
{
    void *mem = world->mem = talloc_new(NULL);
    alloc_arm(point, world->persistent);
    enum kx_status status = operation->run(world);
    size_t failed = alloc_disarm();
    if (status != wanted && status != KX_NO_MEMORY)
        wrong("%s instead of %s", kx_status_name(status),
              kx_status_name(wanted));
    if (kx_store_failed(world->test.store))
        wrong("the store has failed");
    const char *now = show(world, mem);
    if (strcmp(now, states[status == wanted ? 1 : 0]) != 0)
        wrong("after %s there is\n%s\ninstead of\n%s", kx_status_name(status),
              now, states[status == wanted ? 1 : 0]);
    if (status != wanted) {
        enum kx_status again = operation->run(world);
        if (again != wanted)
            wrong("%s when it is repeated", kx_status_name(again));
        if (strcmp(show(world, mem), states[1]) != 0)
            wrong("the repetition leaves another state");
    }
    undo(world, operation);
    if (strcmp(show(world, mem), states[0]) != 0)
        wrong("what was done cannot be undone");
    talloc_free(mem);
    points += failed > 0;
    return failed > 0;
}

/* The points of one operation on one store; the first offset is random. */
static void sweep(struct world *world, const struct operation *operation,
                  size_t first, size_t step)
{
    void *mem = world->mem = talloc_new(NULL);
    const char *states[2] = {NULL};
    operation->furnish(world);
    point = 0;
    states[0] = show(world, mem);
    enum kx_status wanted = operation->run(world);
    states[1] = show(world, mem);
    undo(world, operation);
    if (strcmp(show(world, mem), states[0]) != 0)
        wrong("it cannot be undone");
    size_t before = failures;
    for (point = first; failures < before + 3; point += step)
        if (!try_point(world, operation, wanted, states))
            break;
    talloc_free(mem);
}

/* Nothing must be left when the store is closed. */
static void run(const struct operation *operation, size_t first, size_t step,
                bool persistent)
{
    struct world world = {.persistent = persistent};
    size_t failed = failures;
    operation_name = operation->name;
    alloc_trace();
    long live = alloc_live();
    test_store_new(&world.test);
    sweep(&world, operation, first, step);
    test_store_remove(&world.test);
    if (alloc_live() != live)
        wrong("%ld blocks are left in all", alloc_live() - live);
    if (alloc_live() != live)
        alloc_left();
    if (failures == failed) {
        passed++;
        printf("ok      %s: %zu allocations, from %zu by %zu%s\n",
               operation->name, point - 1, first, step,
               persistent ? ", and all after it" : "");
    }
    fflush(stdout);
}

/* What is allocated once in a process. */
static void warm_up(void)
{
    struct test_store test;
    test_store_new(&test);
    test_store_remove(&test);
}

int main(int argc, char **argv)
{
    size_t step = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const char *only = argc > 2 ? argv[2] : NULL;
    size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    uint64_t seed = random_seed("alloc_core");
    kx_log_level(KX_LOG_ERROR);
    warm_up();
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++) {
        size_t first = n > 0 ? n : 1 + random_below(&seed, step);
        size_t by = n > 0 ? SIZE_MAX / 2 : step;
        if (only != NULL && strcmp(only, OPERATIONS[i].name) != 0)
            continue;
        run(&OPERATIONS[i], first, by, false);
        run(&OPERATIONS[i], first, by, true);
    }
    printf("%zu allocations failed\n", points);
    printf("%zu passed, %zu failed\n", passed, failures);
    return failures > 0 ? 1 : 0;
}
