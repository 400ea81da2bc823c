/* The server's certificate with its key, and the authorities of client
 * certificates. They are read from files, and read again on request; open
 * connections keep the set with which they began. Any thread. */
#ifndef API_TLS_KEYS_H
#define API_TLS_KEYS_H

#include "config/options.h"

struct gnutls_session_int;
struct tls_keys;
struct tls_keyring;

/* Reads the files that options name (tls_cert, tls_key, tls_client_ca; options
 * must outlive the ring). NULL when they cannot be used: the reason is then in
 * why_out, which has `size` bytes. */
struct tls_keyring *tls_keyring_open(const struct options *options,
                                     char *why_out, size_t size);
/* Reads the files again. If they cannot be used the former keys stay. A log
 * line states the result. */
void tls_keyring_reload(struct tls_keyring *ring);
/* Frees the ring. Keys that were taken stay until they are dropped. NULL is
 * allowed. */
void tls_keyring_close(struct tls_keyring *ring);

/* Returns a reference to the current keys, to be dropped by the caller. */
struct tls_keys *tls_keys_take(struct tls_keyring *ring);
/* Makes a session use the keys, and ask for a client certificate if they say
 * so. False when memory ran out. The keys must outlive the session. */
bool tls_keys_use(const struct tls_keys *keys,
                  struct gnutls_session_int *session);
/* Drops a reference; the last one frees the keys. */
void tls_keys_drop(struct tls_keys *keys);

#endif
