/* The lines of POST /bulk: what slices they become, and what is refused
 * where. */
#include "commits/bulk.h"
#include "unit.h"

static struct bulk_reader reader;
static struct input_error error;

static void begin(void *memory, const char *body)
{
    assert_true(bulk_read_begin(&reader, kx_text(body), memory));
}

/* A body of so many equal lines. */
static char *repeated(void *memory, const char *line, size_t count)
{
    size_t size = strlen(line);
    char *body = talloc_zero_array(memory, char, size *count + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(body + i * size, line, size);
    return body;
}

TEST_WITH(bulk_line_is_entry_or_mutation, memory_open, memory_close)
{
    begin(*state, "{\"key\":[1],\"value\": 0.10,\"expiresAt\":9000,"
                  "\"versionstamp\":\"00000000000000010000\"}\n"
                  "{\"key\":[2],\"typed\":{\"type\":\"KvU64\",\"value\":\"3\"}}"
                  "\n{\"type\":\"sum\",\"key\":[3],\"value\":1}");
    assert_true(bulk_read_slice(&reader, &error));
    assert_int_equal(reader.count, 3);
    assert_int_equal(reader.mutations[0].type, KX_SET);
    assert_true(kx_equal(reader.mutations[0].value.data, kx_text("0.10")));
    assert_int_equal(reader.mutations[0].expires_at_ms, 9000);
    assert_int_equal(reader.mutations[1].type, KX_SET);
    assert_int_equal(reader.mutations[1].value.encoding, KX_LE64);
    assert_int_equal(reader.mutations[2].type, KX_SUM);
    assert_true(bulk_read_is_done(&reader));
    talloc_free_children(*state);
}

TEST_WITH(bulk_slice_has_at_most_its_number_of_lines, memory_open, memory_close)
{
    begin(*state, repeated(*state, "{\"key\":[1],\"value\":1}\n\n",
                           2 * BULK_LINES_MAX + 1));
    for (size_t slice = 1; slice <= 2; slice++) {
        assert_true(bulk_read_slice(&reader, &error));
        assert_int_equal(reader.count, BULK_LINES_MAX);
        assert_int_equal(reader.lines[BULK_LINES_MAX - 1].number,
                         slice * 2 * BULK_LINES_MAX - 1);
        assert_false(bulk_read_is_done(&reader));
    }
    assert_true(bulk_read_slice(&reader, &error));
    assert_int_equal(reader.count, 1);
    assert_int_equal(reader.number, 4 * BULK_LINES_MAX + 2);
    assert_true(bulk_read_is_done(&reader));
    talloc_free_children(*state);
}

TEST_WITH(bulk_slice_has_at_most_its_number_of_bytes, memory_open, memory_close)
{
    char *value = talloc_zero_array(*state, char, BULK_BYTES_MAX / 4 + 1);
    memset(value, '7', BULK_BYTES_MAX / 4);
    begin(*state,
          repeated(*state,
                   talloc_asprintf(*state, "{\"key\":[1],\"value\":\"%s\"}\n",
                                   value),
                   5));
    assert_true(bulk_read_slice(&reader, &error));
    assert_int_equal(reader.count, 4);
    assert_true(bulk_read_slice(&reader, &error));
    assert_int_equal(reader.count, 1);
    talloc_free_children(*state);
}

TEST_WITH(bulk_slice_repeats_lines_cut_from_the_last, memory_open, memory_close)
{
    begin(*state, "{\"key\":[1],\"value\":1}\n\n{\"key\":[2],\"value\":2}\n"
                  "{\"key\":[3],\"value\":3}\n{\"end\":true}\n");
    assert_true(bulk_read_slice(&reader, &error));
    assert_int_equal(reader.count, 3);
    assert_true(bulk_read_is_done(&reader));
    bulk_read_cut(&reader, 1);
    assert_int_equal(reader.number, 1);
    assert_false(bulk_read_is_done(&reader));
    assert_true(bulk_read_slice(&reader, &error));
    assert_int_equal(reader.count, 2);
    assert_int_equal(reader.lines[0].number, 3);
    assert_int_equal(reader.number, 5);
    assert_true(bulk_read_is_done(&reader));
    talloc_free_children(*state);
}

static const struct {
    const char *line;
    enum problem_code code;
    const char *pointer;
} REFUSED[] = {
    {"{\"key\":[1],\"value\":}", PROBLEM_BAD_JSON, ""},
    {"{\"key\":[1]}", PROBLEM_BAD_REQUEST, ""},
    {"{\"key\":[],\"value\":1}", PROBLEM_BAD_KEY, "/key"},
    {"{\"key\":[1],\"value\":1,\"min\":0}", PROBLEM_UNKNOWN_MEMBER, "/min"},
    {"{\"key\":[1],\"value\":1,\"end\":1}", PROBLEM_UNKNOWN_MEMBER, "/end"},
    {"{\"by\":{\"index\":\"i\",\"value\":[1]},\"value\":1}",
     PROBLEM_UNKNOWN_MEMBER, "/by"},
    {"{\"end\":false}", PROBLEM_UNKNOWN_MEMBER, "/end"},
    {"{\"type\":\"put\",\"key\":[1],\"value\":1}", PROBLEM_BAD_REQUEST,
     "/type"},
    {"{\"type\":\"sum\",\"key\":[1],\"value\":1,\"return\":\"old\"}",
     PROBLEM_BAD_REQUEST, "/return"},
    {"{\"type\":\"set\",\"key\":[1],\"value\":1,\"suffix\":\"versionstamp\"}",
     PROBLEM_BAD_REQUEST, "/suffix"},
    {"1", PROBLEM_BAD_REQUEST, ""},
};

/* First as the second line, which ends the slice before it. */
TEST_WITH(bulk_wrong_line_ends_slice_and_fails_the_next, memory_open,
          memory_close)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        begin(*state, talloc_asprintf(*state, "{\"key\":[1],\"value\":1}\n%s\n",
                                      REFUSED[i].line));
        assert_true(bulk_read_slice(&reader, &error));
        assert_int_equal(reader.count, 1);
        if (bulk_read_slice(&reader, &error) || error.code != REFUSED[i].code ||
            strcmp(error.pointer, REFUSED[i].pointer) != 0)
            fail_msg("%s", REFUSED[i].line);
        assert_int_equal(reader.number, 1);
        assert_int_equal(error.line,
                         REFUSED[i].code == PROBLEM_BAD_JSON ? 2 : 0);
        talloc_free_children(*state);
    }
}

TEST_WITH(bulk_rejects_lines_after_end_of_list, memory_open, memory_close)
{
    begin(*state, "{\"end\":true,\"count\":0}\n\n{\"key\":[1],\"value\":1}");
    assert_false(bulk_read_slice(&reader, &error));
    assert_int_equal(error.code, PROBLEM_BAD_REQUEST);
    assert_int_equal(reader.number, 2);
    talloc_free_children(*state);
}
