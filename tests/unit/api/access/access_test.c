/* The texts of tokens, and how many requests one may send. */
#include "access/access_state.h"
#include "access/access.h"
#include "http/service.h"
#include "unit.h"

TEST(credential_read_accepts_made_token)
{
    struct credential made, other, read;
    struct kx_token token = {.fixed = false};
    char text[CREDENTIAL_SIZE + 1];
    char second[CREDENTIAL_SIZE + 1];
    assert_true(credential_make(&made, text));
    assert_true(credential_make(&other, second));
    assert_int_equal(strlen(text), CREDENTIAL_SIZE);
    assert_string_not_equal(text, second);
    assert_string_not_equal(made.id, other.id);
    assert_true(credential_read(kx_text(text), &read));
    assert_string_equal(read.id, made.id);
    assert_memory_equal(read.digest, made.digest, sizeof made.digest);
    memcpy(token.digest, made.digest, sizeof token.digest);
    assert_true(credential_fits(&read, &token));
    assert_false(credential_fits(&other, &token));
}

/* The digest is SHA-256 of the secret's bytes, here 32 zeros. */
TEST(credential_digest_matches_known_value)
{
    static const uint8_t begin[] = {0x66, 0x68, 0x7a, 0xad, 0xf8, 0x62};
    struct credential read;
    assert_true(
        credential_read(kx_text("kindex_0123456789abcdef_"
                                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
                        &read));
    assert_string_equal(read.id, "0123456789abcdef");
    assert_memory_equal(read.digest, begin, sizeof begin);
}

TEST(credential_read_rejects_other_texts)
{
    static const char *const texts[] = {
        "",
        "kindex_",
        "kindex_0123456789abcdef_",
        "kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
        "kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+",
        "kindex_0123456789ABCDEF_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "kindex_0123456789abcde._AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "Kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "kindex_0123456789abcdef-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    struct credential read;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (credential_read(kx_text(texts[i]), &read))
            fail_msg("%s", texts[i]);
}

TEST(token_rate_limits_requests_of_each_minute)
{
    const struct options options = {.token_rate = 3};
    struct service service = {.options = &options};
    struct kx_token token = {.fixed = false};
    struct request request = {
        .service = &service, .memory = *state, .caller = {.token = &token}};
    struct reply reply = {.status = 0};
    kx_buffer_init(&reply.body, *state);
    for (int64_t minute = 100; minute < 103; minute++) {
        kx_clock_set(minute * 60000 + 5000);
        for (int i = 0; i < 3; i++)
            assert_true(access_count(&request, &reply));
        kx_clock_set(minute * 60000 + 59999);
        assert_false(access_count(&request, &reply));
        assert_int_equal(reply.status, 429);
        assert_string_equal(reply.headers[0].name, "Retry-After");
        assert_string_equal(reply.headers[0].value, "1");
    }
    kx_clock_set(0);
    kx_buffer_free(&reply.body);
    talloc_free_children(*state);
}

TESTS_SHARE(memory_open, memory_close)
