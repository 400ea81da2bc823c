/* JSON Web Tokens: which are accepted, and why the others are not. */
#include "identity/identity.h"

#include <gnutls/crypto.h>
#include <string.h>
#include <unistd.h>

#include "jwt_sign.h"
#include "unit.h"

enum { NOW_S = 1700000000, WHY = 256 };

static struct jwt_signer rsa, ec, okp, small, other;
static struct issuer *issuer;
static struct options options = {.jwt_issuer = "https://id.example.org",
                                 .jwt_audience = "kindex"};
static void *memory;

/* Keys rsa, ec, okp; and small, whose kid no usable key has. */
static void add_set(struct kx_buffer *out)
{
    kx_add_text(out, "{\"keys\":[");
    jwt_signer_add_jwk(&rsa, "rsa", ",\"alg\":\"RS256\"", out);
    kx_add_byte(out, ',');
    jwt_signer_add_jwk(&ec, "ec", ",\"use\":\"sig\"", out);
    kx_add_byte(out, ',');
    jwt_signer_add_jwk(&okp, "okp", ",\"key_ops\":[\"sign\",\"verify\"]", out);
    kx_add_byte(out, ',');
    jwt_signer_add_jwk(&small, "small", "", out);
    kx_add_text(out, "]}");
}

static void write_file(const char *path, struct kx_slice text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    static char path[] = "/tmp/kindex-issuer-XXXXXX";
    char why[WHY];
    struct kx_buffer set;
    (void)state;
    memory = talloc_new(NULL);
    kx_buffer_init(&set, memory);
    jwt_signer_open(&rsa, JWT_RSA, JWT_RSA_BITS_MIN);
    jwt_signer_open(&small, JWT_RSA, JWT_RSA_BITS_MIN - 8);
    jwt_signer_open(&ec, JWT_EC, 0);
    jwt_signer_open(&okp, JWT_OKP, 0);
    jwt_signer_open(&other, JWT_OKP, 0);
    add_set(&set);
    close(mkstemp(path));
    write_file(path, kx_buffer_slice(&set));
    options.jwt_keys = path;
    issuer = issuer_open(&options, why, sizeof why);
    unlink(path);
    if (issuer == NULL)
        fail_msg("%s", why);
    kx_clock_set(NOW_S * 1000ll);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    kx_clock_set(0);
    issuer_close(issuer);
    jwt_signer_close(&rsa);
    jwt_signer_close(&small);
    jwt_signer_close(&ec);
    jwt_signer_close(&okp);
    jwt_signer_close(&other);
    talloc_free(memory);
    return 0;
}

TESTS_SHARE(begin, finish)

static const char CLAIMS[] =
    "{\"iss\":\"https://id.example.org\",\"aud\":\"kindex\",\"sub\":\"ada\","
    "\"exp\":1700000600}";

static struct kx_slice sign(const struct jwt_signer *signer, const char *header,
                            const char *claims)
{
    struct kx_buffer text;
    kx_buffer_init(&text, memory);
    jwt_sign(signer, kx_text(header), kx_text(claims), &text);
    return kx_buffer_slice(&text);
}

static const char *check(struct kx_slice token, struct jwt *jwt_out)
{
    return issuer_check(issuer, token, memory, jwt_out);
}

static void accepts(struct kx_slice token)
{
    struct jwt jwt;
    const char *why = check(token, &jwt);
    if (why != NULL)
        fail_msg("%s: %.*s", why, (int)token.size, (const char *)token.data);
}

/* The token is refused with a sentence that contains `part`. */
static void refuses(struct kx_slice token, const char *part)
{
    struct jwt jwt;
    const char *why = check(token, &jwt);
    if (why == NULL || strstr(why, part) == NULL)
        fail_msg("%s, not %s: %.*s", why != NULL ? why : "accepted", part,
                 (int)token.size, (const char *)token.data);
}

TEST(token_of_each_algorithm_is_accepted)
{
    struct jwt jwt;
    accepts(sign(&rsa, "{\"alg\":\"RS256\",\"kid\":\"rsa\"}", CLAIMS));
    accepts(sign(&ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}", CLAIMS));
    assert_null(
        check(sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\",\"typ\":\"JWT\"}",
                   CLAIMS),
              &jwt));
    assert_true(kx_equal(jwt.subject, kx_text("ada")));
    assert_true(kx_equal(jwt.claims, kx_text(CLAIMS)));
    assert_int_equal(jwt.expires_at_ms, 1700000600000ll + JWT_SKEW_MS);
}

TEST(token_without_kid_needs_the_only_key_of_its_algorithm)
{
    char why[WHY];
    struct kx_buffer set;
    struct kx_slice token = sign(&okp, "{\"alg\":\"EdDSA\"}", CLAIMS);
    accepts(token);
    kx_buffer_init(&set, memory);
    kx_add_text(&set, "{\"keys\":[");
    jwt_signer_add_jwk(&okp, "a", "", &set);
    kx_add_byte(&set, ',');
    jwt_signer_add_jwk(&other, "b", "", &set);
    kx_add_text(&set, "]}");
    assert_true(
        issuer_use_keys(issuer, kx_buffer_slice(&set), why, sizeof why));
    refuses(token, "has no kid");
    kx_buffer_clear(&set);
    add_set(&set);
    assert_true(
        issuer_use_keys(issuer, kx_buffer_slice(&set), why, sizeof why));
    accepts(token);
}

TEST(other_algorithm_than_that_of_the_key_is_refused)
{
    static const char *const HEADERS[] = {
        "{\"alg\":\"none\",\"kid\":\"okp\"}",
        "{\"alg\":\"None\",\"kid\":\"okp\"}",
        "{\"alg\":\"HS256\",\"kid\":\"okp\"}",
        "{\"alg\":\"RS256\",\"kid\":\"okp\"}",
        "{\"alg\":\"ES256\",\"kid\":\"okp\"}",
        "{\"alg\":\"eddsa\",\"kid\":\"okp\"}",
        "{\"alg\":[\"EdDSA\"],\"kid\":\"okp\"}",
        "{\"alg\":null,\"kid\":\"okp\"}",
        "{\"kid\":\"okp\"}"};
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
        refuses(sign(&okp, HEADERS[i], CLAIMS), "algorithm");
    refuses(sign(&rsa, "{\"alg\":\"RS512\",\"kid\":\"rsa\"}", CLAIMS),
            "algorithm");
    refuses(sign(&rsa, "{\"alg\":\"PS256\",\"kid\":\"rsa\"}", CLAIMS),
            "algorithm");
    refuses(sign(&okp, "{\"alg\":\"none\"}", CLAIMS), "no kid");
}

/* The attacker knows the public key, and signs with it as a shared secret. */
TEST(public_key_is_no_shared_secret)
{
    struct kx_buffer token, jwk;
    uint8_t digest[32];
    kx_buffer_init(&token, memory);
    kx_buffer_init(&jwk, memory);
    jwt_signer_add_jwk(&rsa, "rsa", "", &jwk);
    kx_base64_write(kx_text("{\"alg\":\"HS256\",\"kid\":\"rsa\"}"), &token);
    kx_add_byte(&token, '.');
    kx_base64_write(kx_text(CLAIMS), &token);
    assert_int_equal(gnutls_hmac_fast(GNUTLS_MAC_SHA256, jwk.data, jwk.size,
                                      token.data, token.size, digest),
                     0);
    kx_add_byte(&token, '.');
    kx_base64_write(kx_slice(digest, sizeof digest), &token);
    refuses(kx_buffer_slice(&token), "algorithm");
}

TEST(header_that_names_its_own_key_is_refused)
{
    static const char *const MEMBERS[] = {
        "\"jku\":\"https://evil.example\"", "\"x5u\":\"https://evil.example\"",
        "\"jwk\":{}", "\"crit\":[]", "\"crit\":[\"b64\"],\"b64\":false"};
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
        char header[200];
        snprintf(header, sizeof header,
                 "{\"alg\":\"EdDSA\",\"kid\":\"okp\",%s}", MEMBERS[i]);
        refuses(sign(&okp, header, CLAIMS), "jku");
    }
}

TEST(header_must_be_one_object_without_duplicates)
{
    refuses(sign(&okp, "[]", CLAIMS), "not a JSON object");
    refuses(sign(&okp, "", CLAIMS), "not a JSON object");
    refuses(sign(&okp, "{\"alg\":\"none\",\"alg\":\"EdDSA\",\"kid\":\"okp\"}",
                 CLAIMS),
            "not a JSON object");
    refuses(sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":7}", CLAIMS), "kid");
}

TEST(foreign_or_changed_signature_is_refused)
{
    static const char HEADER[] = "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}";
    struct kx_slice good = sign(&okp, HEADER, CLAIMS);
    struct kx_buffer token;
    refuses(sign(&other, HEADER, CLAIMS), "signature");
    kx_buffer_init(&token, memory);
    for (size_t at = 0; at < good.size; at++) {
        struct jwt jwt;
        kx_buffer_clear(&token);
        kx_add_slice(&token, good);
        token.data[at] = token.data[at] == 'A' ? 'B' : 'A';
        assert_non_null(check(kx_buffer_slice(&token), &jwt));
    }
    for (size_t size = 0; size < good.size; size++) {
        struct jwt jwt;
        assert_non_null(check(kx_slice(good.data, size), &jwt));
    }
    kx_buffer_clear(&token);
    kx_add_slice(&token, good);
    kx_add_text(&token, "AAAA");
    refuses(kx_buffer_slice(&token), "signature");
}

/* An ECDSA signature of two zeros fits every text in a careless check. */
TEST(signature_of_zeros_is_refused)
{
    struct kx_buffer token;
    uint8_t zeros[64] = {0};
    kx_buffer_init(&token, memory);
    kx_base64_write(kx_text("{\"alg\":\"ES256\",\"kid\":\"ec\"}"), &token);
    kx_add_byte(&token, '.');
    kx_base64_write(kx_text(CLAIMS), &token);
    kx_add_byte(&token, '.');
    size_t size = token.size;
    kx_base64_write(kx_slice(zeros, sizeof zeros), &token);
    refuses(kx_buffer_slice(&token), "signature");
    token.size = size;
    refuses(kx_buffer_slice(&token), "signature");
}

TEST(token_has_three_parts)
{
    refuses(kx_text(""), "neither");
    refuses(kx_text("a.b"), "neither");
    refuses(kx_text(".."), "not a JSON object");
    refuses(kx_text("a.b.c.d.e"), "neither");
    refuses(kx_text("e30=.e30.e30"), "neither");
    refuses(kx_text("e3 0.e30.e30"), "neither");
}

TEST(small_rsa_key_is_not_used)
{
    char why[WHY];
    struct kx_buffer set;
    refuses(sign(&small, "{\"alg\":\"RS256\",\"kid\":\"small\"}", CLAIMS),
            "no key with the kid");
    kx_buffer_init(&set, memory);
    kx_add_text(&set, "{\"keys\":[");
    jwt_signer_add_jwk(&small, "rsa", "", &set);
    kx_add_text(&set, "]}");
    assert_false(
        issuer_use_keys(issuer, kx_buffer_slice(&set), why, sizeof why));
    assert_non_null(strstr(why, "2048"));
    accepts(sign(&rsa, "{\"alg\":\"RS256\",\"kid\":\"rsa\"}", CLAIMS));
}

/* The previous keys stay. */
TEST(set_without_usable_key_is_refused)
{
    static const char *const SETS[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"keys\":{}}",
        "{\"keys\":[]}",
        "{\"keys\":[7,null,\"x\",[]]}",
        "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AAAA\",\"e\":\"AQAB\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\"}]}",
    };
    static const char *const MEMBERS[] = {
        ",\"use\":\"enc\"", ",\"alg\":\"ES256\"", ",\"key_ops\":[\"sign\"]"};
    char why[WHY];
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++)
        assert_false(
            issuer_use_keys(issuer, kx_text(SETS[i]), why, sizeof why));
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
        struct kx_buffer set;
        kx_buffer_init(&set, memory);
        kx_add_text(&set, "{\"keys\":[");
        jwt_signer_add_jwk(&okp, "okp", MEMBERS[i], &set);
        kx_add_text(&set, "]}");
        assert_false(
            issuer_use_keys(issuer, kx_buffer_slice(&set), why, sizeof why));
    }
    accepts(sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}", CLAIMS));
}

/* With the exponent 1 everybody can sign. */
TEST(rsa_exponent_is_odd_and_not_one)
{
    static const char *const EXPONENTS[] = {"AQ", "Ag", "AAAB", "AA"};
    gnutls_datum_t n, e;
    char why[WHY];
    gnutls_pubkey_t public;
    gnutls_pubkey_init(&public);
    gnutls_pubkey_import_privkey(public, rsa.key, 0, 0);
    assert_int_equal(gnutls_pubkey_export_rsa_raw(public, &n, &e), 0);
    for (size_t i = 0; i < sizeof EXPONENTS / sizeof *EXPONENTS; i++) {
        struct kx_buffer set;
        kx_buffer_init(&set, memory);
        kx_add_text(&set, "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"");
        kx_base64_write(kx_slice(n.data, n.size), &set);
        kx_add_text(&set, "\",\"e\":\"");
        kx_add_text(&set, EXPONENTS[i]);
        kx_add_text(&set, "\"}]}");
        assert_false(
            issuer_use_keys(issuer, kx_buffer_slice(&set), why, sizeof why));
    }
    gnutls_free(n.data);
    gnutls_free(e.data);
    gnutls_pubkey_deinit(public);
}

static void refuses_claims(const char *claims, const char *part)
{
    refuses(sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}", claims), part);
}

static void accepts_claims(const char *claims)
{
    accepts(sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}", claims));
}

#define ISS "\"iss\":\"https://id.example.org\""
#define AUD "\"aud\":\"kindex\""
#define EXP "\"exp\":1700000600"

TEST(issuer_and_audience_and_exp_are_required)
{
    refuses_claims("{" AUD "," EXP "}", "issuer");
    refuses_claims("{\"iss\":\"https://id.example.org/\"," AUD "," EXP "}",
                   "issuer");
    refuses_claims("{\"iss\":[\"https://id.example.org\"]," AUD "," EXP "}",
                   "issuer");
    refuses_claims("{" ISS "," EXP "}", "audience");
    refuses_claims("{" ISS ",\"aud\":\"kindex2\"," EXP "}", "audience");
    refuses_claims("{" ISS ",\"aud\":[\"kin\",[\"kindex\"]]," EXP "}",
                   "audience");
    refuses_claims("{" ISS "," AUD "}", "exp");
    refuses_claims("{" ISS "," AUD ",\"exp\":\"1700000600\"}", "exp");
    refuses_claims("{" ISS "," AUD ",\"exp\":1e300}", "exp");
    refuses_claims("{" ISS "," AUD ",\"exp\":-1}", "exp");
    refuses_claims("[" EXP "]", "not a JSON object");
    accepts_claims("{" ISS ",\"aud\":[\"x\",\"kindex\"]," EXP "}");
    accepts_claims("{" ISS "," AUD ",\"exp\":1700000600.5}");
}

TEST(subject_is_a_string)
{
    char claims[600];
    refuses_claims("{" ISS "," AUD "," EXP ",\"sub\":7}", "sub");
    snprintf(claims, sizeof claims,
             "{" ISS "," AUD "," EXP ",\"sub\":\"%0*d\"}", JWT_SUBJECT_MAX + 1,
             0);
    refuses_claims(claims, "sub");
    snprintf(claims, sizeof claims,
             "{" ISS "," AUD "," EXP ",\"sub\":\"%0*d\"}", JWT_SUBJECT_MAX, 0);
    accepts_claims(claims);
    accepts_claims("{" ISS "," AUD "," EXP "}");
}

TEST(clock_may_differ_by_the_skew_and_no_more)
{
    static const char LATER[] = "{" ISS "," AUD "," EXP ",\"nbf\":1700000100}";
    kx_clock_set(1700000600000ll + JWT_SKEW_MS - 1);
    accepts_claims(CLAIMS);
    kx_clock_set(1700000600000ll + JWT_SKEW_MS);
    refuses_claims(CLAIMS, "expired");
    kx_clock_set(1700000100000ll - JWT_SKEW_MS - 1);
    refuses_claims(LATER, "not valid yet");
    kx_clock_set(1700000100000ll - JWT_SKEW_MS);
    accepts_claims(LATER);
    refuses_claims("{" ISS "," AUD "," EXP ",\"nbf\":null}", "nbf");
    kx_clock_set(NOW_S * 1000ll);
}

/* No result is kept from one clock to the next. */
TEST(jumps_of_the_clock_decide_at_once)
{
    kx_clock_set(1800000000000ll);
    refuses_claims(CLAIMS, "expired");
    kx_clock_set(NOW_S * 1000ll);
    accepts_claims(CLAIMS);
    kx_clock_set(1);
    accepts_claims(CLAIMS);
    refuses_claims("{" ISS "," AUD "," EXP ",\"nbf\":1699999999}",
                   "not valid yet");
    kx_clock_set(NOW_S * 1000ll);
}

/* `count` arrays inside each other. */
static const char *nested(size_t count)
{
    struct kx_buffer claims;
    kx_buffer_init(&claims, memory);
    kx_add_text(&claims, "{" ISS "," AUD "," EXP ",\"deep\":");
    for (size_t i = 0; i < count; i++)
        kx_add_byte(&claims, '[');
    for (size_t i = 0; i < count; i++)
        kx_add_byte(&claims, ']');
    kx_add(&claims, "}", 2);
    return (const char *)claims.data;
}

TEST(deeply_nested_token_is_refused)
{
    accepts_claims(nested(KX_JSON_DEPTH_MAX - 1));
    refuses_claims(nested(KX_JSON_DEPTH_MAX), "not a JSON object");
    refuses_claims(nested(2500), "not a JSON object");
}

TEST(oversized_token_is_refused)
{
    char *claims = talloc_array(memory, char, JWT_MAX);
    snprintf(claims, JWT_MAX, "{" ISS "," AUD "," EXP ",\"pad\":\"%0*d\"}",
             5800, 0);
    accepts_claims(claims);
    snprintf(claims, JWT_MAX, "{" ISS "," AUD "," EXP ",\"pad\":\"%0*d\"}",
             6200, 0);
    refuses_claims(claims, "more bytes");
}

/* ---- Verified tokens ---------------------------------------------------- */

static struct identities *identities;

static void write_lines(const char *lines)
{
    write_file(options.grants, kx_text(lines));
}

/* Returns the token, which is released here; the identities may still keep it.
 */
static const struct kx_token *bearer(struct kx_slice text, const char **why)
{
    struct kx_token *token =
        identity_of_bearer(identities, issuer, text, memory, why);
    assert_true((token == NULL) == (*why != NULL));
    kx_token_release(token);
    return token;
}

static void use_set(void (*add)(struct kx_buffer *out))
{
    char why[WHY];
    struct kx_buffer set;
    kx_buffer_init(&set, memory);
    add(&set);
    assert_true(
        issuer_use_keys(issuer, kx_buffer_slice(&set), why, sizeof why));
}

/* The key of another signer under the same kid. */
static void add_rotated_set(struct kx_buffer *out)
{
    kx_add_text(out, "{\"keys\":[");
    jwt_signer_add_jwk(&other, "okp", "", out);
    kx_add_text(out, "]}");
}

static void open_identities(char *path)
{
    char why[WHY];
    close(mkstemp(path));
    options.grants = path;
    write_lines("[{\"scopes\":[\"read\"],\"prefix\":[\"{sub}\"]}]");
    identities = identities_open(&options, why, sizeof why);
    if (identities == NULL)
        fail_msg("%s", why);
}

static void close_identities(void)
{
    identities_close(identities);
    unlink(options.grants);
    kx_clock_set(NOW_S * 1000ll);
}

TEST(verified_token_is_kept_until_its_keys_its_lines_or_the_time_say_otherwise)
{
    char path[] = "/tmp/kindex-grants-XXXXXX";
    const char *why;
    struct kx_slice text =
        sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}",
             "{" ISS "," AUD ",\"sub\":\"ada\",\"exp\":1700000600,"
             "\"nbf\":1699999900}");
    open_identities(path);
    const struct kx_token *first = bearer(text, &why);
    assert_ptr_equal(bearer(text, &why), first);

    write_lines("[{\"scopes\":[\"read\",\"write\"],\"prefix\":[\"{sub}\"]}]");
    assert_int_equal(first->grants[0].scopes, KX_MAY_READ);
    identities_reload(identities);
    struct kx_token *reloaded =
        identity_of_bearer(identities, issuer, text, memory, &why);
    assert_int_equal(reloaded->grants[0].scopes, KX_MAY_READ | KX_MAY_WRITE);
    kx_token_release(reloaded);

    use_set(add_rotated_set);
    assert_null(bearer(text, &why));
    assert_non_null(strstr(why, "signature"));
    use_set(add_set);
    assert_non_null(bearer(text, &why));

    kx_clock_set((1700000600ll + 60) * 1000);
    assert_null(bearer(text, &why));
    assert_non_null(strstr(why, "expired"));
    kx_clock_set((1699999900ll - 61) * 1000);
    assert_null(bearer(text, &why));
    assert_non_null(strstr(why, "not valid yet"));
    close_identities();
}

/* The signature is the last part of the text. */
TEST(kept_token_does_not_vouch_for_another_signature)
{
    char path[] = "/tmp/kindex-grants-XXXXXX";
    const char *why;
    struct kx_slice text =
        sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}", CLAIMS);
    open_identities(path);
    assert_non_null(bearer(text, &why));
    uint8_t *last = (uint8_t *)text.data + text.size - 10;
    *last = *last == 'A' ? 'B' : 'A';
    assert_null(bearer(text, &why));
    assert_non_null(strstr(why, "signature"));
    close_identities();
}

TEST(more_tokens_than_are_kept_are_all_verified)
{
    char path[] = "/tmp/kindex-grants-XXXXXX";
    const char *why;
    open_identities(path);
    for (int i = 0; i < VERIFIED_MAX + 100; i++) {
        char claims[200];
        snprintf(claims, sizeof claims,
                 "{" ISS "," AUD ",\"sub\":\"user %d\",\"exp\":1700000600}", i);
        struct kx_slice text =
            sign(&okp, "{\"alg\":\"EdDSA\",\"kid\":\"okp\"}", claims);
        struct kx_token *token =
            identity_of_bearer(identities, issuer, text, memory, &why);
        assert_non_null(token);
        assert_memory_equal(token->name.data,
                            claims + sizeof("{" ISS "," AUD ",\"sub\":\"") - 1,
                            token->name.size);
        kx_token_release(token);
    }
    close_identities();
}

/* ---- Lack of memory ----------------------------------------------------- */

static size_t allocations = SIZE_MAX; /* that succeed */

void *__real__talloc_realloc_array(const void *owner, void *block, size_t size,
                                   unsigned count, const char *name);
void *__wrap__talloc_realloc_array(const void *owner, void *block, size_t size,
                                   unsigned count, const char *name);
void *__wrap__talloc_realloc_array(const void *owner, void *block, size_t size,
                                   unsigned count, const char *name)
{
    if (allocations == 0)
        return NULL;
    allocations--;
    return __real__talloc_realloc_array(owner, block, size, count, name);
}

TEST(token_is_never_called_invalid_nor_loses_a_grant_for_lack_of_memory)
{
    char path[] = "/tmp/kindex-grants-XXXXXX";
    const char *why = ISSUER_NO_MEMORY;
    struct kx_slice text =
        sign(&ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}", CLAIMS);
    size_t refused = 0;
    open_identities(path);
    while (why != NULL) {
        allocations = refused;
        struct kx_token *token =
            identity_of_bearer(identities, issuer, text, memory, &why);
        allocations = SIZE_MAX;
        assert_true(why == NULL || why == ISSUER_NO_MEMORY);
        assert_true(token == NULL || token->grant_count == 1);
        kx_token_release(token);
        refused++;
    }
    assert_in_range(refused, 8, 100);
    close_identities();
}
