/* The answer to a request that is not well framed. */
#include "http1/framing.h"
#include "http/problem.h"
#include "unit.h"

/* The same document as that of every other error. */
TEST(answer_to_each_fault_is_a_problem_document)
{
    char answer[FRAMING_ANSWER_MAX];
    assert_int_equal(
        framing_answer(FRAMING_NO_FAULT, "id", answer, sizeof answer), 0);
    for (int fault = 1; fault < FRAMING_FAULT_COUNT; fault++) {
        void *memory = talloc_new(NULL);
        struct kx_buffer expected;
        enum problem_code code;
        size_t size = framing_answer((enum framing_fault)fault,
                                     "0123456789abcdef", answer, sizeof answer);
        assert_true(size > 0 && size < sizeof answer);
        assert_int_equal(framing_answer((enum framing_fault)fault,
                                        "0123456789abcdef", answer, size - 1),
                         0);
        answer[size] = '\0';
        assert_non_null(
            strstr(answer, "\r\nX-Request-Id: 0123456789abcdef\r\n"));
        const char *body = strstr(answer, "\r\n\r\n");
        const char *name = strstr(answer, "\"code\":\"");
        const char *detail = strstr(answer, "\"detail\":\"");
        assert_true(body != NULL && name != NULL && detail != NULL);
        name += 8;
        detail += 10;
        assert_true(problem_find(kx_slice(name, strcspn(name, "\"")), &code));
        kx_buffer_init(&expected, memory);
        problem_write(&expected, code,
                      talloc_strndup(memory, detail, strcspn(detail, "\"")));
        assert_int_equal(strlen(body + 4), expected.size);
        assert_memory_equal(body + 4, expected.data, expected.size);
        assert_non_null(
            strstr(answer, talloc_asprintf(memory, "HTTP/1.1 %d ",
                                           problem_row(code)->status)));
        assert_non_null(
            strstr(answer, talloc_asprintf(memory, "Content-Length: %zu\r\n",
                                           expected.size)));
        talloc_free(memory);
    }
}
