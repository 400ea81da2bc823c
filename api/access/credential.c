/* Makes and reads the texts of access tokens. The secret is 256 random bits, so
 * its digest needs neither salt nor a slow hash. */
#include "access/credential.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <sys/random.h>

static const char BEGIN[] = "kindex_";
enum { BEGIN_SIZE = sizeof BEGIN - 1, ID_BYTES = KX_TOKEN_ID_SIZE / 2 };

static bool is_digit(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static bool has_form(struct kx_slice text)
{
    bool good = text.size == CREDENTIAL_SIZE &&
                kx_starts_with(text, kx_text(BEGIN)) &&
                text.data[BEGIN_SIZE + KX_TOKEN_ID_SIZE] == '_';
    for (size_t i = 0; good && i < KX_TOKEN_ID_SIZE; i++)
        good = is_digit(text.data[BEGIN_SIZE + i]);
    return good;
}

bool credential_make(struct credential *credential_out, char *text)
{
    uint8_t random[ID_BYTES + CREDENTIAL_SECRET_SIZE];
    struct kx_buffer secret;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    kx_hex_write(kx_slice(random, ID_BYTES), credential_out->id);
    kx_buffer_init(&secret, NULL);
    kx_base64_write(kx_slice(random + ID_BYTES, CREDENTIAL_SECRET_SIZE),
                    &secret);
    kx_sha256(kx_slice(random + ID_BYTES, CREDENTIAL_SECRET_SIZE),
              credential_out->digest);
    bool good = !secret.failed;
    if (good)
        snprintf(text, CREDENTIAL_SIZE + 1, "%s%s_%.*s", BEGIN,
                 credential_out->id, (int)secret.size,
                 (const char *)secret.data);
    kx_buffer_free(&secret);
    gnutls_memset(random, 0, sizeof random);
    return good;
}

/* The decoded secret fits into `bytes`, so nothing is allocated: a lack of
 * memory cannot make a valid token look invalid. */
bool credential_read(struct kx_slice text, struct credential *credential_out)
{
    uint8_t bytes[CREDENTIAL_SIZE];
    struct kx_buffer secret = {.data = bytes, .capacity = sizeof bytes};
    size_t at = BEGIN_SIZE + KX_TOKEN_ID_SIZE + 1;
    if (!has_form(text))
        return false;
    memcpy(credential_out->id, text.data + BEGIN_SIZE, KX_TOKEN_ID_SIZE);
    credential_out->id[KX_TOKEN_ID_SIZE] = '\0';
    bool good =
        kx_base64_read(kx_slice(text.data + at, text.size - at), &secret) &&
        secret.size == CREDENTIAL_SECRET_SIZE;
    if (good)
        kx_sha256(kx_buffer_slice(&secret), credential_out->digest);
    return good;
}

bool credential_fits(const struct credential *credential,
                     const struct kx_token *token)
{
    return gnutls_memcmp(credential->digest, token->digest,
                         sizeof token->digest) == 0;
}
