/* What a server shows to prove who it is, and by what it knows its clients: a
 * certificate with its key, and the authorities of client certificates. They
 * are read from files, and read again when the server is told to: connections
 * keep those with which they began. Any thread may call any of it. */
#ifndef API_TLS_KEYS_H
#define API_TLS_KEYS_H

#include "config/options.h"

struct gnutls_session_int;
struct tls_keys;
struct tls_keyring;

/* Reads the files that options name (tls_cert, tls_key, tls_client_ca; options
 * must outlive the ring). NULL when they cannot be used: *why_out then has
 * `size` bytes that say so. */
struct tls_keyring *tls_keyring_open(const struct options *options,
                                     char *why_out, size_t size);
/* Reads the files again. When they cannot be used the former keys stay; either
 * way a line in the log says what happened. */
void tls_keyring_reload(struct tls_keyring *ring);
/* Frees the ring; keys that were taken stay until they are dropped. NULL is
 * allowed. */
void tls_keyring_close(struct tls_keyring *ring);

/* The keys of now, to be dropped by the caller. */
struct tls_keys *tls_keys_take(struct tls_keyring *ring);
/* Makes a session use them, and say what they ask of clients; false when memory
 * ran out. They must outlive the session. */
bool tls_keys_use(const struct tls_keys *keys,
                  struct gnutls_session_int *session);
/* Whoever took them needs them no longer. */
void tls_keys_drop(struct tls_keys *keys);

#endif
