#include "verifying.h"

static const char *const declarations[] = {
    "{\"name\":\"u\",\"prefix\":[\"p\"],\"fields\":[\"/a\"],\"unique\":true}",
    "{\"name\":\"n\",\"prefix\":[\"p\"],\"fields\":[\"/c\"]}",
    "{\"name\":\"v\",\"prefix\":[\"p\"],\"fields\":[\"/a\"],\"unique\":true,"
    "\"store\":\"value\"}",
    "{\"name\":\"f\",\"prefix\":[\"p\"],\"fields\":[{\"path\":\"/t\","
    "\"each\":true}],\"store\":{\"fields\":[\"/c\"]}}",
};

void set(struct story *s, int n, int a)
{
    char *key = talloc_asprintf(s->mem, "[\"p\",%d]", n);
    char *value = talloc_asprintf(
        s->mem, "{\"a\":\"a%d\",\"c\":%d,\"t\":[\"x\",%d]}", a, n % 7, n % 3);
    assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
    talloc_free(key);
    talloc_free(value);
}

void fill(struct story *s, int count)
{
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        assert_int_equal(test_declare(&s->test, s->mem, declarations[i]),
                         KX_OK);
    for (int i = 0; i < count; i++)
        set(s, i, i);
}

enum kx_status begin_verification(struct story *s, const char *index,
                                  bool repair)
{
    struct kx_commit commit = {.command.kind = KX_VERIFY_INDEX,
                               .command.index_name = kx_text(index),
                               .command.repair = repair,
                               .memory = s->mem};
    return test_commit(&s->test, &commit);
}

struct kx_verification report(struct story *s, const char *index)
{
    struct kx_index_info info;
    struct kx_verification report = {.running = false};
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_find(s->test.reader, kx_text(index), &info),
                     KX_OK);
    if (info.verification != NULL)
        report = *info.verification;
    kx_read_end(s->test.reader);
    return report;
}

struct kx_verification verify(struct story *s, const char *index, bool repair)
{
    assert_int_equal(begin_verification(s, index, repair), KX_OK);
    while (report(s, index).running)
        usleep(1000);
    struct kx_verification last = report(s, index);
    assert_int_equal(last.repair, repair);
    assert_true(last.ended_at_ms >= last.started_at_ms);
    assert_int_equal(last.done, last.total);
    return last;
}

void expect(const struct kx_verification *report, uint64_t missing,
            uint64_t dangling, uint64_t stale, uint64_t duplicate)
{
    assert_int_equal(report->counts[KX_MISSING], missing);
    assert_int_equal(report->counts[KX_DANGLING], dangling);
    assert_int_equal(report->counts[KX_STALE], stale);
    assert_int_equal(report->counts[KX_DUPLICATE], duplicate);
}

void same_key(struct story *s, const struct kx_sample *sample, const char *key)
{
    assert_true(
        kx_equal(kx_slice(sample->key, sample->size), test_key(s->mem, key)));
}

void plant(struct story *s, struct kx_slice key, struct kx_slice value)
{
    struct row_write write = {.type = value.size == 0 ? ROW_DELETE : ROW_PUT,
                              .table = TABLE_ENTRIES,
                              .key = key,
                              .value = value};
    test_store_close(&s->test);
    test_write(&s->test, s->mem, &write);
    test_store_open(&s->test);
}

void remove_row(struct story *s, const char *key)
{
    plant(s, test_key(s->mem, key), kx_slice(NULL, 0));
}
