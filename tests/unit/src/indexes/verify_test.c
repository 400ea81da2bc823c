/* Verification: each kind of damage is planted in the tables without the store,
 * and must be found, shown and, if asked for, repaired. The Makefile puts
 * __wrap_txn_apply where the core applies a batch. */
#include "verifying.h"

#include <stdatomic.h>

enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);

static atomic_bool failing; /* the next batch that changes an entry */

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    return writes[0].table == TABLE_ENTRIES && atomic_exchange(&failing, false)
               ? KX_NO_MEMORY
               : __real_txn_apply(env, writes, count, order);
}

static void plant_row(struct story *s, const char *key,
                      const struct record *record)
{
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, s->mem);
    record_write(record, &bytes);
    plant(s, test_key(s->mem, key), kx_buffer_slice(&bytes));
}

/* A pointer of the unique index u, whose id is 1. */
static struct record pointer_to(struct story *s, const char *owner)
{
    return (struct record){.encoding = KX_POINTER,
                           .stamp = 5,
                           .index = 1,
                           .owner = test_key(s->mem, owner)};
}

static const char *list(struct story *s, const char *prefix)
{
    return test_list(&s->test, s->mem, prefix);
}

/* Verifies three times: the first finds everything, the second repairs it, the
 * third finds nothing; then the index is as it was. */
static void find_and_repair(struct story *s, const char *index,
                            const char *before, struct kx_verification *found)
{
    char *prefix = talloc_asprintf(s->mem, "[\"%s\"]", index);
    assert_string_not_equal(list(s, prefix), before);
    *found = verify(s, index, false);
    assert_int_equal(found->repaired, 0);
    assert_string_not_equal(list(s, prefix), before);
    struct kx_verification repaired = verify(s, index, true);
    assert_memory_equal(repaired.counts, found->counts, sizeof found->counts);
    assert_true(repaired.repaired > 0);
    assert_string_equal(list(s, prefix), before);
    repaired = verify(s, index, false);
    expect(&repaired, 0, 0, 0, 0);
    struct kx_index_info info;
    kx_read_begin(s->test.reader);
    kx_index_find(s->test.reader, kx_text(index), &info);
    kx_read_end(s->test.reader);
    size_t entries = 0;
    for (const char *at = before; (at = strchr(at, '|')) != NULL; at++)
        entries++;
    assert_int_equal(info.entries, entries);
}

TEST_WITH(verify_adds_missing_index_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    remove_row(s, "[\"u\",\"a7\"]");
    find_and_repair(s, "u", before, &found);
    expect(&found, 1, 0, 0, 0);
    same_key(s, &found.samples[KX_MISSING][0].index_key, "[\"u\",\"a7\"]");
    same_key(s, &found.samples[KX_MISSING][0].key, "[\"p\",7]");
    before = list(s, "[\"f\"]");
    remove_row(s, "[\"f\",\"x\",3]");
    find_and_repair(s, "f", before, &found);
    expect(&found, 1, 0, 0, 0);
}

/* The second attempt must not count damage twice. */
TEST_WITH(verify_retries_a_failed_repair, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    remove_row(s, "[\"u\",\"a7\"]");
    atomic_store(&failing, true);
    find_and_repair(s, "u", before, &found);
    assert_false(atomic_load(&failing));
    expect(&found, 1, 0, 0, 0);
}

TEST_WITH(verify_removes_dangling_index_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    struct record row = pointer_to(s, "[99]");
    plant_row(s, "[\"u\",\"ghost\"]", &row);
    find_and_repair(s, "u", before, &found);
    expect(&found, 0, 1, 0, 0);
    same_key(s, &found.samples[KX_DANGLING][0].index_key, "[\"u\",\"ghost\"]");
    assert_int_equal(found.samples[KX_DANGLING][0].key.size, 0);
}

/* The entry was deleted without the index. */
TEST_WITH(verify_removes_index_entry_of_a_lost_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *first = list(s, "[\"u\"]");
    test_delete(&s->test, s->mem, "[\"p\",3]");
    const char *before = list(s, "[\"u\"]");
    set(s, 3, 3);
    remove_row(s, "[\"p\",3]");
    assert_string_equal(list(s, "[\"u\"]"), first);
    find_and_repair(s, "u", before, &found);
    expect(&found, 0, 1, 0, 0);
}

TEST_WITH(verify_repairs_stale_index_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    struct record row = pointer_to(s, "[4]");
    plant_row(s, "[\"u\",\"old\"]", &row); /* 4 had this value once */
    find_and_repair(s, "u", before, &found);
    expect(&found, 0, 0, 1, 0);
    same_key(s, &found.samples[KX_STALE][0].key, "[\"p\",4]");
    before = list(s, "[\"v\"]");
    row = (struct record){.encoding = KX_JSON,
                          .stamp = 5,
                          .index = 3,
                          .owner = test_key(s->mem, "[4]"),
                          .value = kx_text("{\"a\":\"a4\",\"c\":99}")};
    plant_row(s, "[\"v\",\"a4\"]", &row);
    find_and_repair(s, "v", before, &found);
    expect(&found, 0, 0, 1, 0);
}

/* A copy that is right, but has the versionstamp of an older one. */
TEST_WITH(verify_repairs_wrong_versionstamp_as_stale, begin, finish)
{
    struct story *s = *state;
    fill(s, 20);
    struct record row = {.encoding = KX_JSON,
                         .stamp = 2,
                         .index = 3,
                         .owner = test_key(s->mem, "[4]"),
                         .value =
                             kx_text(test_get(&s->test, s->mem, "[\"p\",4]"))};
    plant_row(s, "[\"v\",\"a4\"]", &row);
    struct kx_verification found = verify(s, "v", true);
    expect(&found, 0, 0, 1, 0);
    found = verify(s, "v", false);
    expect(&found, 0, 0, 0, 0);
}

/* One row has two faults: its entry has another value, and the entry with this
 * value has no row. */
TEST_WITH(verify_repairs_row_that_leads_to_another_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    struct record row = pointer_to(s, "[5]");
    plant_row(s, "[\"u\",\"a4\"]", &row);
    find_and_repair(s, "u", before, &found);
    expect(&found, 1, 0, 1, 0);
}

TEST_WITH(verify_repairs_row_that_is_no_record, begin, finish)
{
    struct story *s = *state;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    plant(s, test_key(s->mem, "[\"u\",\"a4\"]"), kx_text("\xff"));
    struct kx_verification found = verify(s, "u", false);
    expect(&found, 1, 1, 0, 0);
    found = verify(s, "u", true);
    expect(&found, 1, 1, 0, 0);
    assert_string_equal(list(s, "[\"u\"]"), before);
}

/* A client's entry under the name of the index. */
TEST_WITH(verify_removes_foreign_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 20);
    const char *before = list(s, "[\"u\"]");
    struct record row = {
        .encoding = KX_JSON, .stamp = 5, .value = kx_text("1")};
    plant_row(s, "[\"u\",\"mine\"]", &row);
    find_and_repair(s, "u", before, &found);
    expect(&found, 0, 1, 0, 0);
}

TEST_WITH(verify_reports_duplicates_and_leaves_them, begin, finish)
{
    struct story *s = *state;
    fill(s, 20);
    struct record row = {
        .encoding = KX_JSON, .stamp = 9, .value = kx_text("{\"a\":\"a4\"}")};
    plant_row(s, "[\"p\",500]", &row);
    struct kx_verification found = verify(s, "u", true);
    expect(&found, 0, 0, 0, 1);
    assert_int_equal(found.repaired, 0);
    same_key(s, &found.samples[KX_DUPLICATE][0].key, "[\"p\",500]");
    same_key(s, &found.samples[KX_DUPLICATE][0].index_key, "[\"u\",\"a4\"]");
    assert_string_equal(test_get(&s->test, s->mem, "[\"p\",500]"),
                        "{\"a\":\"a4\"}");
}

/* More than the samples have room for, and more than one job looks at. */
TEST_WITH(verify_counts_all_damage_and_samples_some, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill(s, 40);
    const char *before = list(s, "[\"n\"]");
    for (int i = 0; i < 9; i++)
        remove_row(s, talloc_asprintf(s->mem, "[\"n\",%d,%d]", i % 7, i));
    find_and_repair(s, "n", before, &found);
    expect(&found, 9, 0, 0, 0);
    assert_int_equal(found.sample_counts[KX_MISSING], KX_SAMPLES_MAX);
}
