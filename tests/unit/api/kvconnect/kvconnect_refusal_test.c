/* Refusals of KV Connect, their texts, and its limits. */
#include "kvconnect/kvconnect.h"
#include "kvconnect_call.h"

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

TEST_WITH(errors_are_plain_text, begin_calls, finish_calls)
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

TEST_WITH(numbers_of_ranges_checks_and_mutations_are_limited, begin_calls,
          finish_calls)
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
TEST_WITH(small_message_cannot_take_much_memory, begin_calls, finish_calls)
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
