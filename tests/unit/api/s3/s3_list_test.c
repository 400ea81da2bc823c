/* What is taken from a list of objects. The Makefile puts __wrap_X where the
 * core calls X: the reply is made here. */
#include "kindex.h"
#include "unit.h"

#include "s3/s3_list.h"

static const char PAGE[] =
    "<ListBucketResult><IsTruncated>false</IsTruncated>"
    "<Contents><Key>p/plain-1._~</Key><Size>7</Size></Contents>"
    "<Contents><Key>p/with space</Key><Size>1</Size></Contents>"
    "<Contents><Key>p/x?uploads=</Key><Size>1</Size></Contents>"
    "<Contents><Key>p/a&amp;b</Key><Size>1</Size></Contents>"
    "<Contents><Key>p/%2e</Key><Size>1</Size></Contents>"
    "<Contents><Key>p/a/b</Key><Size>1</Size></Contents>"
    "<Contents><Key>q/other</Key><Size>1</Size></Contents>"
    "<CommonPrefixes><Prefix>p/directory/</Prefix></CommonPrefixes>"
    "<CommonPrefixes><Prefix>p/one\"more/</Prefix></CommonPrefixes>"
    "</ListBucketResult>";

enum kx_status __wrap_s3_send(struct s3 *s3, struct s3_request *request,
                              struct kx_fault *fault);

enum kx_status __wrap_s3_send(struct s3 *s3, struct s3_request *request,
                              struct kx_fault *fault)
{
    (void)fault;
    assert_string_equal(request->query,
                        "delimiter=%2F&list-type=2&prefix=p%2F");
    kx_buffer_init(&request->reply, s3);
    kx_add_text(&request->reply, PAGE);
    return KX_OK;
}

static void names_that_need_an_escape_are_left_out(void **state)
{
    struct kx_fault fault = {.detail = ""};
    struct s3 *s3 = talloc_zero(*state, struct s3);
    struct s3_list list;
    assert_int_equal(s3_list_keys(s3, "p/", &list, &fault), KX_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.objects[0].name, "directory");
    assert_string_equal(list.objects[1].name, "plain-1._~");
    assert_int_equal(list.objects[1].size, 7);
    s3_list_end(&list);
    talloc_free(s3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_need_an_escape_are_left_out),
    };
    return cmocka_run_group_tests(tests, memory_open, memory_close);
}
