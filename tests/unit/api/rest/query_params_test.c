/* Query parameters: splitting, decoding, types, and what is refused. */
#include "rest/query_params.h"
#include "unit.h"

enum { ALLOWED = TAKES_PREFIX | TAKES_LIMIT | TAKES_REVERSE };

static bool read(const char *text, void *memory, struct query_params *query,
                 struct input_error *error)
{
    return query_params_read(kx_text(text), ALLOWED, memory, query, error);
}

TEST_WITH(query_is_split_raw_and_decoded_once, memory_open, memory_close)
{
    struct query_params query;
    struct input_error error;
    struct kx_buffer text;
    kx_buffer_init(&text, *state);
    assert_true(read("prefix=a%26b%2541%2bc&&limit=5&rever%73e", *state, &query,
                     &error));
    assert_true(query_params_text(&query, PARAMETER_PREFIX, &text, &error));
    assert_int_equal(text.size, strlen("a&b%41+c"));
    assert_memory_equal(text.data, "a&b%41+c", text.size);
    assert_true(query_params_has(&query, PARAMETER_REVERSE));
    talloc_free_children(*state);
}

TEST_WITH(unknown_and_repeated_parameters_are_refused, memory_open,
          memory_close)
{
    struct query_params query;
    struct input_error error;
    assert_false(read("revrse=1", *state, &query, &error));
    assert_int_equal(error.code, PROBLEM_UNKNOWN_PARAMETER);
    assert_string_equal(error.suggestion, "reverse");
    assert_string_equal(error.allowed, "\"prefix\",\"reverse\",\"limit\"");
    assert_false(read("ttl=1s", *state, &query, &error));
    assert_int_equal(error.code, PROBLEM_UNKNOWN_PARAMETER);
    assert_null(error.suggestion);
    assert_false(read("limit=1&limit=1", *state, &query, &error));
    assert_int_equal(error.code, PROBLEM_BAD_PARAMETER);
    assert_memory_equal(error.parameter.data, "limit", 5);
    talloc_free_children(*state);
}

TEST_WITH(query_limit_accepts_whole_numbers_up_to_a_page, memory_open,
          memory_close)
{
    static const struct {
        const char *text;
        size_t limit; /* 0: refused */
    } cases[] = {
        {"limit=1", 1},
        {"limit=1000", 1000},
        {"limit=0", 0},
        {"limit=1001", 0},
        {"limit=-1", 0},
        {"limit=", 0},
        {"limit=1e2", 0},
        {"limit= 1", 0},
        {"limit=2147483648", 0},
        {"limit=18446744073709551617", 0},
        {"", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct query_params query;
        struct input_error error;
        size_t limit = 7;
        assert_true(read(cases[i].text, *state, &query, &error));
        if (query_params_limit(&query, &limit, &error) !=
                (cases[i].limit != 0) ||
            (cases[i].limit != 0 && limit != cases[i].limit))
            fail_msg("%s is %zu", cases[i].text, limit);
    }
    talloc_free_children(*state);
}

TEST_WITH(query_flags_accept_true_and_false, memory_open, memory_close)
{
    static const struct {
        const char *text;
        int flag; /* -1: refused */
    } cases[] = {
        {"", 0},           {"reverse", 1},       {"reverse=", 1},
        {"reverse=1", 1},  {"reverse=true", 1},  {"reverse=0", 0},
        {"reverse=2", -1}, {"reverse=false", 0}, {"reverse=yes", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct query_params query;
        struct input_error error;
        bool flag;
        assert_true(read(cases[i].text, *state, &query, &error));
        bool taken =
            query_params_flag(&query, PARAMETER_REVERSE, &flag, &error);
        assert_int_equal(taken, cases[i].flag >= 0);
        if (taken)
            assert_int_equal(flag, cases[i].flag);
    }
    talloc_free_children(*state);
}

static const struct {
    const char *text;
    const char *key; /* JSON; NULL: refused */
} KEYS[] = {
    {"prefix=users", "[\"users\"]"},
    {"prefix=users/", "[\"users\"]"},
    {"prefix=users/=42", "[\"users\",42]"},
    {"prefix=files/a%2Fb", "[\"files\",\"a/b\"]"},
    {"prefix=files/%3D1", "[\"files\",\"=1\"]"},
    {"prefix=", "[]"},
    {"prefix=[]", "[]"},
    {"prefix=%5B%22users%22,42%5D", "[\"users\",42]"},
    {"prefix=[\"a%2Fb\"]", "[\"a/b\"]"},
    {"prefix=ada%40x.org", "[\"ada@x.org\"]"},
    /* A '/' of the part, or a separator that a library encoded? */
    {"prefix=users%2F42", NULL},
    {"prefix=%3D42", NULL},
    {"prefix=a%2Fb/", NULL},
    {"prefix=users//", NULL},
    {"prefix=/", NULL},
    {"prefix=a%zz", NULL},
    {"prefix=%ff", NULL},
    {"prefix=[1", NULL},
    {"prefix=[null]", NULL},
};

TEST_WITH(query_keys_are_paths_or_json, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        struct query_params query;
        struct input_error error;
        struct kx_buffer key, json;
        kx_buffer_init(&key, *state);
        kx_buffer_init(&json, *state);
        assert_true(read(KEYS[i].text, *state, &query, &error));
        bool taken = query_params_key(&query, PARAMETER_PREFIX, &key, &error);
        if (taken != (KEYS[i].key != NULL))
            fail_msg("%s: taken %d", KEYS[i].text, taken);
        if (!taken) {
            assert_memory_equal(error.parameter.data, "prefix", 6);
            continue;
        }
        kx_key_to_json(kx_buffer_slice(&key), &json);
        kx_add_byte(&json, '\0');
        assert_string_equal(json.data, KEYS[i].key);
    }
    talloc_free_children(*state);
}
