/* V8 values: 129 values as Deno and Node write them, to JSON and back. */
#include "kindex.h"
#include "entry/v8_json.h"
#include "v8/v8_normalize.h"
#include "vectors.h"

/* The state of one vector. */
struct run {
    json_t *vector;
    const char *writer;
    struct kx_buffer bytes; /* as it is written */
    struct kx_buffer shown; /* in JSON */
    struct kx_buffer again; /* from there */
};

static void run_open(struct run *run, void *memory)
{
    kx_buffer_init(&run->bytes, memory);
    kx_buffer_init(&run->shown, memory);
    kx_buffer_init(&run->again, memory);
}

static void run_close(struct run *run)
{
    kx_buffer_free(&run->bytes);
    kx_buffer_free(&run->shown);
    kx_buffer_free(&run->again);
}

static bool has(const struct run *run, const char *name)
{
    return json_is_true(json_object_get(run->vector, name));
}

static void assert_bytes(const struct run *run, const char *what,
                         struct kx_slice a, struct kx_slice b)
{
    if (!kx_equal(a, b))
        fail_msg("%s of %s: %s", vector_text(run->vector, "name"), run->writer,
                 what);
}

typedef void check_fn(struct run *run);

/* Runs a check for each vector and writer; returns how many there were. */
static int each_vector(void *memory, check_fn *check)
{
    static const char *const writers[] = {"deno", "node"};
    json_t *file = vectors_load("value-vectors.json");
    struct run run;
    size_t i;
    int count = 0;
    run_open(&run, memory);
    json_array_foreach(json_object_get(file, "values"), i, run.vector)
    {
        if (strcmp(vector_text(run.vector, "encoding"), "VE_V8") != 0)
            continue;
        for (int w = 0; w < 2; w++) {
            run.writer = writers[w];
            if (!vector_bytes(run.vector, run.writer, &run.bytes))
                continue;
            run.shown.size = 0;
            run.again.size = 0;
            check(&run);
            count++;
        }
    }
    run_close(&run);
    json_decref(file);
    return count;
}

/* ---- To JSON and back --------------------------------------------------- */

static void assert_shown(struct run *run)
{
    const char *plain = vector_text(run->vector, "value");
    const char *typed = vector_text(run->vector, "typed");
    struct kx_value value = v8(kx_buffer_slice(&run->bytes));
    struct kx_fault fault = {.detail = ""};
    if (kx_v8_check(value.data, run->bytes.owner, &fault) != KX_OK)
        fail_msg("%s: %s", vector_text(run->vector, "name"), fault.detail);
    bool is_plain = kx_value_to_json(&value, &run->shown);
    struct kx_slice shown = kx_buffer_slice(&run->shown);
    assert_int_equal(kx_json_check(shown, NULL), KX_OK);
    if (vector_text(run->vector, "repeat") != NULL)
        return;
    assert_int_equal(is_plain, plain != NULL);
    if (has(run, "raw")) {
        assert_true(kx_starts_with(shown, kx_text("{\"type\":\"V8\",")));
        return;
    }
    if (plain != NULL)
        assert_bytes(run, "shown", shown, kx_text(plain));
    else if (!kx_json_equal(shown, kx_text(typed)))
        fail_msg("%s: %.*s", vector_text(run->vector, "name"), (int)shown.size,
                 (const char *)shown.data);
}

TEST_WITH(v8_values_are_shown_in_json, memory_open, memory_close)
{
    assert_int_equal(each_vector(*state, assert_shown), 250);
}

/* From what is shown; in a separate context, for typed values leave their
 * pieces there. */
static void read_again(struct run *run, bool plain)
{
    struct kx_slice shown = kx_buffer_slice(&run->shown);
    void *memory = talloc_new(NULL);
    struct kx_value value;
    if (plain) {
        kx_v8_from_json(shown, &run->again);
    } else {
        assert_int_equal(kx_value_from_typed(shown, memory, &value, NULL),
                         KX_OK);
        assert_int_equal(value.encoding, KX_V8);
        kx_add_slice(&run->again, value.data);
    }
    talloc_free(memory);
}

/* The same value again: the bytes of Deno, in version 15. A view of a part of
 * its buffer comes back with that part alone, an object that appeared twice as
 * two; whole numbers that V8 had as doubles come back as integers. */
static void assert_again(struct run *run)
{
    struct kx_value value = v8(kx_buffer_slice(&run->bytes));
    read_again(run, kx_value_to_json(&value, &run->shown));
    struct kx_buffer expected;
    kx_buffer_init(&expected, run->bytes.owner);
    if (has(run, "raw"))
        kx_add_slice(&expected, value.data);
    else if (has(run, "trimmed") || has(run, "expanded"))
        kx_add_slice(&expected, kx_buffer_slice(&run->again));
    else
        assert_int_equal(v8_normalize(value.data, &expected), KX_OK);
    assert_bytes(run, "again", kx_buffer_slice(&run->again),
                 kx_buffer_slice(&expected));
    value.data = kx_buffer_slice(&run->again);
    expected.size = 0;
    kx_value_to_json(&value, &expected);
    assert_true(kx_json_equal(kx_buffer_slice(&expected),
                              kx_buffer_slice(&run->shown)));
    kx_buffer_free(&expected);
}

TEST_WITH(json_of_v8_value_reads_back_as_same_value, memory_open, memory_close)
{
    assert_int_equal(each_vector(*state, assert_again), 250);
}

/* ---- For the other program ---------------------------------------------- */

/* Deno gets its own bytes from both writers, except for the version. */
static void assert_for_deno(struct run *run)
{
    struct kx_value given = v8(kx_buffer_slice(&run->bytes));
    struct kx_value value;
    assert_int_equal(
        kx_value_for_js(&given, KX_V8_FOR_ANY, &run->shown, &value), KX_OK);
    if (has(run, "trimmed") && strcmp(run->writer, "node") == 0)
        return;
    assert_int_equal(value.encoding, KX_V8);
    vector_bytes(run->vector, "deno", &run->again);
    run->again.data[1] = 15;
    assert_bytes(run, "for Deno", value.data, kx_buffer_slice(&run->again));
}

TEST_WITH(v8_values_of_node_are_sent_to_deno_as_its_own, memory_open,
          memory_close)
{
    assert_int_equal(each_vector(*state, assert_for_deno), 250);
}

/* Node gets what it wrote, or the bytes of Deno in its own version. */
static void assert_for_node(struct run *run)
{
    struct kx_value given = v8(kx_buffer_slice(&run->bytes));
    struct kx_value value;
    assert_int_equal(
        kx_value_for_js(&given, KX_V8_FOR_NODE, &run->shown, &value), KX_OK);
    run->bytes.data[1] = 15;
    assert_bytes(run, "for Node", value.data, kx_buffer_slice(&run->bytes));
}

TEST_WITH(v8_values_are_sent_to_node_unchanged, memory_open, memory_close)
{
    assert_int_equal(each_vector(*state, assert_for_node), 250);
}

static void assert_normal(struct kx_buffer *scratch, const char *given,
                          const char *expected)
{
    struct kx_buffer out;
    struct kx_buffer wanted;
    kx_buffer_init(&out, scratch->owner);
    kx_buffer_init(&wanted, scratch->owner);
    kx_add_byte(&out, 'x');
    assert_int_equal(v8_normalize(from_hex(scratch, given), &out), KX_OK);
    if (!kx_equal(kx_slice(out.data + 1, out.size - 1),
                  from_hex(&wanted, expected)))
        fail_msg("%s is not %s", given, expected);
    kx_buffer_free(&out);
    kx_buffer_free(&wanted);
}

/* Objects are numbered again when a typed array of Node's becomes two. */
TEST_WITH(v8_references_are_renumbered_with_their_objects, memory_open,
          memory_close)
{
    struct kx_buffer hex;
    kx_buffer_init(&hex, *state);
    /* [a, {}, a, the same {}] with a = new Uint8Array([7]) */
    assert_normal(&hex, "ff0f41045c0101076f7b005e015e02240004",
                  "ff0f4104420107564200010"
                  "06f7b005e025e03240004");
    /* two views of one buffer */
    assert_normal(&hex,
                  "ff0f4102420201025642000200"
                  "5e015642010100240002",
                  "ff0f4102420201025642000200"
                  "5e015642010100240002");
    /* an error whose cause, a Map with itself in it, precedes its stack */
    assert_normal(&hex, "ff0f726d22016d633b22016b5e013a02732201732e",
                  "ff0f726d22016d73220173633b22016b5e013a022e");
    /* causes of each other, whose messages and stacks come after them */
    assert_normal(&hex,
                  "ff0f72637263726d2201332e7322023232"
                  "6d2201322e7322022d316d2201312e",
                  "ff0f727322022d316d2201316372732202323"
                  "26d22013263726d2201332e2e2e");
    /* one in an array after another */
    assert_normal(&hex, "ff0f41027263302e7263306d2201612e240002",
                  "ff0f41027263302e726d22016163302e240002");
    kx_buffer_free(&hex);
}

static size_t moved;

void *__real_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);

void *__wrap_memmove(void *to, const void *from, size_t size)
{
    moved += size;
    return __real_memmove(to, from, size);
}

/* Each error is the cause of the one around it, whose stack follows it. */
TEST_WITH(v8_nested_errors_are_not_moved_one_by_one, memory_open, memory_close)
{
    enum { ERRORS = 900, STACK = 100 };
    struct kx_buffer value;
    struct kx_buffer out;
    kx_buffer_init(&value, *state);
    kx_buffer_init(&out, *state);
    kx_add(&value, "\xff\x0f", 2);
    for (int i = 0; i < ERRORS; i++)
        kx_add_text(&value, "rc");
    kx_add_byte(&value, '0');
    for (int i = 0; i < ERRORS; i++) {
        kx_add(&value, "s\"\x64", 3);
        for (int n = 0; n < STACK; n++)
            kx_add_byte(&value, (uint8_t)('a' + i % 26));
        kx_add_byte(&value, '.');
    }
    moved = 0;
    assert_int_equal(v8_normalize(kx_buffer_slice(&value), &out), KX_OK);
    assert_int_equal(out.size, value.size);
    assert_in_range(moved, 0, 4 * value.size);
    /* the outermost, which came last, is first */
    assert_memory_equal(out.data, "\xff\x0frs\"\x64", 6);
    assert_int_equal(out.data[6], 'a' + (ERRORS - 1) % 26);
    assert_memory_equal(out.data + 6 + STACK, "crs\"\x64", 5);
    assert_int_equal(out.data[11 + STACK], 'a' + (ERRORS - 2) % 26);
    kx_buffer_free(&value);
    kx_buffer_free(&out);
}

static size_t passed_over;

bool __real_kx_json_next(struct kx_json_iter *iter, struct kx_slice *name_out,
                         struct kx_slice *value_out);
bool __wrap_kx_json_next(struct kx_json_iter *iter, struct kx_slice *name_out,
                         struct kx_slice *value_out);

bool __wrap_kx_json_next(struct kx_json_iter *iter, struct kx_slice *name_out,
                         struct kx_slice *value_out)
{
    bool next = __real_kx_json_next(iter, name_out, value_out);
    passed_over += next ? value_out->size : 0;
    return next;
}

static void add_times(struct kx_buffer *out, const char *text, int times)
{
    for (int i = 0; i < times; i++)
        kx_add_text(out, text);
}

/* The encoder must not pass over the text once for each array and object. */
TEST_WITH(deep_json_text_is_encoded_in_few_passes, memory_open, memory_close)
{
    enum { DEPTH = 31, ELEMENTS = 1000 };
    struct kx_buffer json;
    struct kx_buffer out;
    struct kx_buffer wanted;
    kx_buffer_init(&json, *state);
    kx_buffer_init(&out, *state);
    kx_buffer_init(&wanted, *state);
    add_times(&json, "[ {\"a\": ", DEPTH);
    kx_add_text(&json, "[[] ");
    add_times(&json, ",\"]\"", ELEMENTS - 1);
    kx_add_byte(&json, ']');
    add_times(&json, "}, {} ]", DEPTH);
    passed_over = 0;
    kx_v8_from_json(kx_buffer_slice(&json), &out);
    assert_in_range(passed_over, 0, 2 * json.size);
    kx_add(&wanted, "\xff\x0f", 2);
    add_times(&wanted,
              "A\x02o\"\x01"
              "a",
              DEPTH);
    kx_add(&wanted,
           "A\xe8\x07"
           "A\0$\0\0",
           8);
    add_times(&wanted, "\"\x01]", ELEMENTS - 1);
    kx_add(&wanted, "$\0\xe8\x07", 4);
    for (int i = 0; i < DEPTH; i++)
        kx_add(&wanted, "{\x01o{\0$\0\x02", 8);
    assert_true(kx_equal(kx_buffer_slice(&out), kx_buffer_slice(&wanted)));
    kx_buffer_free(&json);
    kx_buffer_free(&out);
    kx_buffer_free(&wanted);
}

/* ---- Fields ------------------------------------------------------------- */

TEST_WITH(fields_of_v8_values_are_found, memory_open, memory_close)
{
    static const struct {
        const char *hex;
        const char *fields;
    } cases[] = {
        /* {"a": undefined, "b": [undefined, hole]} */
        {"ff106f2201615f22016241025f2d2400027b02", "{\"b\":[null,null]}"},
        {"ff10440000000000000000", "0"},
        {"ff1044000000000000f87f", "null"},
        {"ff105a100500000000000000", "{\"type\":\"bigint\",\"value\":\"5\"}"},
        {"ff107a110500000000000000", "{\"type\":\"bigint\",\"value\":\"-5\"}"},
        {"ff104e000000000000f87f", "{\"type\":\"number\",\"value\":\"NaN\"}"},
        {"ff104e000000000000f8ff", "{\"type\":\"number\",\"value\":\"NaN\"}"},
        {"ff104e0000000000000080", "-0"},
        {"ff106f220162420301020356420003007b01",
         "{\"b\":{\"type\":\"Uint8Array\",\"value\":\"AQID\",\"byteLength\":3}"
         "}"},
        {"ff106f2201625c01030102037b01",
         "{\"b\":{\"type\":\"Uint8Array\",\"value\":\"AQID\",\"byteLength\":3}"
         "}"},
        {"ff104204010002005657000400", "null"},
        {"ff10274902220161302c03", "[1,\"a\",null]"},
        {"ff106f2201613b490249043a0222016249027b02", "{\"a\":null,\"b\":1}"},
        {"ff104102490249042203666f6f2203626172240102", "[1,2]"},
        {"ff106f22046e616d65220163220473656c665e007b02",
         "{\"name\":\"c\",\"self\":null}"},
        {"ff10630200d8", "\"\xef\xbf\xbd\""},
        {"ff106e0000000000001440", "5"},
        /* new Array(2).fill(1), [1, , 3], and [1] with 100,000 holes */
        {"ff1061024900490249024902400202", "[1,1]"},
        {"ff0f61034900490249044906400203", "[1,null,3]"},
        {"ff10"
         "61a18d064900490249c09a0c49024002a18d06",
         "[1]"},
        {"ff1073220161", "\"a\""},
    };
    struct kx_buffer hex;
    struct kx_buffer out;
    bool plain;
    kx_buffer_init(&hex, *state);
    kx_buffer_init(&out, *state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out.size = 0;
        assert_int_equal(v8_fields(from_hex(&hex, cases[i].hex), &out, &plain),
                         KX_OK);
        kx_add_byte(&out, '\0');
        assert_string_equal(out.data, cases[i].fields);
    }
    kx_buffer_free(&hex);
    kx_buffer_free(&out);
}
