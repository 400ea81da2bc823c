/* The server's certificate and key, and the authorities of client certificates,
 * read from files and reloaded on request. An open connection keeps the set
 * with which it began. Any thread. */
#ifndef API_TLS_KEYS_H
#define API_TLS_KEYS_H

#include "config/options.h"

struct gnutls_session_int;
struct tls_keys;
struct tls_keyring;

/* Reads the files that options name (tls_cert, tls_key, tls_client_ca); options
 * must outlive the ring. If they cannot be used, returns NULL and writes the
 * reason to why_out (`size` bytes). */
struct tls_keyring *tls_keyring_open(const struct options *options,
                                     char *why_out, size_t size);
/* Reads the files again and logs the result. If they cannot be used, the
 * previous keys stay. */
void tls_keyring_reload(struct tls_keyring *ring);
/* Frees the ring. Keys that tls_keys_take returned stay until they are dropped.
 * NULL is allowed. */
void tls_keyring_close(struct tls_keyring *ring);

/* Returns a reference to the current keys, to be dropped by the caller. */
struct tls_keys *tls_keys_take(struct tls_keyring *ring);
/* Makes a session use the keys, and require a client certificate if the keys
 * have client authorities. False if memory ran out. The keys must outlive the
 * session. */
bool tls_keys_use(const struct tls_keys *keys,
                  struct gnutls_session_int *session);
/* Drops a reference; the last one frees the keys. */
void tls_keys_drop(struct tls_keys *keys);

#endif
