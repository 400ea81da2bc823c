/* The addresses on which the server listens. Pure functions: any thread. */
#ifndef API_ADDRESS_H
#define API_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    ADDRESSES_MAX = 8,
    ADDRESSES_TEXT_MAX = 512, /* bytes of all addresses as given */
    ADDRESS_TEXT_MAX = 64,
    ADDRESS_URL_MAX = 80
};

struct address {
    struct sockaddr_storage socket;
    socklen_t socket_size;
    bool loopback; /* other machines cannot reach it */
    bool optional; /* skipped if the machine does not have it */
};

/* Zero-initialized, it is empty. */
struct addresses {
    struct address all[ADDRESSES_MAX];
    size_t count;
    char text[ADDRESSES_TEXT_MAX]; /* as they were given, with commas */
};

/* Appends the addresses in text, separated by commas. Each is HOST:PORT with a
 * numeric host (IPv6 in brackets), or localhost:PORT, :PORT or PORT, which mean
 * that port on both loopback addresses, each optional. False if one is not an
 * address, or there would be more than ADDRESSES_MAX. */
bool addresses_add(struct addresses *addresses, const char *text);

/* Returns the first address that other machines can reach, or NULL if all are
 * loopback addresses. */
const struct address *addresses_open(const struct addresses *addresses);

/* The port, in host byte order. */
uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);

/* Writes the address as addresses_add reads it, with its NUL; out has room for
 * ADDRESS_TEXT_MAX bytes. */
void address_print(const struct address *address, char *out);

/* Writes the URL by which a client on this machine reaches the address, with
 * its NUL; out has room for ADDRESS_URL_MAX bytes. */
void address_url(const struct address *address, const char *scheme, char *out);

#endif
