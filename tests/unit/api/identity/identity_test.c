/* The lines of --grants: which are refused, and what they give to whom. */
#include "identity/identity.h"

#include <string.h>
#include <unistd.h>

#include "unit.h"

enum { WHY = 300 };

static char path[] = "/tmp/kindex-grants-XXXXXX";
static struct options options = {.grants = path,
                                 .jwt_issuer = "issuer",
                                 .jwt_keys = "keys",
                                 .tls_client_ca = "authorities"};
static void *memory;

static void write_grants(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    (void)state;
    close(mkstemp(path));
    memory = talloc_new(NULL);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    unlink(path);
    talloc_free(memory);
    return 0;
}

TESTS_SHARE(begin, finish)

static struct identities *open_lines(const char *lines)
{
    char why[WHY];
    write_grants(lines);
    struct identities *identities = identities_open(&options, why, sizeof why);
    if (identities == NULL)
        fail_msg("%s: %s", why, lines);
    return identities;
}

/* What the token of these claims may do: for each grant the number of its
 * scopes' set and its prefix, "1[\"a\"] 4[]". */
static const char *grants_of(struct identities *identities, const char *claims)
{
    struct jwt jwt = {.claims = kx_text(claims), .expires_at_ms = 1};
    struct kx_buffer text;
    struct kx_token *token = identity_of_jwt(identities, &jwt, memory);
    assert_non_null(token);
    kx_buffer_init(&text, memory);
    for (size_t i = 0; i < token->grant_count; i++) {
        char scopes[32];
        snprintf(scopes, sizeof scopes, "%s%u", i > 0 ? " " : "",
                 token->grants[i].scopes);
        kx_add_text(&text, scopes);
        kx_key_to_json(token->grants[i].prefix, &text);
    }
    kx_add_byte(&text, '\0');
    kx_token_release(token);
    return (const char *)text.data;
}

static void gives(const char *lines, const char *claims, const char *wanted)
{
    struct identities *identities = open_lines(lines);
    const char *got = grants_of(identities, claims);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s with %s: %s, not %s", lines, claims, got, wanted);
    identities_close(identities);
}

static void refuses(const char *lines, const char *part)
{
    char why[WHY];
    write_grants(lines);
    struct identities *identities = identities_open(&options, why, sizeof why);
    if (identities != NULL || strstr(why, part) == NULL)
        fail_msg("%s: %s, not %s", lines, identities != NULL ? "accepted" : why,
                 part);
}

TEST(claim_equals_the_value_or_is_an_array_that_contains_it)
{
    static const char STAFF[] =
        "[{\"when\":{\"groups\":\"staff\"},\"scopes\":[\"read\"],"
        "\"prefix\":[\"orders\"]}]";
    gives(STAFF, "{\"groups\":\"staff\"}", "1[\"orders\"]");
    gives(STAFF, "{\"groups\":[\"x\",\"staff\"]}", "1[\"orders\"]");
    gives(STAFF, "{\"groups\":\"st\\u0061ff\"}", "1[\"orders\"]");
    gives(STAFF, "{}", "");
    gives(STAFF, "{\"groups\":\"staffs\"}", "");
    gives(STAFF, "{\"groups\":\"staff x\"}", "");
    gives(STAFF, "{\"groups\":\"Staff\"}", "");
    gives(STAFF, "{\"groups\":\"\"}", "");
    gives(STAFF, "{\"groups\":[[\"staff\"]]}", "");
    gives(STAFF, "{\"groups\":{\"staff\":true}}", "");
    gives(STAFF, "{\"groups\":[\"staffs\",\"sta\",\"ff\"]}", "");
    gives(STAFF, "{\"group\":\"staff\",\"x\":{\"groups\":\"staff\"}}", "");
}

TEST(value_of_when_has_a_type)
{
    static const char TYPES[] =
        "[{\"when\":{\"verified\":true,\"level\":3},\"scopes\":[\"read\"],"
        "\"prefix\":[]}]";
    gives(TYPES, "{\"verified\":true,\"level\":3}", "1[]");
    gives(TYPES, "{\"verified\":true,\"level\":[2,3]}", "1[]");
    gives(TYPES, "{\"verified\":\"true\",\"level\":3}", "");
    gives(TYPES, "{\"verified\":true,\"level\":\"3\"}", "");
    gives(TYPES, "{\"verified\":true}", "");
    gives(TYPES, "{\"verified\":null,\"level\":3}", "");
}

/* The name of a claim may be a URL, which is no path of a pointer. */
TEST(name_of_a_claim_is_taken_as_it_is)
{
    gives("[{\"when\":{\"https://x.org/a~b\":\"y\"},\"scopes\":[\"read\"],"
          "\"prefix\":[\"{a/b}\"]}]",
          "{\"https://x.org/a~b\":\"y\",\"a/b\":\"c\",\"a\":{\"b\":\"d\"}}",
          "1[\"c\"]");
}

TEST(placeholder_is_one_typed_part)
{
    static const char OWN[] = "[{\"scopes\":[\"read\",\"write\"],"
                              "\"prefix\":[\"users\",\"{sub}\",\"x\"]}]";
    gives(OWN, "{\"sub\":\"ada\"}", "3[\"users\",\"ada\",\"x\"]");
    gives(OWN, "{\"sub\":7}", "3[\"users\",7,\"x\"]");
    gives(OWN, "{\"sub\":-7}", "3[\"users\",-7,\"x\"]");
    gives(OWN, "{\"sub\":\"7\"}", "3[\"users\",\"7\",\"x\"]");
    gives(OWN, "{\"sub\":\"a/b\"}", "3[\"users\",\"a/b\",\"x\"]");
    gives(OWN, "{\"sub\":\"\\\",\\\"root\"}",
          "3[\"users\",\"\\\",\\\"root\",\"x\"]");
    gives(OWN, "{\"sub\":\"{sub}\"}", "3[\"users\",\"{sub}\",\"x\"]");
    gives(OWN, "{\"sub\":\"a\\u0000b\"}", "3[\"users\",\"a\\u0000b\",\"x\"]");
}

TEST(placeholder_without_a_value_drops_the_line)
{
    static const char *const CLAIMS[] = {
        "{}",
        "{\"sub\":\"\"}",
        "{\"sub\":null}",
        "{\"sub\":true}",
        "{\"sub\":[]}",
        "{\"sub\":[\"ada\"]}",
        "{\"sub\":{\"type\":\"bigint\",\"value\":\"1\"}}",
        "{\"sub\":1.5}",
        "{\"sub\":1e3}",
        "{\"sub\":-0}",
        "{\"sub\":9007199254740993}", /* no double equals it */
        "{\"Sub\":\"ada\"}"};
    for (size_t i = 0; i < sizeof CLAIMS / sizeof *CLAIMS; i++)
        gives("[{\"scopes\":[\"read\"],\"prefix\":[\"users\",\"{sub}\"]},"
              "{\"scopes\":[\"list\"],\"prefix\":[\"all\"]}]",
              CLAIMS[i], "4[\"all\"]");
}

TEST(prefix_that_is_too_long_drops_the_line)
{
    struct kx_buffer claims;
    kx_buffer_init(&claims, memory);
    kx_add_text(&claims, "{\"sub\":\"");
    for (int i = 0; i < KX_KEY_MAX; i++)
        kx_add_byte(&claims, 'a');
    kx_add(&claims, "\"}", 3);
    gives("[{\"scopes\":[\"read\"],\"prefix\":[\"{sub}\"]}]",
          (const char *)claims.data, "");
}

/* A token has room for so many grants. */
TEST(first_lines_count)
{
    struct kx_buffer lines;
    kx_buffer_init(&lines, memory);
    for (int i = 0; i < KX_GRANTS_MAX + 1; i++)
        kx_add_text(&lines, i == 0 ? "[{\"scopes\":[\"list\"],\"prefix\":[]}"
                                   : ",{\"scopes\":[\"read\"],\"prefix\":[]}");
    kx_add(&lines, "]", 2);
    struct identities *identities = open_lines((const char *)lines.data);
    struct jwt jwt = {.claims = kx_text("{}"), .expires_at_ms = 1};
    struct kx_token *token = identity_of_jwt(identities, &jwt, memory);
    assert_int_equal(token->grant_count, KX_GRANTS_MAX);
    assert_int_equal(token->grants[0].scopes, KX_MAY_LIST);
    kx_token_release(token);
    identities_close(identities);
}

TEST(lines_with_mistakes_are_refused)
{
    refuses("", "JSON");
    refuses("{}", "JSON array");
    refuses("[]", "no lines");
    refuses("[7]", "line 1");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[]},{}]", "line 2: `scopes`");
    refuses("[{\"scopes\":[\"read\"]}]", "`prefix`");
    refuses("[{\"scopes\":[],\"prefix\":[]}]", "`scopes`");
    refuses("[{\"scopes\":[\"all\"],\"prefix\":[]}]", "`scopes`");
    refuses("[{\"scopes\":\"read\",\"prefix\":[]}]", "`scopes`");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":\"a\"}]", "`prefix`");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[null]}]", "`prefix`");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[\"u{sub}\"]}]", "whole part");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[\"{sub\"]}]", "whole part");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[\"{}\"]}]", "whole part");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[\"{a}{b}\"]}]", "whole part");
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[],\"wehn\":{\"a\":\"b\"}}]",
            "`when` or `certificate`");
    refuses("[{\"when\":{},\"scopes\":[\"read\"],\"prefix\":[]}]", "`when`");
    refuses("[{\"when\":{\"a\":null},\"scopes\":[\"read\"],\"prefix\":[]}]",
            "`when`");
    refuses("[{\"when\":{\"a\":[\"b\"]},\"scopes\":[\"read\"],\"prefix\":[]}]",
            "`when`");
    refuses("[{\"when\":[\"a\"],\"scopes\":[\"read\"],\"prefix\":[]}]",
            "`when`");
}

TEST(admin_needs_a_separate_line_for_some_tokens)
{
    refuses("[{\"when\":{\"a\":\"b\"},\"scopes\":[\"admin\",\"read\"],"
            "\"prefix\":[]}]",
            "`admin`");
    refuses("[{\"scopes\":[\"admin\"],\"prefix\":[]}]", "`admin`");
    gives("[{\"when\":{\"a\":\"b\"},\"scopes\":[\"admin\"],\"prefix\":[]}]",
          "{\"a\":\"b\"}", "32[]");
}

/* What a certificate with these names may do, as grants_of. */
static const char *grants_of_names(struct identities *identities,
                                   const char *names)
{
    const struct client_certificate certificate = {.claims = kx_text(names),
                                                   .subject = kx_text("CN=a"),
                                                   .issuer = kx_text("CN=b")};
    struct kx_buffer text;
    struct kx_token *token =
        identity_of_certificate(identities, &certificate, memory);
    assert_non_null(token);
    assert_true(kx_equal(token->name, kx_text("CN=a")));
    kx_buffer_init(&text, memory);
    for (size_t i = 0; i < token->grant_count; i++)
        kx_key_to_json(token->grants[i].prefix, &text);
    kx_add_byte(&text, '\0');
    kx_token_release(token);
    return (const char *)text.data;
}

TEST(lines_of_certificates_and_of_tokens_are_apart)
{
    struct identities *identities = open_lines(
        "[{\"certificate\":{\"dns\":\"a\"},\"scopes\":[\"read\"],\"prefix\":"
        "[\"{cn}\"]},"
        "{\"when\":{\"dns\":\"a\"},\"scopes\":[\"read\"],\"prefix\":[\"b\"]},"
        "{\"scopes\":[\"read\"],\"prefix\":[\"c\"]}]");
    assert_string_equal(
        grants_of_names(identities, "{\"cn\":\"x\",\"dns\":\"a\"}"), "[\"x\"]");
    assert_string_equal(
        grants_of_names(identities, "{\"cn\":[\"x\",\"y\"],\"dns\":\"a\"}"),
        "");
    assert_string_equal(
        grants_of_names(identities, "{\"cn\":\"x\",\"dns\":\"a.b\"}"), "");
    assert_string_equal(grants_of(identities, "{\"cn\":\"x\",\"dns\":\"a\"}"),
                        "1[\"b\"] 1[\"c\"]");
    identities_close(identities);
}

TEST(lines_for_callers_that_are_never_accepted_are_refused)
{
    options.tls_client_ca = NULL;
    refuses("[{\"certificate\":{\"cn\":\"a\"},\"scopes\":[\"read\"],"
            "\"prefix\":[]}]",
            "--tls-client-ca");
    options.tls_client_ca = "authorities";
    options.jwt_keys = NULL;
    refuses("[{\"scopes\":[\"read\"],\"prefix\":[]}]", "--jwt-keys");
    options.jwt_keys = "keys";
    refuses("[{\"certificate\":{\"cn\":\"a\"},\"when\":{\"b\":\"c\"},"
            "\"scopes\":[\"read\"],\"prefix\":[]}]",
            "`when` or `certificate`");
    refuses("[{\"certificate\":{},\"scopes\":[\"read\"],\"prefix\":[]}]",
            "`when` or `certificate`");
}

static struct kx_token *token_of(struct identities *identities,
                                 const char *subject, int64_t expires_at_ms)
{
    struct jwt jwt = {.claims = kx_text("{}"),
                      .subject = kx_text(subject),
                      .expires_at_ms = expires_at_ms};
    return identity_of_jwt(identities, &jwt, memory);
}

TEST(tokens_of_a_subject_share_id_and_counter)
{
    struct identities *identities =
        open_lines("[{\"scopes\":[\"read\"],\"prefix\":[]}]");
    struct kx_token *first = token_of(identities, "ada", 1000);
    struct kx_token *second = token_of(identities, "ada", 2000);
    struct kx_token *other = token_of(identities, "bob", 1000);
    assert_string_equal(first->id, second->id);
    assert_ptr_equal(first->shared_uses, second->shared_uses);
    assert_string_not_equal(first->id, other->id);
    assert_ptr_not_equal(first->shared_uses, other->shared_uses);
    assert_int_equal(second->expires_at_ms, 2000);
    assert_true(kx_equal(first->name, kx_text("ada")));
    assert_true(kx_equal(first->issuer, kx_text("issuer")));
    assert_int_equal(strlen(first->id), KX_TOKEN_ID_SIZE);
    kx_token_release(first);
    kx_token_release(second);
    kx_token_release(other);
    options.jwt_issuer = "other";
    first = token_of(identities, "ada", 1000);
    options.jwt_issuer = "issuer";
    second = token_of(identities, "ada", 1000);
    assert_string_not_equal(first->id, second->id);
    kx_token_release(first);
    kx_token_release(second);
    identities_close(identities);
}

/* With more subjects than the table has places, each is still counted, and the
 * busiest are not forgotten first. */
TEST(busy_subject_keeps_its_count_among_many)
{
    struct identities *identities =
        open_lines("[{\"scopes\":[\"read\"],\"prefix\":[]}]");
    struct kx_token *busy = token_of(identities, "busy", 1);
    atomic_store(busy->shared_uses, 1000);
    for (int i = 0; i < 4 * SUBJECTS_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d", i);
        struct kx_token *token = token_of(identities, name, 1);
        atomic_fetch_add(token->shared_uses, 1);
        kx_token_release(token);
    }
    struct kx_token *again = token_of(identities, "busy", 1);
    assert_int_equal(atomic_load(again->shared_uses), 1000);
    kx_token_release(busy);
    kx_token_release(again);
    identities_close(identities);
}

TEST(reload_takes_new_lines_or_keeps_the_old)
{
    struct identities *identities =
        open_lines("[{\"scopes\":[\"read\"],\"prefix\":[\"a\"]}]");
    write_grants("[{\"scopes\":[\"list\"],\"prefix\":[\"b\"]}]");
    identities_reload(identities);
    assert_string_equal(grants_of(identities, "{}"), "4[\"b\"]");
    write_grants("[{\"scopes\":[\"list\"],\"prefix\":[\"b\"]},{}]");
    identities_reload(identities);
    assert_string_equal(grants_of(identities, "{}"), "4[\"b\"]");
    identities_close(identities);
}
