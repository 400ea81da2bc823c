/* Names and settings of an archive in S3, the XML of its replies, and an object
 * in pieces. Nothing is sent. */
#include "kindex.h"
#include "unit.h"

#include "s3/s3.h"
#include "s3/s3_list.h"
#include "s3/s3_pieces.h"
#include "s3/s3_settings.h"
#include "s3/s3_xml.h"

static void set_variables(void)
{
    static const char *const OTHERS[] = {
        "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        unsetenv(OTHERS[i]);
    setenv("AWS_ACCESS_KEY_ID", "key", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
}

static enum kx_status read_settings(void *mem, const char *archive,
                                    struct s3_settings *settings)
{
    struct kx_fault fault = {.detail = ""};
    enum kx_status status = s3_settings_read(mem, archive, settings, &fault);
    assert_int_equal(status == KX_OK, fault.detail[0] == '\0');
    return status;
}

TEST_WITH(settings_reject_names_that_need_escapes, memory_open, memory_close)
{
    static const char *const BAD[] = {
        "s3://",           "s3://ab",         "s3:///x",
        "s3://Bucket",     "s3://bucket/",    "s3://bucket//x",
        "s3://bucket/x/",  "s3://bucket/.",   "s3://bucket/x/../y",
        "s3://bucket/a b", "s3://bucket/%61", "s3://bucket/a?b",
        "s3://bu_cket"};
    struct s3_settings settings;
    void *mem = talloc_new(*state);
    set_variables();
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        assert_int_equal(read_settings(mem, BAD[i], &settings),
                         KX_BAD_DIRECTORY);
    assert_int_equal(read_settings(mem, "s3://bucket", &settings), KX_OK);
    assert_int_equal(read_settings(mem, "s3://a.b-1/X_y/~z/...", &settings),
                     KX_OK);
    assert_string_equal(settings.bucket, "a.b-1");
    assert_true(s3_is_named("s3://"));
    assert_false(s3_is_named("/s3://"));
    assert_false(s3_is_named("s3"));
    talloc_free(mem);
}

TEST_WITH(settings_are_read_from_environment, memory_open, memory_close)
{
    struct s3_settings settings;
    void *mem = talloc_new(*state);
    set_variables();
    assert_int_equal(read_settings(mem, "s3://bucket", &settings), KX_OK);
    assert_string_equal(settings.endpoint,
                        "https://s3.us-east-1.amazonaws.com");
    assert_null(settings.session_token);
    setenv("AWS_DEFAULT_REGION", "eu-west-1", 1);
    setenv("AWS_REGION", "eu-north-1", 1);
    assert_int_equal(read_settings(mem, "s3://bucket", &settings), KX_OK);
    assert_string_equal(settings.endpoint,
                        "https://s3.eu-north-1.amazonaws.com");
    setenv("AWS_ENDPOINT_URL", "http://one:1", 1);
    setenv("AWS_ENDPOINT_URL_S3", "https://[::1]:9000/", 1);
    assert_int_equal(read_settings(mem, "s3://bucket", &settings), KX_OK);
    assert_string_equal(settings.endpoint, "https://[::1]:9000");
    setenv("AWS_ENDPOINT_URL_S3", "https://user@host", 1);
    assert_int_equal(read_settings(mem, "s3://bucket", &settings),
                     KX_BAD_DIRECTORY);
    set_variables();
    setenv("AWS_SESSION_TOKEN", "two\nlines", 1);
    assert_int_equal(read_settings(mem, "s3://bucket", &settings),
                     KX_BAD_DIRECTORY);
    set_variables();
    setenv("AWS_REGION", "a/b", 1);
    assert_int_equal(read_settings(mem, "s3://bucket", &settings),
                     KX_BAD_DIRECTORY);
    set_variables();
    unsetenv("AWS_SECRET_ACCESS_KEY");
    assert_int_equal(read_settings(mem, "s3://bucket", &settings),
                     KX_BAD_DIRECTORY);
    talloc_free(mem);
}

TEST(xml_finds_elements_by_tag)
{
    struct kx_slice rest = kx_text("<a><b>1</b><bc>x</bc><b></b></a><b>2");
    struct kx_slice content;
    char text[8];
    assert_true(s3_xml_next(&rest, "b", &content));
    assert_true(kx_equal(content, kx_text("1")));
    assert_true(s3_xml_next(&rest, "b", &content));
    assert_int_equal(content.size, 0);
    assert_false(s3_xml_next(&rest, "b", &content));
    assert_true(s3_xml_text(kx_text("<k>a&amp;&lt;b</k>"), "k", text, 8));
    assert_string_equal(text, "a&<b");
    assert_true(s3_xml_text(kx_text("<k></k>"), "k", text, 8));
    assert_string_equal(text, "");
    assert_true(s3_xml_text(kx_text("<k>1234567</k>"), "k", text, 8));
    assert_string_equal(text, "1234567");
    assert_false(s3_xml_text(kx_text("<k>12345678</k>"), "k", text, 8));
    assert_string_equal(text, "1234567");
    assert_false(s3_xml_text(kx_text("<k>1"), "k", text, 8));
    assert_false(s3_xml_text(kx_slice(NULL, 0), "k", text, 8));
}

TEST(xml_reads_times)
{
    assert_int_equal(s3_xml_time("2026-11-27T23:00:00.250Z"), 1795820400250);
    assert_int_equal(s3_xml_time("2026-11-27T23:00:00Z"), 1795820400000);
    assert_int_equal(s3_xml_time("yesterday"), INT64_MAX);
}

TEST_WITH(pieces_join_into_object_up_to_first_gap, memory_open, memory_close)
{
    static const struct s3_listed OBJECTS[] = {
        {"base-1", 5, 1},
        {"log.0000000001.tail.0000000000", 100, 1},
        {"log.0000000001.tail.0000000050", 50, 2}, /* superfluous */
        {"log.0000000001.tail.0000000090", 30, 9},
        {"log.0000000001.tail.0000000121", 10, 4}, /* after a gap */
        {"log.0000000002.tail.0000000010", 10, 1}, /* without a beginning */
        {"log.0000000002.tail.10", 10, 1},         /* no piece */
        {"log.0000000002.zst", 7, 1},
    };
    enum { COUNT = sizeof OBJECTS / sizeof *OBJECTS };
    struct s3_list list = {.objects =
                               talloc_memdup(*state, OBJECTS, sizeof OBJECTS),
                           .count = COUNT,
                           .capacity = COUNT};
    s3_pieces_join(&list);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.objects[1].name, "log.0000000001.tail");
    assert_int_equal(list.objects[1].size, 120);
    assert_int_equal(list.objects[1].at_ms, 9);
    assert_string_equal(list.objects[2].name, "log.0000000002.tail");
    assert_int_equal(list.objects[2].size, 0);
    assert_string_equal(list.objects[3].name, "log.0000000002.tail.10");
    assert_int_equal(list.objects[4].size, 7);
    assert_true(s3_grows("s3://b/log.0000000001.tail"));
    assert_false(s3_grows("s3://b/log.0000000001.zst"));
    s3_list_end(&list);
}
