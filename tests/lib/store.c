#include "store.h"

#include <ftw.h>

enum { PATIENCE_MS = 60000 };

/* The owner of each ticket is a flag that says it is answered. */
static void test_answer(void *context, struct kx_ticket *first)
{
    struct test_store *test = context;
    pthread_mutex_lock(&test->lock);
    while (first != NULL) {
        struct kx_ticket *next = first->next;
        *(bool *)first->owner = true;
        first = next;
    }
    pthread_cond_broadcast(&test->answered);
    pthread_mutex_unlock(&test->lock);
}

void test_store_open(struct test_store *test)
{
    assert_int_equal(kx_open(&test->options, &test->store, NULL), KX_OK);
    assert_int_equal(kx_reader_open(test->store, &test->reader), KX_OK);
}

void test_store_close(struct test_store *test)
{
    kx_reader_close(test->reader);
    kx_close(test->store);
}

void test_store_place(struct test_store *test, const char *place)
{
    *test = (struct test_store){.store = NULL};
    snprintf(test->directory, sizeof test->directory, "%s/kindex-test-XXXXXX",
             place);
    assert_non_null(mkdtemp(test->directory));
    pthread_mutex_init(&test->lock, NULL);
    pthread_cond_init(&test->answered, NULL);
    kx_options_default(&test->options);
    test->options.directory = test->directory;
    test->options.cache_bytes = 16 << 20;
    test->options.disk_floor = 0;
    test->options.answer = test_answer;
    test->options.answer_context = test;
}

void test_store_new_at(struct test_store *test, const char *place)
{
    test_store_place(test, place);
    test_store_open(test);
}

struct env *test_env(struct test_store *test, void *mem)
{
    struct env *env = NULL;
    struct env_options options = {.directory = test->directory,
                                  .cache_bytes = 1 << 20};
    assert_int_equal(env_open(mem, &options, &env, NULL), KX_OK);
    return env;
}

void test_put(struct env *env, const char *key, struct kx_slice value)
{
    struct row_write write = {.type = ROW_PUT,
                              .table = TABLE_CATALOG,
                              .key = kx_text(key),
                              .value = value};
    assert_int_equal(txn_apply(env, &write, 1, ROWS_SCATTERED), KX_OK);
}

void test_wait_for_checkpoint(struct test_store *test)
{
    struct kx_stats figures = {.checkpoints = 0};
    for (int ms = 0; ms < PATIENCE_MS && figures.checkpoints == 0; ms++) {
        usleep(1000);
        kx_stats_read(test->store, &figures);
    }
    assert_int_not_equal(figures.checkpoints, 0);
}

void test_write(struct test_store *test, void *mem,
                const struct row_write *write)
{
    struct env *env = test_env(test, mem);
    assert_int_equal(txn_apply(env, write, 1, ROWS_SCATTERED), KX_OK);
    assert_int_equal(env_flush(env), KX_OK);
    env_close(env);
}

void test_store_new(struct test_store *test)
{
    test_store_new_at(test, test_place());
}

static int test_remove_file(const char *path, const struct stat *stat, int type,
                            struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

void test_remove(const char *path)
{
    nftw(path, test_remove_file, 8, FTW_DEPTH | FTW_PHYS);
}

void test_store_remove(struct test_store *test)
{
    test_store_close(test);
    test_remove(test->directory);
}

void test_wait(struct test_store *test, const bool *done)
{
    pthread_mutex_lock(&test->lock);
    while (!*done)
        pthread_cond_wait(&test->answered, &test->lock);
    pthread_mutex_unlock(&test->lock);
}

enum kx_status test_commit(struct test_store *test, struct kx_commit *commit)
{
    bool done = false;
    commit->ticket.owner = &done;
    enum kx_status status = kx_submit(test->store, commit);
    if (status != KX_OK)
        return status;
    test_wait(test, &done);
    return commit->status;
}

struct kx_slice test_key(void *mem, const char *json)
{
    struct kx_buffer key;
    kx_buffer_init(&key, mem);
    assert_int_equal(kx_key_from_json(kx_text(json), &key, NULL), KX_OK);
    return kx_buffer_slice(&key);
}

struct kx_value test_json(const char *text)
{
    return (struct kx_value){.encoding = KX_JSON, .data = kx_text(text)};
}

enum kx_status test_mutate(struct test_store *test, void *mem,
                           enum kx_mutation_type type, const char *key,
                           const char *value)
{
    struct kx_mutation mutation = {.type = type, .key = test_key(mem, key)};
    if (value != NULL)
        mutation.value = test_json(value);
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = mem};
    return test_commit(test, &commit);
}

enum kx_status test_set(struct test_store *test, void *mem, const char *key,
                        const char *value)
{
    return test_mutate(test, mem, KX_SET, key, value);
}

enum kx_status test_set_until(struct test_store *test, void *mem,
                              const char *key, int64_t expires_at_ms)
{
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(mem, key),
                                   .value = test_json("1"),
                                   .expires_at_ms = expires_at_ms};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = mem};
    return test_commit(test, &commit);
}

void test_fill(struct test_store *test, const char *prefix, int first,
               int count, const char *(*value_of)(void *mem, int n))
{
    void *mem = talloc_new(NULL);
    struct kx_mutation *mutations =
        talloc_zero_array(mem, struct kx_mutation, (unsigned)count);
    for (int i = 0; i < count; i++) {
        const char *key =
            talloc_asprintf(mem, "[\"%s\",%d]", prefix, first + i);
        mutations[i] =
            (struct kx_mutation){.type = KX_SET,
                                 .key = test_key(mem, key),
                                 .value = test_json(value_of(mem, first + i))};
    }
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = (size_t)count, .memory = mem};
    assert_int_equal(test_commit(test, &commit), KX_OK);
    talloc_free(mem);
}

size_t test_count(struct test_store *test, const struct kx_range *range)
{
    struct kx_entry entry;
    size_t count = 0;
    kx_read_begin(test->reader);
    assert_int_equal(kx_scan(test->reader, range, NULL), KX_OK);
    while (kx_scan_next(test->reader, &entry) == KX_OK)
        count++;
    kx_read_end(test->reader);
    return count;
}

enum kx_status test_delete(struct test_store *test, void *mem, const char *key)
{
    return test_mutate(test, mem, KX_DELETE, key, NULL);
}

enum kx_status test_declare(struct test_store *test, void *mem,
                            const char *declaration)
{
    struct kx_commit commit = {.command.kind = KX_DECLARE_INDEX,
                               .command.declaration = kx_text(declaration),
                               .memory = mem};
    return test_commit(test, &commit);
}

void test_declare_by_n(struct test_store *test, void *mem)
{
    assert_int_equal(test_set(test, mem, "[\"u\",1]", "{\"n\":1}"), KX_OK);
    assert_int_equal(
        test_declare(
            test, mem,
            "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}"),
        KX_OK);
}

enum kx_status test_drop(struct test_store *test, void *mem, const char *name)
{
    struct kx_commit commit = {.command.kind = KX_DROP_INDEX,
                               .command.index_name = kx_text(name),
                               .memory = mem};
    return test_commit(test, &commit);
}

enum kx_status test_index(struct test_store *test, const char *name,
                          struct kx_index_info *info_out)
{
    kx_read_begin(test->reader);
    enum kx_status status =
        kx_index_find(test->reader, kx_text(name), info_out);
    kx_read_end(test->reader);
    return status;
}

void test_show(const struct kx_entry *entry, struct kx_buffer *out)
{
    kx_key_to_json(entry->key, out);
    kx_add_byte(out, ' ');
    if (entry->value.encoding == KX_POINTER)
        kx_key_to_json(entry->value.data, out);
    else
        kx_add_slice(out, entry->value.data);
    kx_add_byte(out, '|');
}

const char *test_get(struct test_store *test, void *mem, const char *key)
{
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, mem);
    kx_read_begin(test->reader);
    enum kx_status status =
        kx_read(test->reader, test_key(mem, key), &record, &entry, NULL);
    kx_read_end(test->reader);
    if (status != KX_OK)
        return NULL;
    return talloc_strndup(mem, (const char *)entry.value.data.data,
                          entry.value.data.size);
}

uint64_t test_stamp(struct test_store *test, void *mem, const char *key)
{
    struct kx_buffer record;
    struct kx_entry entry = {.stamp = 0};
    kx_buffer_init(&record, mem);
    kx_read_begin(test->reader);
    kx_read(test->reader, test_key(mem, key), &record, &entry, NULL);
    kx_read_end(test->reader);
    return entry.stamp;
}

const char *test_list(struct test_store *test, void *mem, const char *prefix)
{
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer out;
    struct kx_slice key = test_key(mem, prefix);
    kx_buffer_init(&start, mem);
    kx_buffer_init(&end, mem);
    kx_buffer_init(&out, mem);
    kx_add_slice(&start, key);
    kx_add_byte(&start, 0);
    kx_add_slice(&end, key);
    kx_add_byte(&end, 0xff);
    struct kx_range range = {.start = kx_buffer_slice(&start),
                             .end = kx_buffer_slice(&end)};
    struct kx_entry entry;
    kx_read_begin(test->reader);
    enum kx_status status = kx_scan(test->reader, &range, NULL);
    while (status == KX_OK &&
           (status = kx_scan_next(test->reader, &entry)) == KX_OK)
        test_show(&entry, &out);
    kx_read_end(test->reader);
    assert_int_equal(status, KX_END);
    kx_add_byte(&out, 0);
    return (const char *)out.data;
}

int begin(void **state)
{
    struct story *story = talloc_zero(NULL, struct story);
    story->mem = talloc_new(story);
    test_store_new(&story->test);
    *state = story;
    return 0;
}

int finish(void **state)
{
    struct story *story = *state;
    kx_clock_set(0);
    test_store_remove(&story->test);
    return talloc_free(story);
}

bool test_lose_row(struct test_store *test, void *mem, const char *index)
{
    struct kx_slice name =
        test_key(mem, talloc_asprintf(mem, "[\"%s\"]", index));
    struct kx_range range = {.start = name};
    struct kx_entry entry;
    struct row_write write = {.type = ROW_DELETE, .table = TABLE_ENTRIES};
    kx_read_begin(test->reader);
    assert_int_equal(kx_scan(test->reader, &range, NULL), KX_OK);
    bool found = kx_scan_next(test->reader, &entry) == KX_OK &&
                 kx_starts_with(entry.key, name);
    if (found)
        write.key = kx_slice(talloc_memdup(mem, entry.key.data, entry.key.size),
                             entry.key.size);
    kx_read_end(test->reader);
    if (!found)
        return false;
    test_store_close(test);
    test_write(test, mem, &write);
    test_store_open(test);
    return true;
}
