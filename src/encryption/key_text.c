/* Keys as lines of text. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "kindex.h"

static const char PUBLIC_NAME[] = "kindex-public-key-1 ";
static const char SECRET_NAME[] = "kindex-secret-key-1 ";

bool kx_keys_make(struct kx_secret_key *secret_out,
                  struct kx_public_key *public_out)
{
    return sodium_init() >= 0 &&
           crypto_box_keypair(public_out->bytes, secret_out->bytes) == 0;
}

static void write_key(const char *name, const uint8_t *bytes, char *out)
{
    char digits[sodium_base64_ENCODED_LEN(
        KX_KEY_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    sodium_bin2base64(digits, sizeof digits, bytes, KX_KEY_BYTES,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    snprintf(out, KX_KEY_TEXT, "%s%s\n", name, digits);
    sodium_memzero(digits, sizeof digits);
}

void kx_public_key_write(const struct kx_public_key *key, char *out)
{
    write_key(PUBLIC_NAME, key->bytes, out);
}

void kx_secret_key_write(const struct kx_secret_key *key, char *out)
{
    write_key(SECRET_NAME, key->bytes, out);
}

static bool read_key(const char *name, struct kx_slice text, uint8_t *out)
{
    size_t size = strlen(name), read = 0;
    while (text.size > 0 && strchr(" \r\n\t", text.data[text.size - 1]) != NULL)
        text.size--;
    return kx_starts_with(text, kx_text(name)) &&
           sodium_base642bin(out, KX_KEY_BYTES, (const char *)text.data + size,
                             text.size - size, NULL, &read, NULL,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           read == KX_KEY_BYTES;
}

bool kx_public_key_read(struct kx_slice text, struct kx_public_key *out)
{
    return read_key(PUBLIC_NAME, text, out->bytes);
}

bool kx_secret_key_read(struct kx_slice text, struct kx_secret_key *out)
{
    return read_key(SECRET_NAME, text, out->bytes);
}
