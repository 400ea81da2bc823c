/* JSON Web Tokens. The first byte chooses: a set of keys; a token as a client
 * made it up; or a header and claims (after a byte 0x1e), which are signed.
 * What is made up is refused. What is accepted says what Jansson finds in it,
 * and grants only keys below what the claims name. */
#include "identity/identity.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"
#include "jwt_sign.h"

enum { NOW_S = 1700000000, WHY = 300 };

static const char GRANTS[] =
    "[{\"scopes\":[\"read\"],\"prefix\":[\"u\",\"{sub}\"]},"
    "{\"when\":{\"g\":\"s\",\"n\":7},\"scopes\":[\"list\"],\"prefix\":"
    "[\"g\",\"{n}\"]}]";

static struct options options = {.jwt_issuer = "i", .jwt_audience = "a"};
static struct issuer *issuer;
static struct identities *identities;
static struct jwt_signer signer;

/* Names a new file with this text. */
static const char *write_file(const char *text, size_t size)
{
    static char paths[2][32];
    static int count;
    char *path = paths[count++];
    snprintf(path, sizeof paths[0], "/tmp/kindex-jwt-XXXXXX");
    int fd = mkstemp(path);
    assert_true(write(fd, text, size) == (ssize_t)size);
    close(fd);
    return path;
}

static void open_once(void *memory)
{
    struct kx_buffer keys;
    char why[WHY];
    if (issuer != NULL)
        return;
    kx_log_level(KX_LOG_ERROR);
    kx_clock_set(NOW_S * 1000ll);
    jwt_signer_open(&signer, JWT_OKP, 0);
    kx_buffer_init(&keys, memory);
    kx_add_text(&keys, "{\"keys\":[");
    jwt_signer_add_jwk(&signer, "k", "", &keys);
    kx_add_text(&keys, "]}");
    options.jwt_keys = write_file((const char *)keys.data, keys.size);
    options.grants = write_file(GRANTS, sizeof GRANTS - 1);
    issuer = issuer_open(&options, why, sizeof why);
    identities = identities_open(&options, why, sizeof why);
    unlink(options.jwt_keys);
    unlink(options.grants);
    assert_non_null(issuer);
    assert_non_null(identities);
}

static json_t *parse(struct kx_slice text)
{
    json_error_t error;
    return json_loadb((const char *)text.data, text.size,
                      JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
                          JSON_DECODE_INT_AS_REAL,
                      &error);
}

static bool is_text(const json_t *value, const char *wanted)
{
    return json_is_string(value) &&
           strcmp(json_string_value(value), wanted) == 0;
}

static void check_header(const json_t *header)
{
    const json_t *kid = json_object_get(header, "kid");
    assert_true(is_text(json_object_get(header, "alg"), "EdDSA"));
    assert_true(kid == NULL || is_text(kid, "k"));
    assert_null(json_object_get(header, "jku"));
    assert_null(json_object_get(header, "x5u"));
    assert_null(json_object_get(header, "jwk"));
    assert_null(json_object_get(header, "crit"));
}

static void check_claims(const json_t *claims)
{
    const json_t *aud = json_object_get(claims, "aud");
    const json_t *nbf = json_object_get(claims, "nbf");
    bool named = is_text(aud, "a");
    for (size_t i = 0; i < json_array_size(aud); i++)
        named |= is_text(json_array_get(aud, i), "a");
    assert_true(named);
    assert_true(is_text(json_object_get(claims, "iss"), "i"));
    assert_true(json_real_value(json_object_get(claims, "exp")) >
                NOW_S - JWT_SKEW_MS / 1000);
    assert_true(nbf == NULL ||
                json_real_value(nbf) < NOW_S + JWT_SKEW_MS / 1000 + 1);
}

/* A prefix is the literal part of its line and one part that a claim names. */
static void check_prefix(struct kx_slice prefix, const json_t *claims)
{
    static struct kx_key_reader reader;
    struct kx_part part;
    const json_t *sub = json_object_get(claims, "sub");
    kx_key_read(&reader, prefix);
    assert_int_equal(kx_key_next(&reader, &part), KX_OK);
    bool own = kx_equal(part.bytes, kx_text("u"));
    assert_true(own || kx_equal(part.bytes, kx_text("g")));
    assert_int_equal(kx_key_next(&reader, &part), KX_OK);
    if (own) {
        assert_true(part.type == KX_STRING && part.bytes.size > 0);
        assert_true(kx_equal(part.bytes, kx_slice(json_string_value(sub),
                                                  json_string_length(sub))));
    } else {
        assert_true(part.type == KX_NUMBER && part.number == 7);
    }
    assert_int_equal(kx_key_next(&reader, &part), KX_END);
}

static void check_grants(const struct jwt *jwt, const json_t *claims,
                         void *memory)
{
    struct kx_token *token = identity_of_jwt(identities, jwt, memory);
    const json_t *sub = json_object_get(claims, "sub");
    assert_non_null(token);
    if (json_string_length(sub) == 0)
        assert_true(token->grant_count <= 1);
    for (size_t i = 0; i < token->grant_count; i++)
        check_prefix(token->grants[i].prefix, claims);
    kx_token_release(token);
}

static void signed_token(struct kx_slice header, struct kx_slice claims,
                         void *memory)
{
    struct kx_buffer token;
    struct jwt jwt;
    kx_buffer_init(&token, memory);
    jwt_sign(&signer, header, claims, &token);
    if (issuer_check(issuer, fuzz_alone(kx_buffer_slice(&token), memory),
                     memory, &jwt) != NULL)
        return;
    json_t *head = parse(header);
    json_t *body = parse(claims);
    if (head != NULL)
        check_header(head);
    if (body != NULL) {
        check_claims(body);
        check_grants(&jwt, body, memory);
    }
    json_decref(head);
    json_decref(body);
}

/* The keys of the set are not the signer's, whose token is then refused. */
static void key_set(struct kx_slice text, void *memory)
{
    static const char *const HEADER = "{\"alg\":\"EdDSA\"}";
    struct kx_buffer token, keys;
    struct jwt jwt;
    char why[WHY];
    kx_buffer_init(&token, memory);
    kx_buffer_init(&keys, memory);
    if (!issuer_use_keys(issuer, text, why, sizeof why))
        return;
    jwt_sign(&signer, kx_text(HEADER), kx_text("{}"), &token);
    assert_non_null(
        issuer_check(issuer, kx_buffer_slice(&token), memory, &jwt));
    kx_add_text(&keys, "{\"keys\":[");
    jwt_signer_add_jwk(&signer, "k", "", &keys);
    kx_add_text(&keys, "]}");
    assert_true(
        issuer_use_keys(issuer, kx_buffer_slice(&keys), why, sizeof why));
}

void fuzz(struct kx_slice input, void *memory)
{
    struct jwt jwt;
    open_once(memory);
    uint8_t choice = fuzz_byte(&input) % 4;
    if (choice == 0) {
        key_set(fuzz_alone(input, memory), memory);
    } else if (choice == 1) {
        assert_non_null(
            issuer_check(issuer, fuzz_alone(input, memory), memory, &jwt));
    } else {
        struct kx_slice header = fuzz_until(&input, 0x1e);
        signed_token(header, input, memory);
    }
}
