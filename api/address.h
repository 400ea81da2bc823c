/* Where the server listens. */
#ifndef API_ADDRESS_H
#define API_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_URL_MAX = 80 };

struct address {
    const char *text; /* as it was given */
    struct sockaddr_storage socket;
    socklen_t socket_size;
    bool loopback; /* no other machine reaches it */
};

/* Reads HOST:PORT, with a numeric host (that of IPv6 in brackets) or localhost;
 * keeps a pointer to text. False: it is none. */
bool address_parse(const char *text, struct address *address_out);

/* The port, in the order of this machine. */
uint16_t address_port(const struct address *address);

/* Writes the URL by which a client on this machine reaches it, with its NUL;
 * out has room for ADDRESS_URL_MAX bytes. */
void address_url(const struct address *address, const char *scheme, char *out);

#endif
