/* Encrypted files: every size around those of chunks comes back, in pieces of
 * any size, and every file that was changed, cut, continued or reordered is
 * refused. */
#include <sodium.h>

#include "kindex.h"
#include "unit.h"

enum { START = 19 + 80 + 24, SEALED = KX_CHUNK_BYTES + 17 };

static const size_t SIZES[] = {0,
                               1,
                               1000,
                               KX_CHUNK_BYTES - 1,
                               KX_CHUNK_BYTES,
                               KX_CHUNK_BYTES + 1,
                               2 * KX_CHUNK_BYTES,
                               3 * KX_CHUNK_BYTES + 7};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

struct world {
    void *mem;
    struct kx_secret_key secret;
    struct kx_public_key public;
    uint8_t *plain;
};

static struct world make_world(void)
{
    struct world world = {.mem = talloc_new(NULL)};
    assert_true(kx_keys_make(&world.secret, &world.public));
    world.plain = talloc_size(world.mem, 4 * KX_CHUNK_BYTES);
    for (size_t i = 0; i < 4 * KX_CHUNK_BYTES; i++)
        world.plain[i] = (uint8_t)(i * 31 + (i >> 8));
    return world;
}

/* Encrypts the first bytes, given in pieces. */
static struct kx_buffer encrypt(struct world *world, size_t size, size_t piece)
{
    struct kx_buffer out;
    kx_buffer_init(&out, world->mem);
    struct kx_encryption *encryption =
        kx_encrypt_begin(world->mem, &world->public, &out);
    assert_non_null(encryption);
    for (size_t at = 0; at < size; at += piece)
        assert_true(kx_encrypt_add(
            encryption,
            kx_slice(world->plain + at, size - at < piece ? size - at : piece),
            &out));
    assert_true(kx_encrypt_end(encryption, &out));
    talloc_free(encryption);
    return out;
}

static enum kx_status decrypt(struct world *world, struct kx_slice file,
                              size_t piece, struct kx_buffer *out)
{
    struct kx_fault fault = {.detail = ""};
    enum kx_status status = KX_OK;
    kx_buffer_init(out, world->mem);
    struct kx_decryption *decryption =
        kx_decrypt_begin(world->mem, &world->secret);
    assert_non_null(decryption);
    for (size_t at = 0; status == KX_OK && at < file.size; at += piece)
        status = kx_decrypt_add(decryption,
                                kx_slice(file.data + at, file.size - at < piece
                                                             ? file.size - at
                                                             : piece),
                                out, &fault);
    if (status == KX_OK)
        status = kx_decrypt_end(decryption, out, &fault);
    assert_int_equal(status == KX_OK, fault.detail[0] == '\0');
    talloc_free(decryption);
    return status;
}

TEST(encrypted_file_of_every_size_decrypts)
{
    static const size_t PIECES[] = {999, 65536, 1000000};
    struct world world = make_world();
    struct kx_buffer out;
    for (size_t i = 0; i < SIZE_COUNT; i++)
        for (size_t p = 0; p < 3; p++) {
            struct kx_buffer file = encrypt(&world, SIZES[i], PIECES[p]);
            size_t chunks = SIZES[i] == 0 ? 1
                                          : (SIZES[i] + KX_CHUNK_BYTES - 1) /
                                                KX_CHUNK_BYTES;
            assert_int_equal(file.size, START + SIZES[i] + 17 * chunks);
            assert_true(kx_is_encrypted(kx_buffer_slice(&file)));
            assert_int_equal(
                decrypt(&world, kx_buffer_slice(&file), PIECES[2 - p], &out),
                KX_OK);
            assert_true(kx_equal(kx_buffer_slice(&out),
                                 kx_slice(world.plain, SIZES[i])));
        }
    talloc_free(world.mem);
}

TEST(decryption_rejects_a_changed_byte)
{
    struct world world = make_world();
    struct kx_buffer out;
    struct kx_buffer file = encrypt(&world, KX_CHUNK_BYTES + 100, 65536);
    for (size_t at = 0; at < file.size; at += at < START + 20 ? 1 : 997) {
        file.data[at] ^= 0x40;
        assert_int_equal(decrypt(&world, kx_buffer_slice(&file), 65536, &out),
                         KX_BAD_ARCHIVE);
        assert_true(out.size == 0 || at >= START + SEALED);
        file.data[at] ^= 0x40;
    }
    assert_int_equal(decrypt(&world, kx_buffer_slice(&file), 65536, &out),
                     KX_OK);
    talloc_free(world.mem);
}

TEST(decryption_rejects_a_truncated_file)
{
    struct world world = make_world();
    struct kx_buffer out;
    struct kx_buffer file = encrypt(&world, 2 * KX_CHUNK_BYTES, 65536);
    assert_int_equal(file.size, START + 2 * SEALED);
    for (size_t size = 0; size < file.size;
         size += size < START + 40 || size > file.size - 40 ? 1 : 983)
        assert_int_equal(
            decrypt(&world, kx_slice(file.data, size), 65536, &out),
            KX_BAD_ARCHIVE);
    assert_int_equal(
        decrypt(&world, kx_slice(file.data, START + SEALED), 65536, &out),
        KX_BAD_ARCHIVE);
    talloc_free(world.mem);
}

TEST(decryption_rejects_reordered_chunks)
{
    struct world world = make_world();
    struct kx_buffer out;
    struct kx_buffer file = encrypt(&world, 3 * KX_CHUNK_BYTES, 65536);
    uint8_t *chunk = talloc_size(world.mem, SEALED);
    memcpy(chunk, file.data + START, SEALED);
    memmove(file.data + START, file.data + START + SEALED, SEALED);
    memcpy(file.data + START + SEALED, chunk, SEALED);
    assert_int_equal(decrypt(&world, kx_buffer_slice(&file), 65536, &out),
                     KX_BAD_ARCHIVE);
    assert_int_equal(out.size, 0);
    talloc_free(world.mem);
}

TEST(decryption_rejects_missing_or_added_chunks)
{
    struct world world = make_world();
    struct kx_buffer out, changed;
    struct kx_buffer file = encrypt(&world, 3 * KX_CHUNK_BYTES, 65536);
    kx_buffer_init(&changed, world.mem);
    kx_add(&changed, file.data, START + SEALED);
    kx_add(&changed, file.data + START + 2 * SEALED, SEALED);
    assert_int_equal(decrypt(&world, kx_buffer_slice(&changed), 65536, &out),
                     KX_BAD_ARCHIVE);
    kx_add(&file, file.data + START, SEALED);
    assert_int_equal(decrypt(&world, kx_buffer_slice(&file), 65536, &out),
                     KX_BAD_ARCHIVE);
    talloc_free(world.mem);
}

TEST(decryption_rejects_another_key)
{
    struct world world = make_world();
    struct kx_public_key other;
    struct kx_buffer out;
    struct kx_buffer file = encrypt(&world, 5, 5);
    assert_true(kx_keys_make(&world.secret, &other));
    assert_int_equal(decrypt(&world, kx_buffer_slice(&file), 5, &out),
                     KX_BAD_ARCHIVE);
    assert_int_equal(decrypt(&world, kx_slice(world.plain, 5000), 5, &out),
                     KX_BAD_ARCHIVE);
    talloc_free(world.mem);
}

TEST(encryption_keys_are_lines_of_text)
{
    struct world world = make_world();
    struct kx_secret_key secret;
    struct kx_public_key public;
    char text[KX_KEY_TEXT];
    kx_secret_key_write(&world.secret, text);
    assert_int_equal(strncmp(text, "kindex-secret-key-1 ", 20), 0);
    assert_int_equal(strlen(text), 20 + 43 + 1);
    assert_false(kx_public_key_read(kx_text(text), &public));
    assert_true(kx_secret_key_read(kx_text(text), &secret));
    assert_memory_equal(&secret, &world.secret, sizeof secret);
    kx_public_key_write(&world.public, text);
    assert_false(kx_secret_key_read(kx_text(text), &secret));
    assert_true(kx_public_key_read(kx_text(text), &public));
    assert_memory_equal(&public, &world.public, sizeof public);
    text[40] = '+';
    assert_false(kx_public_key_read(kx_text(text), &public));
    assert_false(kx_public_key_read(kx_slice(text, 50), &public));
    assert_false(kx_public_key_read(kx_text(""), &public));
    talloc_free(world.mem);
}

/* Decrypts a file with libsodium alone, by the format in kindex/encryption.h.
 */
TEST(encrypted_file_has_the_documented_format)
{
    struct world world = make_world();
    struct kx_buffer file = encrypt(&world, 100, 100);
    crypto_secretstream_xchacha20poly1305_state stream;
    uint8_t key[32], chunk[100];
    unsigned long long size = 0;
    unsigned char tag = 0;
    assert_memory_equal(file.data, "kindex-encrypted-1\n", 19);
    assert_int_equal(crypto_box_seal_open(key, file.data + 19, 80,
                                          world.public.bytes,
                                          world.secret.bytes),
                     0);
    assert_int_equal(crypto_secretstream_xchacha20poly1305_init_pull(
                         &stream, file.data + 99, key),
                     0);
    assert_int_equal(crypto_secretstream_xchacha20poly1305_pull(
                         &stream, chunk, &size, &tag, file.data + START,
                         file.size - START, NULL, 0),
                     0);
    assert_int_equal(size, 100);
    assert_int_equal(tag, crypto_secretstream_xchacha20poly1305_TAG_FINAL);
    assert_memory_equal(chunk, world.plain, 100);
    talloc_free(world.mem);
}
