/* The key encoding: vectors made by Deno, their order, limits, refusals. */
#include <math.h>

#include <jansson.h>

#include "kindex.h"
#include "unit.h"

struct vectors {
    json_t *file;
    json_t *keys;
    json_t *sorted;
};

static struct vectors vectors;

static int vectors_open(void **state)
{
    (void)state;
    char path[4096];
    json_error_t error;
    data_path("key-vectors.json", path, sizeof(path));
    vectors.file = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (vectors.file == NULL)
        fprintf(stderr, "%s: %s\n", path, error.text);
    vectors.keys = json_object_get(vectors.file, "keys");
    vectors.sorted = json_object_get(vectors.file, "keys_sorted_hex");
    return vectors.file == NULL;
}

static int vectors_close(void **state)
{
    (void)state;
    json_decref(vectors.file);
    return 0;
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static void add_hex(struct kx_buffer *out, const char *hex)
{
    for (; hex[0] != '\0'; hex += 2) {
        char digits[3] = {hex[0], hex[1], '\0'};
        kx_add_byte(out, (uint8_t)strtoul(digits, NULL, 16));
    }
}

static enum kx_status add_vector_part(struct kx_buffer *key, json_t *part)
{
    const char *type = text_of(part, "type");
    json_t *value = json_object_get(part, "value");
    if (strcmp(type, "string") == 0)
        return kx_key_add_string(
            key, kx_slice(json_string_value(value), json_string_length(value)));
    if (strcmp(type, "bigint") == 0)
        return kx_key_add_bigint(key, kx_text(json_string_value(value)));
    if (strcmp(type, "number") == 0)
        return kx_key_add_number(key, strtod(json_string_value(value), NULL));
    if (strcmp(type, "boolean") == 0)
        return kx_key_add_boolean(key, json_is_true(value));

    struct kx_buffer bytes;
    kx_buffer_init(&bytes, key->owner);
    add_hex(&bytes, text_of(part, "hex"));
    enum kx_status status = kx_key_add_bytes(key, kx_buffer_slice(&bytes));
    kx_buffer_free(&bytes);
    return status;
}

static void add_vector(struct kx_buffer *key, const json_t *vector)
{
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(vector, "parts"), i, part)
        assert_int_equal(add_vector_part(key, part), KX_OK);
    assert_false(key->failed);
}

TEST_WITH(key_encoding_matches_the_vectors_of_deno, memory_open, memory_close)
{
    size_t i;
    json_t *vector;
    assert_int_equal(json_array_size(vectors.keys), 100);
    json_array_foreach(vectors.keys, i, vector)
    {
        struct kx_buffer key;
        struct kx_buffer expected;
        kx_buffer_init(&key, *state);
        kx_buffer_init(&expected, *state);
        add_vector(&key, vector);
        add_hex(&expected, text_of(vector, "hex"));
        if (!kx_equal(kx_buffer_slice(&key), kx_buffer_slice(&expected)))
            fail_msg("vector %s", text_of(vector, "name"));
        assert_int_equal(kx_key_check(kx_buffer_slice(&key), NULL), KX_OK);
        kx_buffer_free(&key);
        kx_buffer_free(&expected);
    }
}

TEST_WITH(encoded_keys_sort_as_deno_lists_them, memory_open, memory_close)
{
    struct kx_buffer keys[100];
    int ranks[100];
    for (size_t i = 0; i < 100; i++) {
        json_t *vector = json_array_get(vectors.keys, i);
        ranks[i] = (int)json_integer_value(json_object_get(vector, "rank"));
        kx_buffer_init(&keys[i], *state);
        add_vector(&keys[i], vector);
        assert_string_equal(
            text_of(vector, "hex"),
            json_string_value(json_array_get(vectors.sorted, ranks[i])));
    }
    for (size_t i = 0; i < 100; i++)
        for (size_t k = 0; k < 100; k++) {
            int order = kx_compare(kx_buffer_slice(&keys[i]),
                                   kx_buffer_slice(&keys[k]));
            assert_int_equal((order > 0) - (order < 0),
                             (ranks[i] > ranks[k]) - (ranks[i] < ranks[k]));
        }
    for (size_t i = 0; i < 100; i++)
        kx_buffer_free(&keys[i]);
}

/* Is the part what the vector says? Types that have a text form only. */
static bool is_vector_part(const struct kx_part *part, json_t *expected,
                           void *memory)
{
    static const char *const types[] = {"bytes", "string", "bigint", "number",
                                        "boolean"};
    json_t *value = json_object_get(expected, "value");
    if (strcmp(text_of(expected, "type"), types[part->type]) != 0)
        return false;
    if (part->type == KX_BOOLEAN)
        return part->boolean == json_is_true(value);
    if (part->type == KX_NUMBER) {
        char text[32];
        kx_number_text(part->number, text);
        return strcmp(text, json_string_value(value)) == 0;
    }
    struct kx_buffer text;
    kx_buffer_init(&text, memory);
    struct kx_slice wanted = kx_slice(NULL, 0);
    if (part->type == KX_BYTES_PART) {
        add_hex(&text, text_of(expected, "hex"));
        wanted = part->bytes;
    } else if (part->type == KX_BIGINT) {
        kx_bigint_decimal(part, &text);
    } else {
        kx_add_slice(&text, part->bytes);
    }
    if (part->type != KX_BYTES_PART)
        wanted = kx_slice(json_string_value(value), json_string_length(value));
    bool same = kx_equal(kx_buffer_slice(&text), wanted);
    kx_buffer_free(&text);
    return same;
}

TEST_WITH(key_decoding_matches_the_vectors_of_deno, memory_open, memory_close)
{
    size_t i;
    json_t *vector;
    struct kx_key_reader reader;
    json_array_foreach(vectors.keys, i, vector)
    {
        struct kx_buffer key;
        kx_buffer_init(&key, *state);
        add_hex(&key, text_of(vector, "hex"));
        kx_key_read(&reader, kx_buffer_slice(&key));
        struct kx_part part;
        size_t n;
        json_t *expected;
        json_array_foreach(json_object_get(vector, "parts"), n, expected)
        {
            assert_int_equal(kx_key_next(&reader, &part), KX_OK);
            if (!is_vector_part(&part, expected, *state))
                fail_msg("part %zu of vector %s", n, text_of(vector, "name"));
        }
        assert_int_equal(kx_key_next(&reader, &part), KX_END);
        assert_int_equal(kx_key_next(&reader, &part), KX_END);
        kx_buffer_free(&key);
    }
}

TEST_WITH(nan_key_part_has_one_encoding_for_each_sign, memory_open,
          memory_close)
{
    static const struct {
        uint64_t bits;
        const char *encoding;
    } cases[] = {
        {UINT64_C(0x7ff8000000000000), "\x21\xff\xf8\0\0\0\0\0\0"},
        {UINT64_C(0x7ff0000000000001), "\x21\xff\xf8\0\0\0\0\0\0"},
        {UINT64_C(0x7fffffffffffffff), "\x21\xff\xf8\0\0\0\0\0\0"},
        {UINT64_C(0xfff8000000000000), "\x21\0\x07\xff\xff\xff\xff\xff\xff"},
        {UINT64_C(0xfff0000000000001), "\x21\0\x07\xff\xff\xff\xff\xff\xff"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_buffer key;
        double number;
        memcpy(&number, &cases[i].bits, sizeof(number));
        kx_buffer_init(&key, *state);
        assert_int_equal(kx_key_add_number(&key, number), KX_OK);
        assert_int_equal(key.size, 9);
        assert_memory_equal(key.data, cases[i].encoding, 9);
        kx_buffer_free(&key);
    }
}

TEST_WITH(key_part_rejects_invalid_utf8_and_stays_unchanged, memory_open,
          memory_close)
{
    static const char *const texts[] = {"\xff", "a\xc0\x80", "\xed\xa0\x80",
                                        "caf\xe9", "abcdefgh\x80"};
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    kx_key_add_string(&key, kx_text("before"));
    size_t size = key.size;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct kx_part part = {.type = KX_STRING, .bytes = kx_text(texts[i])};
        assert_int_equal(kx_key_add_string(&key, part.bytes), KX_BAD_KEY);
        assert_int_equal(kx_key_add(&key, &part), KX_BAD_KEY);
        assert_int_equal(key.size, size);
        assert_false(key.failed);
        assert_int_equal(kx_key_add_bytes(&key, part.bytes), KX_OK);
        key.size = size;
    }
    kx_buffer_free(&key);
}

TEST_WITH(key_reports_lack_of_memory, memory_open, memory_close)
{
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    kx_key_add_boolean(&key, true);
    assert_false(kx_buffer_reserve(&key, SIZE_MAX));
    assert_int_equal(kx_key_add_string(&key, kx_text("a")), KX_NO_MEMORY);
    assert_int_equal(kx_key_add_bytes(&key, kx_text("a")), KX_NO_MEMORY);
    assert_int_equal(kx_key_add_bigint(&key, kx_text("1")), KX_NO_MEMORY);
    assert_int_equal(kx_key_add_number(&key, 1), KX_NO_MEMORY);
    assert_int_equal(kx_key_add_boolean(&key, false), KX_NO_MEMORY);
    static const char bigint[] = "[{\"type\":\"bigint\",\"value\":\"1\"}]";
    assert_int_equal(kx_key_from_json(kx_text(bigint), &key, NULL),
                     KX_NO_MEMORY);
    assert_int_equal(key.size, 1);
    kx_buffer_free(&key);
}

TEST(key_check_rejects_invalid_encodings)
{
    static const struct {
        const char *why;
        const char *bytes;
        size_t size;
    } cases[] = {
        {"no parts", "", 0},
        {"tag 0", "\0", 1},
        {"tag 3, a null of FoundationDB's", "\x03\0", 2},
        {"tag 5, a tuple of FoundationDB's", "\x05\0", 2},
        {"tag 0a", "\x0a\0\0", 3},
        {"tag 1e", "\x1e\0", 2},
        {"tag 20, a float of FoundationDB's", "\x20\x80\0\0\0", 5},
        {"tag 25", "\x25", 1},
        {"tag 28", "\x28", 1},
        {"tag ff", "\xff", 1},
        {"bytes without end", "\x01", 1},
        {"bytes that end in an escape",
         "\x01"
         "a\0\xff",
         4},
        {"string without end",
         "\x02"
         "abc",
         4},
        {"string that is not UTF-8", "\x02\xc3\0", 3},
        {"string with half a character",
         "\x02"
         "a\xe6\xbc\0",
         5},
        {"bad character after an escape", "\x02\0\xff\x80\0", 5},
        {"bad character before an escape", "\x02\x80\0\xff\0", 5},
        {"bigint of one byte cut", "\x15", 1},
        {"bigint of eight bytes cut", "\x1c\1\2\3\4\5\6\7", 8},
        {"negative bigint cut", "\x0c\1\2\3\4\5\6\7", 8},
        {"long bigint without length", "\x1d", 1},
        {"long negative bigint without length", "\x0b", 1},
        {"long bigint cut", "\x1d\x09\1\2\3\4\5\6\7\x08", 10},
        {"long negative bigint cut", "\x0b\xf6\1\2\3\4\5\6\7\x08", 10},
        {"number cut", "\x21\1\2\3\4\5\6\7", 8},
        {"a good part, then none",
         "\x02"
         "a\0\x28",
         4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_fault fault = {.status = KX_OK};
        struct kx_slice key = kx_slice(cases[i].bytes, cases[i].size);
        if (kx_key_check(key, &fault) != KX_BAD_KEY)
            fail_msg("%s: accepted", cases[i].why);
        assert_int_equal(fault.status, KX_BAD_KEY);
        assert_true(strlen(fault.detail) > 0);
    }
}

TEST(key_check_names_the_wrong_part_and_its_byte)
{
    struct kx_fault fault;
    kx_key_check(kx_slice("\x02"
                          "a\0\x26\x28",
                          5),
                 &fault);
    assert_non_null(strstr(fault.detail, "part 2"));
    assert_non_null(strstr(fault.detail, "byte 4"));
}

/* Deno's decoder accepts these forms of bigints and NaNs, although its encoder
 * never makes them. In a new key they are an error: the key would have the text
 * of another key. */
TEST(key_check_rejects_encodings_that_deno_does_not_write)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *magnitude;
        size_t magnitude_size;
        bool negative;
    } cases[] = {
        {"\x16\0\1", 3, "\1", 1, false},    {"\x1d\1\7", 3, "\7", 1, false},
        {"\x1d\0", 2, "", 0, false},        {"\x13\xff", 2, "", 0, false},
        {"\x0b\xff", 2, "", 0, false},      {"\x0b\xfe\xf8", 3, "\7", 1, true},
        {"\x12\xff\xfe", 3, "\1", 1, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_slice key = kx_slice(cases[i].bytes, cases[i].size);
        struct kx_key_reader reader;
        struct kx_part part;
        assert_int_equal(kx_key_check(key, NULL), KX_BAD_KEY);
        kx_key_read(&reader, key);
        assert_int_equal(kx_key_next(&reader, &part), KX_OK);
        assert_int_equal(part.type, KX_BIGINT);
        assert_int_equal(part.negative, cases[i].negative);
        assert_true(kx_equal(
            part.bytes, kx_slice(cases[i].magnitude, cases[i].magnitude_size)));
    }
    static const char *const nans[] = {
        "\x21\xff\xf8\0\0\0\0\0\1", "\x21\xff\xf0\0\0\0\0\0\1",
        "\x21\0\x07\xff\xff\xff\xff\xff\xfe", "\x21\0\0\0\0\0\0\0\0"};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        struct kx_slice key = kx_slice(nans[i], 9);
        struct kx_key_reader reader;
        struct kx_part part;
        struct kx_fault fault;
        assert_int_equal(kx_key_check(key, &fault), KX_BAD_KEY);
        assert_non_null(strstr(fault.detail, "as Deno KV encodes it"));
        kx_key_read(&reader, key);
        assert_int_equal(kx_key_next(&reader, &part), KX_OK);
        assert_true(isnan(part.number));
    }
}

TEST(nan_key_part_has_a_text_for_each_sign)
{
    static const struct {
        const char *encoded;
        const char *json;
    } cases[] = {
        {"\x21\xff\xf8\0\0\0\0\0", "[{\"type\":\"number\",\"value\":\"NaN\"}]"},
        {"\x21\0\x07\xff\xff\xff\xff\xff\xff",
         "[{\"type\":\"number\",\"value\":\"-NaN\"}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kx_slice key = kx_slice(cases[i].encoded, 9);
        struct kx_buffer json, again;
        kx_buffer_init(&json, *state);
        kx_buffer_init(&again, *state);
        assert_int_equal(kx_key_check(key, NULL), KX_OK);
        kx_key_to_json(key, &json);
        assert_true(kx_equal(kx_buffer_slice(&json), kx_text(cases[i].json)));
        assert_int_equal(kx_key_from_json(kx_buffer_slice(&json), &again, NULL),
                         KX_OK);
        assert_true(kx_equal(kx_buffer_slice(&again), key));
        kx_buffer_free(&json);
        kx_buffer_free(&again);
    }
}

TEST_WITH(key_has_at_most_2048_bytes, memory_open, memory_close)
{
    for (size_t size = 2046; size <= 2050; size++) {
        struct kx_buffer key;
        struct kx_fault fault;
        char text[2050];
        memset(text, 'k', sizeof(text));
        kx_buffer_init(&key, *state);
        kx_key_add_string(&key, kx_slice(text, size - 2));
        assert_int_equal(key.size, size);
        assert_int_equal(kx_key_check(kx_buffer_slice(&key), &fault),
                         size <= 2048 ? KX_OK : KX_KEY_TOO_LONG);
        if (size > 2048)
            assert_non_null(strstr(fault.detail, "2048"));
        kx_buffer_free(&key);
    }
}

TEST_WITH(longest_key_part_fits_the_reader, memory_open, memory_close)
{
    static const uint8_t zeros[4096];
    for (size_t size = 2040; size <= 4096; size++) {
        struct kx_buffer key;
        struct kx_key_reader reader;
        struct kx_part part;
        kx_buffer_init(&key, *state);
        kx_key_add_bytes(&key, kx_slice(zeros, size));
        assert_int_equal(key.size, 2 * size + 2);
        kx_key_read(&reader, kx_buffer_slice(&key));
        bool fits = size <= KX_KEY_MAX;
        assert_int_equal(kx_key_next(&reader, &part),
                         fits ? KX_OK : KX_BAD_KEY);
        if (fits)
            assert_true(kx_equal(part.bytes, kx_slice(zeros, size)));
        kx_buffer_free(&key);
        if (size == 2050)
            size = 4095;
    }
}

TEST_WITH(empty_key_part_may_have_null_data, memory_open, memory_close)
{
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    assert_int_equal(kx_key_add_string(&key, kx_slice(NULL, 0)), KX_OK);
    assert_int_equal(kx_key_add_bytes(&key, kx_slice(NULL, 0)), KX_OK);
    struct kx_part zero = {.type = KX_BIGINT, .negative = true};
    assert_int_equal(kx_key_add(&key, &zero), KX_OK);
    assert_true(kx_equal(kx_buffer_slice(&key), kx_slice("\2\0\1\0\x14", 5)));
    assert_int_equal(kx_key_check(kx_slice(NULL, 0), NULL), KX_BAD_KEY);
    kx_buffer_free(&key);
}

TEST_WITH(key_part_size_is_that_of_the_first_part, memory_open, memory_close)
{
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    kx_key_add_string(&key, kx_slice("a\0b", 3));
    kx_key_add_bigint(&key, kx_text("-18446744073709551616"));
    kx_key_add_bigint(&key, kx_text("0"));
    kx_key_add_number(&key, -1.5);
    kx_key_add_boolean(&key, true);
    kx_key_add_bytes(&key, kx_slice("\xff\0", 2));
    static const size_t sizes[] = {6, 11, 1, 9, 1, 5};
    struct kx_slice rest = kx_buffer_slice(&key);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(kx_part_size(rest), sizes[i]);
        rest = kx_slice(rest.data + sizes[i], rest.size - sizes[i]);
    }
    assert_int_equal(rest.size, 0);
    assert_int_equal(kx_part_size(rest), 0);
    kx_buffer_free(&key);
}

TESTS_SHARE(vectors_open, vectors_close)
