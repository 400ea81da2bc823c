/* Sizes and header of an encrypted file (kindex/encryption.h). */
#ifndef STREAM_FORMAT_H
#define STREAM_FORMAT_H

#include <sodium.h>

#include "kindex.h"

#define STREAM_MAGIC "kindex-encrypted-1\n"

enum {
    STREAM_MAGIC_BYTES = KX_ENCRYPTED_START,
    STREAM_SEALED_BYTES =
        crypto_secretstream_xchacha20poly1305_KEYBYTES + crypto_box_SEALBYTES,
    STREAM_HEADER_BYTES = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    STREAM_START_BYTES =
        STREAM_MAGIC_BYTES + STREAM_SEALED_BYTES + STREAM_HEADER_BYTES,
    STREAM_CHUNK_BYTES =
        KX_CHUNK_BYTES + crypto_secretstream_xchacha20poly1305_ABYTES
};

_Static_assert(sizeof STREAM_MAGIC - 1 == STREAM_MAGIC_BYTES,
               "the declared size is that of the text");
_Static_assert(KX_KEY_BYTES == crypto_box_PUBLICKEYBYTES &&
                   KX_KEY_BYTES == crypto_box_SECRETKEYBYTES,
               "keys have the library's sizes");
_Static_assert(STREAM_SEALED_BYTES == 80 && STREAM_HEADER_BYTES == 24,
               "the format's sizes are the library's");

#endif
