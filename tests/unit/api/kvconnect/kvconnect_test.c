/* KV Connect as its clients speak it: recorded exchanges of Deno and @deno/kv,
 * large replies, other databases, and damaged requests. */
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect_call.h"

#include <jansson.h>

/* Within the life of what the recorded clients let expire. */
enum { RECORDED_AT_S = 1795253200 };

static char *hex_of(void *mem, struct kx_slice bytes)
{
    char *text = talloc_zero_size(mem, 2 * bytes.size + 1);
    for (size_t i = 0; i < bytes.size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes.data[i]);
    return text;
}

/* ---- Recorded exchanges ------------------------------------------------- */

/* Replaces every occurrence of one text by another of the same length. */
static void replace(char *text, const char *old, const char *new)
{
    for (; (text = strstr(text, old)) != NULL; text += strlen(old))
        memcpy(text, new, strlen(new));
}

/* Versionstamps of the recording and of this run, by pairs, as hexadecimal
 * digits; each also as text, which is how a key holds them. */
struct stamps {
    char recorded[64][2][41];
    char here[64][2][41];
    size_t count;
};

static void set_stamp(char pair[2][41], const char *digits)
{
    snprintf(pair[0], sizeof pair[0], "%.20s", digits);
    for (size_t i = 0; i < 20; i++)
        snprintf(pair[1] + 2 * i, 3, "%02x", pair[0][i]);
}

/* A successful write tells which stamp stands for which. */
static void note_stamp(struct stamps *stamps, const char *path,
                       const char *recorded, const char *here)
{
    static const char success[] = "0801120a";
    if (strcmp(path, "/v2/atomic_write") != 0 ||
        strncmp(recorded, success, 8) != 0 || strncmp(here, success, 8) != 0)
        return;
    assert_true(stamps->count < 64);
    set_stamp(stamps->recorded[stamps->count], recorded + 8);
    set_stamp(stamps->here[stamps->count++], here + 8);
}

/* Returns the recorded answer with the versionstamps of this run, and with V8
 * values in the version that Node reads, too. */
static char *expected(void *mem, const struct stamps *stamps,
                      const char *recorded)
{
    char *text = talloc_strdup(mem, recorded);
    replace(text, "ff10", "ff0f");
    for (size_t i = 0; i < stamps->count; i++)
        for (size_t form = 0; form < 2; form++)
            replace(text, stamps->recorded[i][form], stamps->here[i][form]);
    return text;
}

/* Queues are the one thing that is refused here and not there. */
static bool enqueues(const char *path, const char *request)
{
    return strcmp(path, "/v2/atomic_write") == 0 &&
           strncmp(request, "1a", 2) == 0;
}

static void exchange(struct story *story, struct stamps *stamps,
                     const json_t *recorded)
{
    const char *path = json_string_value(json_object_get(recorded, "path"));
    const char *sent = json_string_value(json_object_get(recorded, "request"));
    const char *response =
        json_string_value(json_object_get(recorded, "response"));
    if (strcmp(path, "/v2/watch") == 0)
        return;
    struct answer answer = post(story, path, bytes_of(story->mem, sent));
    assert_int_equal(answer.status, enqueues(path, sent) ? 400 : 200);
    if (answer.status == 400 || strcmp(path, "/") == 0)
        return;
    char *here = hex_of(story->mem, answer.body);
    note_stamp(stamps, path, response, here);
    assert_string_equal(here, expected(story->mem, stamps, response));
}

static void replay(struct story *story, const char *client)
{
    char path[256];
    struct stamps stamps = {.count = 0};
    size_t i;
    json_t *recorded;
    json_t *all = json_load_file(
        data_path("wire-vectors.json", path, sizeof path), 0, NULL);
    assert_non_null(all);
    kx_clock_set(RECORDED_AT_S * INT64_C(1000));
    json_array_foreach(json_object_get(all, client), i, recorded)
        exchange(story, &stamps, recorded);
    assert_true(i > 10);
    json_decref(all);
}

TEST_WITH(replies_to_deno_equal_recorded_replies, begin_calls, finish_calls)
{
    replay(*state, "deno");
}

TEST_WITH(replies_to_node_equal_recorded_replies, begin_calls, finish_calls)
{
    replay(*state, "node");
}

/* ---- Large replies ------------------------------------------------------ */

/* A JSON array of elements, each followed by a comma but the last. */
static const char *array_of(void *mem, const char *element, size_t count)
{
    struct kx_buffer text;
    kx_buffer_init(&text, mem);
    kx_add_byte(&text, '[');
    for (size_t i = 0; i < count; i++) {
        kx_add_text(&text, i == 0 ? "" : ",");
        kx_add_text(&text, element);
    }
    kx_add(&text, "]", 2);
    assert_false(text.failed);
    return (const char *)text.data;
}

/* Under "b" they take less than 2 MiB, and more in V8; under "d" it is the
 * other way round: the length of a range has as many bytes as it needs. */
static void set_large(struct story *story)
{
    static const struct {
        const char *key;
        const char *element;
        size_t count;
    } values[] = {
        {"[\"a\",1]", "1", 1},
        {"[\"a\",2]", "2", 1},
        {"[\"b\",1]", "1.5", 200000},
        {"[\"b\",2]", "1.5", 240000},
        {"[\"b\",3]", "3", 1},
        {"[\"d\",1]", "\"\\u0061\\u0061\"", 65000},
        {"[\"d\",2]", "\"\\u0061\\u0061\"", 65000},
        {"[\"d\",3]", "\"\\u0061\\u0061\"", 65000},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(
            test_set(&story->test, story->mem, values[i].key,
                     array_of(story->mem, values[i].element, values[i].count)),
            KX_OK);
}

/* The reply shows what was there when it was read. */
TEST_WITH(large_snapshot_read_is_written_after_its_view, begin_calls,
          finish_calls)
{
    static const char hex[] = "0a0d0a0302610012040261 00ff180a"
                              "0a0f0a0302620012040262 00ff180a2001"
                              "0a0d0a0302630012040263 00ff180a"
                              "0a0d0a0302640012040264 00ff180a"
                              "0a0d0a0302610012040261 00ff180a";
    static const size_t counts[] = {2, 3, 0, 3, 2};
    struct story *story = *state;
    size_t turns = 1;
    set_large(story);
    struct exchange *exchange =
        post_until_turn(story, "/v2/snapshot_read",
                        bytes_of(story->mem, compact(story->mem, hex)));
    const struct reply *reply = &exchange->reply;
    assert_int_equal(exchange->awaits, AWAITS_TURN);
    assert_true(exchange->request.kept > 1 << 20);
    test_delete(&story->test, story->mem, "[\"a\",1]");
    test_delete(&story->test, story->mem, "[\"d\",1]");
    for (; exchange->awaits == AWAITS_TURN; turns++) {
        assert_true(turns < 100);
        continue_post(exchange);
    }
    assert_true(turns > 2);
    assert_int_equal(exchange->request.kept, 0);
    assert_int_equal(reply->status, 200);
    Datapath__SnapshotReadOutput *output =
        datapath__snapshot_read_output__unpack(NULL, reply->body.size,
                                               reply->body.data);
    assert_non_null(output);
    assert_int_equal(datapath__snapshot_read_output__get_packed_size(output),
                     reply->body.size);
    assert_int_equal(output->n_ranges, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(output->ranges[i]->n_values, counts[i]);
    assert_true(output->ranges[1]->values[1]->value.len > 2 << 20);
    assert_true(output->ranges[1]->values[2]->value.len < 2 << 20);
    assert_true(output->ranges[3]->values[2]->value.len < 300000);
    datapath__snapshot_read_output__free_unpacked(output, NULL);
    exchange_end(exchange);
}

/* ---- Versions and databases --------------------------------------------- */

TEST_WITH(other_database_or_version_is_refused, begin_calls, finish_calls)
{
    struct story *story = *state;
    struct kx_slice empty = kx_slice(NULL, 0);
    call_headers[0] = kx_store_id(story->test.store);
    call_headers[1] = "3";
    assert_int_equal(post(story, "/v2/atomic_write", empty).status, 200);
    call_headers[1] = "4";
    assert_int_equal(post(story, "/v2/atomic_write", empty).status, 400);
    call_headers[1] = "2";
    call_headers[0] = "00000000-0000-0000-0000-000000000000";
    struct answer answer = post(story, "/v2/snapshot_read", empty);
    assert_int_equal(answer.status, 400);
    assert_non_null(strstr(text_of(story, answer), "database"));
    call_headers[0] = call_headers[1] = NULL;
}

/* ---- Chance ------------------------------------------------------------- */

/* Recorded requests with some bytes changed: every answer is a good or a 4xx
 * one. */
TEST_WITH(damaged_messages_are_answered, begin_calls, finish_calls)
{
    struct story *story = *state;
    uint64_t seed = random_seed("kvconnect");
    char path[256];
    json_t *all = json_load_file(
        data_path("wire-vectors.json", path, sizeof path), 0, NULL);
    const json_t *list = json_object_get(all, "deno");
    for (size_t run = 0; run < 5000; run++) {
        const json_t *one =
            json_array_get(list, random_below(&seed, json_array_size(list)));
        const char *where = json_string_value(json_object_get(one, "path"));
        struct kx_slice body = bytes_of(
            story->mem, json_string_value(json_object_get(one, "request")));
        uint8_t *bytes = talloc_memdup(story->mem, body.data, body.size);
        for (size_t i = random_below(&seed, 4); body.size > 0 && i > 0; i--)
            bytes[random_below(&seed, body.size)] = (uint8_t)random_next(&seed);
        if (strcmp(where, "/v2/watch") == 0)
            continue;
        int status = post(story, where, kx_slice(bytes, body.size)).status;
        assert_true(status == 200 || (status >= 400 && status < 500));
        talloc_free_children(story->mem);
    }
    json_decref(all);
}
