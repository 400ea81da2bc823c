/* Encrypted backups. They are made with a public key, so that the machine that
 * makes them keeps no secret; only the secret key reads them.
 *
 * The format, with the functions of libsodium that make it:
 *
 *   19 bytes   "kindex-encrypted-1" and a newline
 *   80 bytes   the file's key: 32 random bytes in a sealed box for the public
 *              key (crypto_box_seal, X25519 and XSalsa20-Poly1305)
 *   24 bytes   the header of a stream with that key
 *              (crypto_secretstream_xchacha20poly1305)
 *   chunks     of KX_CHUNK_BYTES of the backup each and 17 bytes of the stream,
 *              the last with fewer, also none, and with the stream's final tag
 *
 * A chunk that was changed, left out, added or moved is noticed when it is
 * read, and so is an end that is missing. Where a file comes from is not
 * proved: everybody with the public key can make one. */
#ifndef KINDEX_ENCRYPTION_H
#define KINDEX_ENCRYPTION_H

#include "kindex/bytes.h"
#include "kindex/status.h"

enum {
    KX_KEY_BYTES = 32,
    KX_KEY_TEXT = 96, /* bytes of a key as a line of text, at most */
    KX_CHUNK_BYTES = 65536
};

struct kx_public_key {
    uint8_t bytes[KX_KEY_BYTES];
};

struct kx_secret_key {
    uint8_t bytes[KX_KEY_BYTES];
};

/* Makes a new pair of keys. False: the system has no random numbers. */
bool kx_keys_make(struct kx_secret_key *secret_out,
                  struct kx_public_key *public_out);

/* Keys as a line of text with its newline: "kindex-public-key-1 " or
 * "kindex-secret-key-1 ", and base64url. out holds KX_KEY_TEXT bytes. */
void kx_public_key_write(const struct kx_public_key *key, char *out);
void kx_secret_key_write(const struct kx_secret_key *key, char *out);
/* False: it is no such line; space at its end is ignored. */
bool kx_public_key_read(struct kx_slice text, struct kx_public_key *out);
bool kx_secret_key_read(struct kx_slice text, struct kx_secret_key *out);

/* Encryption of one file, in talloc context memory. */
struct kx_encryption;
/* Begins, and appends what comes first to out. NULL: memory ran out, or the
 * system has no random numbers, or nothing can be encrypted for the key. */
struct kx_encryption *kx_encrypt_begin(void *memory,
                                       const struct kx_public_key *key,
                                       struct kx_buffer *out);
/* Appends all complete output to out. False: memory ran out. */
bool kx_encrypt_add(struct kx_encryption *encryption, struct kx_slice bytes,
                    struct kx_buffer *out);
/* Appends the rest. */
bool kx_encrypt_end(struct kx_encryption *encryption, struct kx_buffer *out);

/* True if a file that begins with these bytes, KX_ENCRYPTED_START or more, is
 * encrypted. */
enum { KX_ENCRYPTED_START = 19 };
bool kx_is_encrypted(struct kx_slice start);

/* Decryption of one file, in talloc context memory. */
struct kx_decryption;
/* NULL: memory ran out. */
struct kx_decryption *kx_decrypt_begin(void *memory,
                                       const struct kx_secret_key *key);
/* Appends to out all content that is verified so far. KX_OK; KX_BAD_ARCHIVE:
 * the file is for another key, or was changed, and nothing more may be added;
 * KX_NO_MEMORY. */
enum kx_status kx_decrypt_add(struct kx_decryption *decryption,
                              struct kx_slice bytes, struct kx_buffer *out,
                              struct kx_fault *fault);
/* Appends the remaining content. KX_OK if the file is complete; otherwise
 * KX_BAD_ARCHIVE. */
enum kx_status kx_decrypt_end(struct kx_decryption *decryption,
                              struct kx_buffer *out, struct kx_fault *fault);

#endif
