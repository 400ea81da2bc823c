/* The document of POST /atomic: what it becomes, and what is refused where. */
#include "commits/atomic.h"
#include "unit.h"

static bool read(const char *text, void *memory, struct atomic *atomic,
                 struct input_error *error)
{
    *atomic = (struct atomic){.memory = memory};
    assert_int_equal(kx_json_check(kx_text(text), NULL), KX_OK);
    return atomic_read(kx_text(text), atomic, error);
}

TEST_WITH(atomic_document_becomes_commit, memory_open, memory_close)
{
    static const char TEXT[] =
        "{\"checks\":[{\"key\":[\"a\"],\"versionstamp\":null},"
        "{\"key\":[\"b\"],\"versionstamp\":\"00000000000000070000\"}],"
        "\"mutations\":["
        "{\"type\":\"set\",\"key\":[\"a\"],\"value\": {\"x\": 0.10} },"
        "{\"type\":\"sum\",\"key\":[\"n\"],\"typed\":"
        "{\"type\":\"KvU64\",\"value\":\"3\"}},"
        "{\"type\":\"delete\",\"key\":[\"b\"]},"
        "{\"type\":\"set\",\"key\":[\"l\"],\"value\":1,\"ttl\":\"2s\","
        "\"suffix\":\"versionstamp\"}],\"dry\":true}";
    struct atomic atomic;
    struct input_error error;
    kx_clock_set(1000);
    assert_true(read(TEXT, *state, &atomic, &error));
    kx_clock_set(0);
    assert_int_equal(atomic.check_count, 2);
    assert_int_equal(atomic.checks[0].condition, KX_IS_ABSENT);
    assert_int_equal(atomic.checks[1].condition, KX_IS_ONE_OF);
    assert_int_equal(atomic.checks[1].stamps[0], 7);
    assert_int_equal(atomic.mutation_count, 4);
    /* Plain JSON keeps its bytes. */
    assert_true(
        kx_equal(atomic.mutations[0].value.data, kx_text("{\"x\": 0.10}")));
    assert_int_equal(atomic.mutations[1].type, KX_SUM);
    assert_int_equal(atomic.mutations[1].value.encoding, KX_LE64);
    assert_int_equal(atomic.mutations[2].type, KX_DELETE);
    assert_int_equal(atomic.mutations[3].expires_at_ms, 3000);
    assert_true(atomic.mutations[3].suffix_stamp);
    assert_true(atomic.dry);
    talloc_free_children(*state);
}

static const struct {
    const char *text;
    enum problem_code code;
    const char *pointer;
} REFUSED[] = {
    {"[]", PROBLEM_BAD_REQUEST, ""},
    {"{\"mutation\":[]}", PROBLEM_UNKNOWN_MEMBER, "/mutation"},
    {"{\"mutations\":{}}", PROBLEM_BAD_REQUEST, "/mutations"},
    {"{\"mutations\":[1]}", PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"dry\":1}", PROBLEM_BAD_REQUEST, "/dry"},
    {"{\"checks\":[{\"key\":[\"a\"]}]}", PROBLEM_BAD_REQUEST, "/checks/0"},
    {"{\"checks\":[{\"versionstamp\":null}]}", PROBLEM_BAD_REQUEST,
     "/checks/0"},
    {"{\"checks\":[{\"key\":[\"a\"],\"versionstamp\":\"1\"}]}",
     PROBLEM_BAD_REQUEST, "/checks/0/versionstamp"},
    {"{\"checks\":[{\"key\":[\"a\"],\"versionstamp\":1}]}", PROBLEM_BAD_REQUEST,
     "/checks/0/versionstamp"},
    {"{\"checks\":[{\"key\":[],\"versionstamp\":null}]}", PROBLEM_BAD_KEY,
     "/checks/0/key"},
    {"{\"checks\":[{\"key\":[1,null],\"versionstamp\":null}]}", PROBLEM_BAD_KEY,
     "/checks/0/key/1"},
    {"{\"mutations\":[{"
     "\"type\":\"set\""
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"key\":[1],\"value\":1"
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"put\",\"key\":[1]"
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0/type"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1]"
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1],\"vlaue\":1"
     "}]}",
     PROBLEM_UNKNOWN_MEMBER, "/mutations/0/vlaue"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1],\"value\":1,\"typed\":"
     "{\"type\":\"KvU64\",\"value\":\"1\"}"
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1],\"typed\":{\"type\":\"Symbol\","
     "\"value\":[]}"
     "}]}",
     PROBLEM_BAD_VALUE, "/mutations/0/typed"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1],\"value\":1,\"ttl\":\"1\""
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0/ttl"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1],\"value\":1,\"ttl\":60"
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0/ttl"},
    {"{\"mutations\":[{"
     "\"type\":\"set\",\"key\":[1],\"value\":1,\"suffix\":\"x\""
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0/suffix"},
    {"{\"mutations\":[{"
     "\"type\":\"sum\",\"key\":[1],\"value\":1,"
     "\"suffix\":\"versionstamp\""
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"delete\",\"key\":[1],\"value\":1"
     "}]}",
     PROBLEM_BAD_REQUEST, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"sum\",\"key\":[1],\"value\":\"1\""
     "}]}",
     PROBLEM_BAD_VALUE, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"max\",\"key\":[1],\"typed\":{\"type\":"
     "\"Uint8Array\",\"value\":\"\"}"
     "}]}",
     PROBLEM_BAD_VALUE, "/mutations/0"},
    {"{\"mutations\":[{"
     "\"type\":\"patch\",\"key\":[1],\"typed\":{\"type\":\"KvU64\","
     "\"value\":\"1\"}"
     "}]}",
     PROBLEM_BAD_VALUE, "/mutations/0"},
};

TEST_WITH(atomic_rejects_wrong_document_with_pointer, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct atomic atomic;
        struct input_error error;
        if (read(REFUSED[i].text, *state, &atomic, &error))
            fail_msg("%s was taken", REFUSED[i].text);
        if (error.code != REFUSED[i].code ||
            strcmp(error.pointer, REFUSED[i].pointer) != 0)
            fail_msg("%s: at \"%s\": %s", REFUSED[i].text, error.pointer,
                     error.detail);
        talloc_free_children(*state);
    }
}

/* {"mutations":[<one>,<one>...]} with `count` of them. */
static char *many(const char *name, const char *one, size_t count, void *memory)
{
    char *text = talloc_asprintf(memory, "{\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        text =
            talloc_asprintf_append_buffer(text, "%s%s", i > 0 ? "," : "", one);
    return talloc_strdup_append_buffer(text, "]}");
}

TEST_WITH(atomic_limits_mutations_and_checks, memory_open, memory_close)
{
    static const char MUTATION_ONE[] = "{\"type\":\"delete\",\"key\":[1]}";
    static const char CHECK_ONE[] = "{\"key\":[1],\"versionstamp\":null}";
    struct atomic atomic;
    struct input_error error;
    assert_true(read(many("mutations", MUTATION_ONE, KX_MUTATIONS_MAX, *state),
                     *state, &atomic, &error));
    assert_false(
        read(many("mutations", MUTATION_ONE, KX_MUTATIONS_MAX + 1, *state),
             *state, &atomic, &error));
    assert_int_equal(error.code, PROBLEM_COMMIT_TOO_LARGE);
    assert_true(read(many("checks", CHECK_ONE, KX_CHECKS_MAX, *state), *state,
                     &atomic, &error));
    assert_false(read(many("checks", CHECK_ONE, KX_CHECKS_MAX + 1, *state),
                      *state, &atomic, &error));
    assert_int_equal(error.code, PROBLEM_COMMIT_TOO_LARGE);
    talloc_free_children(*state);
}
