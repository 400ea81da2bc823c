/* KV Connect as its clients speak it: recorded exchanges of Deno and @deno/kv,
 * and what is refused. Handlers are called as a door calls them. */
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/kvconnect.h"
#include "http/router.h"
#include "http/service.h"
#include "server/routes.h"
#include "store.h"

#include <jansson.h>
#include <strings.h>

/* Within the life of what the recorded clients let expire. */
enum { RECORDED_AT_S = 1795253200 };

static const char *headers[3]; /* database id, version, host */

static const char *header(const struct request *request, const char *name)
{
    static const char *const names[] = {"x-denokv-database-id",
                                        "x-denokv-version", "Host"};
    (void)request;
    for (size_t i = 0; i < 3; i++)
        if (strcasecmp(name, names[i]) == 0)
            return headers[i];
    return NULL;
}

struct answer {
    int status;
    const char *content_type;
    struct kx_slice body;
};

static struct request request_to(struct story *story, const char *path,
                                 struct kx_slice body)
{
    static struct service service;
    service.store = story->test.store;
    service.routes = &ROUTES;
    struct request request = {.service = &service,
                              .reader = story->test.reader,
                              .method = METHOD_POST,
                              .path = kx_text(path),
                              .header = header,
                              .body = body,
                              .memory = story->mem,
                              .commit = {.memory = story->mem}};
    route_find(&request);
    assert_non_null(request.route);
    return request;
}

/* POSTs a body as an event loop would; the answer lies in the story's
 * memory. */
static struct answer post(struct story *story, const char *path,
                          struct kx_slice body)
{
    struct request request = request_to(story, path, body);
    struct reply reply = {.status = 0};
    kx_buffer_init(&reply.body, story->mem);
    enum progress progress = request.route->handle(&request, &reply);
    while (progress == VIEW) /* a step of a job is being applied */
        progress = request.route->handle(&request, &reply);
    kx_read_release(request.reader);
    if (progress == COMMIT) {
        test_commit(&story->test, &request.commit);
        assert_int_equal(request.route->finish(&request, &reply), DONE);
    }
    assert_false(reply.body.failed);
    return (struct answer){reply.status, reply.content_type,
                           kx_buffer_slice(&reply.body)};
}

static struct kx_slice bytes_of(void *mem, const char *hex)
{
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, mem);
    assert_true(kx_hex_read(kx_text(hex), &bytes));
    return kx_buffer_slice(&bytes);
}

static char *hex_of(void *mem, struct kx_slice bytes)
{
    char *text = talloc_zero_size(mem, 2 * bytes.size + 1);
    for (size_t i = 0; i < bytes.size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes.data[i]);
    return text;
}

/* Without the spaces that make a row readable. */
static const char *compact(void *mem, const char *spaced)
{
    char *text = talloc_strdup(mem, spaced);
    char *to = text;
    for (const char *from = spaced; *from != '\0'; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
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

/* What the recorded server answered, with the stamps of this run, and V8 values
 * in the version that Node reads as well. */
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

static void deno_is_answered_as_it_was_by_its_own_server(void **state)
{
    replay(*state, "deno");
}

static void node_is_answered_as_it_was_by_its_own_server(void **state)
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
static void a_large_reply_is_written_after_its_view(void **state)
{
    static const char hex[] = "0a0d0a0302610012040261 00ff180a"
                              "0a0f0a0302620012040262 00ff180a2001"
                              "0a0d0a0302630012040263 00ff180a"
                              "0a0d0a0302640012040264 00ff180a"
                              "0a0d0a0302610012040261 00ff180a";
    static const size_t counts[] = {2, 3, 0, 3, 2};
    struct story *story = *state;
    struct reply reply = {.status = 0};
    size_t turns = 1;
    set_large(story);
    kx_buffer_init(&reply.body, story->mem);
    struct request request =
        request_to(story, "/v2/snapshot_read",
                   bytes_of(story->mem, compact(story->mem, hex)));
    assert_int_equal(request.route->handle(&request, &reply), AGAIN);
    kx_read_release(request.reader);
    assert_true(request.kept > 1 << 20);
    test_delete(&story->test, story->mem, "[\"a\",1]");
    test_delete(&story->test, story->mem, "[\"d\",1]");
    for (; request.route->handle(&request, &reply) == AGAIN; turns++)
        assert_true(turns < 100);
    assert_true(turns > 2);
    assert_int_equal(request.kept, 0);
    assert_int_equal(reply.status, 200);
    Datapath__SnapshotReadOutput *output =
        datapath__snapshot_read_output__unpack(NULL, reply.body.size,
                                               reply.body.data);
    assert_non_null(output);
    assert_int_equal(datapath__snapshot_read_output__get_packed_size(output),
                     reply.body.size);
    assert_int_equal(output->n_ranges, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(output->ranges[i]->n_values, counts[i]);
    assert_true(output->ranges[1]->values[1]->value.len > 2 << 20);
    assert_true(output->ranges[1]->values[2]->value.len < 2 << 20);
    assert_true(output->ranges[3]->values[2]->value.len < 300000);
    datapath__snapshot_read_output__free_unpacked(output, NULL);
}

/* ---- Refusals ----------------------------------------------------------- */

static const struct {
    const char *path;
    const char *body; /* in hexadecimal */
    const char *says;
} REFUSED[] = {
    /* No messages at all, or cut off. */
    {"/v2/snapshot_read", "ff", "not a valid SnapshotRead message"},
    {"/v2/snapshot_read", "0a0d0a0302", "not a valid SnapshotRead message"},
    {"/v2/atomic_write", "12", "not a valid AtomicWrite message"},
    /* A range without a limit, and with a negative one. */
    {"/v2/snapshot_read", "0a060a01271201ff", "limit of a range is 0"},
    {"/v2/snapshot_read", "0a110a01271201ff18ffffffffffffffffff01",
     "limit of a range is -1"},
    {"/v2/snapshot_read", "0a090a01271201ff18e907", "add up to 1001 entries"},
    /* Keys: none, no parts, cut off. */
    {"/v2/atomic_write", "0a00", "the key"},
    {"/v2/atomic_write", "1205 0a01ff1802", "key"},
    {"/v2/atomic_write", "1206 0a0202611802", "key"},
    /* A versionstamp of 3 bytes. */
    {"/v2/atomic_write", "0a080a01271203000000", "Invalid versionstamp"},
    /* Mutations: no type, no value, no encoding, a KvU64 of 3 bytes. */
    {"/v2/atomic_write", "12030a0127", "mutation type 0 is unknown"},
    {"/v2/atomic_write", "12050a01271806", "mutation type 6 is unknown"},
    {"/v2/atomic_write", "12050a01271801", "'set' mutation needs a value"},
    {"/v2/atomic_write", "120a0a012712030a01001801",
     "value encoding 0 is unknown"},
    {"/v2/atomic_write", "120c0a012712050a010010021801", "A KvU64 has 8"},
    {"/v2/atomic_write", "120c0a012712050a010010031804",
     "Failed to perform 'max' mutation on a non-U64 operand"},
    {"/v2/atomic_write", "120c0a012712050a010010031805",
     "Failed to perform 'min' mutation on a non-U64 operand"},
    /* expire_at_ms is -2. */
    {"/v2/atomic_write", "12170a012712050a0100100318 0120feffffffffffffffff01",
     "must not be negative"},
    /* The metadata exchange: {}, [] and no JSON. */
    {"/", "7b7d", "supportedVersions"},
    {"/", "5b5d", "supportedVersions"},
    {"/", "7b", ""},
};

static void what_is_wrong_is_said_in_plain_text(void **state)
{
    struct story *story = *state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct answer answer =
            post(story, REFUSED[i].path,
                 bytes_of(story->mem, compact(story->mem, REFUSED[i].body)));
        const char *text = talloc_strndup(
            story->mem, (const char *)answer.body.data, answer.body.size);
        if (answer.status != 400 || strstr(text, REFUSED[i].says) == NULL)
            print_error("%s %s: %d %s\n", REFUSED[i].path, REFUSED[i].body,
                        answer.status, text);
        assert_int_equal(answer.status, 400);
        assert_string_equal(answer.content_type, "text/plain");
        assert_non_null(strstr(text, REFUSED[i].says));
    }
}

/* The same field again and again. */
static struct kx_slice repeated(void *mem, const char *hex, size_t count)
{
    struct kx_slice one = bytes_of(mem, hex);
    struct kx_buffer all;
    kx_buffer_init(&all, mem);
    while (count-- > 0)
        kx_add_slice(&all, one);
    return kx_buffer_slice(&all);
}

static void numbers_of_parts_are_limited(void **state)
{
    static const struct {
        const char *path;
        const char *field;
        size_t most;
    } cases[] = {
        {"/v2/snapshot_read", "0a080a01271201ff1801", KVCONNECT_RANGES_MAX},
        {"/v2/atomic_write", "0a040a022700", KVCONNECT_CHECKS_MAX},
        {"/v2/atomic_write", "12050a01271802", KVCONNECT_MUTATIONS_MAX},
    };
    struct story *story = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *field = i == 1 ? "0a030a0127" : cases[i].field;
        struct kx_slice most = repeated(story->mem, field, cases[i].most);
        struct kx_slice more = repeated(story->mem, field, cases[i].most + 1);
        assert_int_equal(post(story, cases[i].path, most).status, 200);
        assert_int_equal(post(story, cases[i].path, more).status, 400);
    }
}

/* Half a million parts of two bytes each must not become a hundred times as
 * much memory. */
static void a_small_body_cannot_take_much_memory(void **state)
{
    struct story *story = *state;
    static const char *const fields[] = {"1200", "0a00", "1a00", "7a00",
                                         "2800"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct kx_slice body = repeated(story->mem, fields[i], 500 * 1000);
        size_t before = talloc_total_size(story->mem);
        struct answer answer = post(story, "/v2/atomic_write", body);
        assert_int_equal(answer.status, 400);
        assert_true(talloc_total_size(story->mem) - before < 8 << 20);
        talloc_free_children(story->mem);
    }
}

/* ---- Versions and databases --------------------------------------------- */

static const char *text_of(struct story *story, struct answer answer)
{
    return talloc_strndup(story->mem, (const char *)answer.body.data,
                          answer.body.size);
}

static void the_highest_common_version_is_spoken(void **state)
{
    static const char *const cases[][3] = {
        {"", "{\"version\":1,", "\"url\":\"http://kv.test:4512/v2\""},
        {"{\"supportedVersions\":[1]}", "{\"version\":1,",
         "\"url\":\"http://kv.test:4512/v2\""},
        {"{\"supportedVersions\":[1,2]}", "{\"version\":2,", "\"url\":\"/v2\""},
        {"{\"supportedVersions\":[9,3,2,1],\"more\":0}", "{\"version\":3,",
         "\"url\":\"/v2\""},
    };
    struct story *story = *state;
    headers[2] = "kv.test:4512";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer answer = post(story, "/", kx_text(cases[i][0]));
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.content_type, "application/json");
        const char *text = text_of(story, answer);
        assert_memory_equal(text, cases[i][1], strlen(cases[i][1]));
        assert_non_null(strstr(text, cases[i][2]));
        assert_non_null(strstr(text, kx_store_id(story->test.store)));
    }
}

static void another_database_or_version_is_refused(void **state)
{
    struct story *story = *state;
    struct kx_slice empty = kx_slice(NULL, 0);
    headers[0] = kx_store_id(story->test.store);
    headers[1] = "3";
    assert_int_equal(post(story, "/v2/atomic_write", empty).status, 200);
    headers[1] = "4";
    assert_int_equal(post(story, "/v2/atomic_write", empty).status, 400);
    headers[1] = "2";
    headers[0] = "00000000-0000-0000-0000-000000000000";
    struct answer answer = post(story, "/v2/snapshot_read", empty);
    assert_int_equal(answer.status, 400);
    assert_non_null(strstr(text_of(story, answer), "database"));
    headers[0] = headers[1] = NULL;
}

static void a_store_keeps_its_name(void **state)
{
    struct story *story = *state;
    char id[64];
    snprintf(id, sizeof id, "%s", kx_store_id(story->test.store));
    assert_int_equal(strlen(id), 36);
    test_store_close(&story->test);
    test_store_open(&story->test);
    assert_string_equal(kx_store_id(story->test.store), id);
}

/* ---- Chance ------------------------------------------------------------- */

/* Recorded requests with some bytes changed: every answer is a good or a 4xx
 * one. */
static void damaged_requests_are_answered(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            deno_is_answered_as_it_was_by_its_own_server, begin, finish),
        cmocka_unit_test_setup_teardown(
            node_is_answered_as_it_was_by_its_own_server, begin, finish),
        cmocka_unit_test_setup_teardown(a_large_reply_is_written_after_its_view,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said_in_plain_text,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(numbers_of_parts_are_limited, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(a_small_body_cannot_take_much_memory,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(the_highest_common_version_is_spoken,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(another_database_or_version_is_refused,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(a_store_keeps_its_name, begin, finish),
        cmocka_unit_test_setup_teardown(damaged_requests_are_answered, begin,
                                        finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
