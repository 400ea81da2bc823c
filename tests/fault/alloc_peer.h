/* The client's side of a connection, plain or with TLS, for alloc_client.c: it
 * is read into one buffer as it comes. One at a time. */
#ifndef ALLOC_PEER_H
#define ALLOC_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on connections have TLS; any client with the certificate is trusted.
 */
void peer_use_tls(void);

/* Connects to 127.0.0.1:port. False when the server ends the handshake. */
bool peer_open(uint16_t port, bool http2);
void peer_close(void);

/* Sends all of it; false when the connection has ended. */
bool peer_say(const void *bytes, size_t size);

/* Waits for more; false at the end, or, with *late_out, when nothing comes. */
bool peer_hear(bool *late_out);

/* What has come, with a NUL after it. */
const char *peer_heard(size_t *size_out);

#endif
