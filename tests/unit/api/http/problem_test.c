/* The catalogue of errors and the documents made from it. */
#include "http/problem.h"
#include "unit.h"

struct story {
    struct request request;
    struct reply reply;
};

static struct story begin(void *memory)
{
    struct story story = {.request = {.memory = memory}};
    kx_buffer_init(&story.reply.body, memory);
    return story;
}

static void body_is(struct story *story, const char *wanted)
{
    kx_add_byte(&story->reply.body, '\0');
    assert_string_equal((const char *)story->reply.body.data, wanted);
    kx_buffer_free(&story->reply.body);
}

TEST(problem_rows_are_complete_and_unique)
{
    for (int i = 0; i < PROBLEM_COUNT; i++) {
        const struct problem_row *row = problem_row((enum problem_code)i);
        enum problem_code found;
        assert_true(row->status >= 400 && row->status < 600);
        assert_true(strlen(row->title) > 5 && strlen(row->hint) > 5);
        assert_true(problem_find(kx_text(row->code), &found));
        assert_int_equal(found, i);
    }
    enum problem_code none;
    assert_false(problem_find(kx_text("no-such-code"), &none));
}

TEST(problem_documents_are_valid_json)
{
    for (int i = 0; i < PROBLEM_COUNT; i++) {
        struct kx_buffer body;
        kx_buffer_init(&body, *state);
        problem_write(&body, (enum problem_code)i,
                      "a \"quoted\" \x01\xff text");
        assert_int_equal(kx_json_check(kx_buffer_slice(&body), NULL), KX_OK);
        kx_buffer_free(&body);
    }
}

TEST(problem_replaces_earlier_reply)
{
    struct story story = begin(*state);
    kx_add_text(&story.reply.body, "half of an answer");
    reply_header(&story.reply, "ETag", "\"1\"");
    problem(&story.request, &story.reply, PROBLEM_OVERLOADED, "%d wait.", 7);
    assert_int_equal(story.reply.status, 503);
    assert_int_equal(story.reply.header_count, 1);
    assert_string_equal(story.reply.headers[0].name, "Retry-After");
    assert_string_equal(story.reply.content_type, "application/problem+json");
    body_is(&story,
            "{\"type\":\"/problems/overloaded\",\"title\":\"Too much work is "
            "waiting\",\"status\":503,\"code\":\"overloaded\",\"detail\":\"7 "
            "wait.\",\"hint\":\"Nothing was changed; try again a little "
            "later.\"}");
}

TEST(problem_members_follow_the_document)
{
    struct story story = begin(*state);
    problem(&story.request, &story.reply, PROBLEM_KEY_NOT_FOUND, "None.");
    story.reply.body.size = 0;
    kx_add_text(&story.reply.body, "{\"a\":1}");
    problem_member_text(&story.reply, "b", kx_text("x\"y"));
    problem_member_json(&story.reply, "c", kx_text("[2]"));
    problem_member_number(&story.reply, "d", 18446744073709551615u);
    body_is(&story, "{\"a\":1,\"b\":\"x\\\"y\",\"c\":[2],"
                    "\"d\":18446744073709551615}");
}

TEST(problem_of_fault_has_pointer_and_offset)
{
    struct story story = begin(*state);
    struct kx_fault fault;
    kx_fail(&fault, KX_BAD_JSON, "A comma is missing.");
    fault.offset = 17;
    strcpy(fault.pointer, "/mutations/0");
    problem_status(&story.request, &story.reply, &fault);
    assert_int_equal(story.reply.status, 400);
    const char *end = ",\"pointer\":\"/mutations/0\",\"offset\":17}";
    size_t size = strlen(end);
    assert_memory_equal(story.reply.body.data + story.reply.body.size - size,
                        end, size);
    kx_buffer_free(&story.reply.body);
}

TEST(cleared_fault_shows_no_earlier_memory)
{
    struct story story = begin(*state);
    struct kx_fault fault;
    memset(&fault, 'x', sizeof fault);
    kx_fault_clear(&fault);
    fault.status = KX_UNREACHABLE;
    problem_status(&story.request, &story.reply, &fault);
    assert_int_equal(story.reply.status, 503);
    assert_null(memmem(story.reply.body.data, story.reply.body.size, "xx", 2));
    kx_buffer_free(&story.reply.body);
}

TEST(problem_of_maps_every_status)
{
    assert_int_equal(problem_of(KX_UNKNOWN), PROBLEM_COMMIT_UNKNOWN);
    assert_int_equal(problem_of(KX_ABSENT), PROBLEM_KEY_NOT_FOUND);
    for (int status = KX_OK; status <= KX_FAILED; status++)
        assert_true(problem_of((enum kx_status)status) < PROBLEM_COUNT);
}

TEST(formatted_header_lives_in_request_memory)
{
    struct story story = begin(*state);
    reply_headerf(&story.request, &story.reply, "ETag", "\"%s\"", "abc");
    assert_string_equal(story.reply.headers[0].value, "\"abc\"");
    talloc_free((void *)story.reply.headers[0].value);
}

TESTS_SHARE(memory_open, memory_close)
