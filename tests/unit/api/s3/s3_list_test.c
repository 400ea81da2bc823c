/* Lists of objects. The Makefile puts __wrap_X where the core calls X: the
 * reply is made here. */
#include "kindex.h"
#include "unit.h"

#include "s3/s3_list.h"

static int endless; /* pages that may be asked for of a list without end; 0: it
                     * has one page */
static int sent;

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
    kx_buffer_init(&request->reply, s3);
    if (endless > 0) {
        char page[200];
        snprintf(page, sizeof page,
                 "<ListBucketResult><IsTruncated>true</IsTruncated>"
                 "<NextContinuationToken>%d</NextContinuationToken>"
                 "</ListBucketResult>",
                 ++sent);
        assert_true(sent <= endless);
        kx_add_text(&request->reply, page);
        return KX_OK;
    }
    assert_string_equal(request->query,
                        "delimiter=%2F&list-type=2&prefix=p%2F");
    kx_add_text(&request->reply, PAGE);
    return KX_OK;
}

TEST(list_skips_names_that_need_escapes)
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

TEST(endless_list_is_an_error)
{
    struct kx_fault fault = {.detail = ""};
    struct s3 *s3 = talloc_zero(*state, struct s3);
    struct s3_list list;
    endless = S3_PAGES_MAX;
    assert_int_equal(s3_list_keys(s3, "p/", &list, &fault), KX_FAILED);
    assert_int_equal(sent, S3_PAGES_MAX);
    assert_non_null(strstr(fault.detail, "more than 10000 pages"));
    endless = 0;
    s3_list_end(&list);
    talloc_free(s3);
}

TESTS_SHARE(memory_open, memory_close)
