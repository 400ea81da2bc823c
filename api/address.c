/* From HOST:PORT to a socket address, and from that to the URL of a client. */
#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In network byte order, as sockaddr wants it. */
static bool parse_port(const char *text, uint16_t *port_out)
{
    char *end;
    if (!isdigit((unsigned char)*text) || strlen(text) > 5)
        return false;
    unsigned long port = strtoul(text, &end, 10);
    if (*end != '\0' || port > 65535)
        return false;
    *port_out = htons((uint16_t)port);
    return true;
}

static bool parse_ipv6(const char *host, uint16_t port,
                       struct address *address_out)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
    if (inet_pton(AF_INET6, host, &six.sin6_addr) != 1)
        return false;
    memcpy(&address_out->socket, &six, sizeof six);
    address_out->socket_size = sizeof six;
    address_out->loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    return true;
}

static bool parse_ipv4(const char *host, uint16_t port,
                       struct address *address_out)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
    if (inet_pton(AF_INET, host, &four.sin_addr) != 1)
        return false;
    memcpy(&address_out->socket, &four, sizeof four);
    address_out->socket_size = sizeof four;
    address_out->loopback = (ntohl(four.sin_addr.s_addr) >> 24) == 127;
    return true;
}

/* A name could stand for several addresses and would have to be looked up
 * before anything else works. */
bool address_parse(const char *text, struct address *address_out)
{
    char host[INET6_ADDRSTRLEN + 2];
    uint16_t port;
    const char *colon = strrchr(text, ':');
    address_out->text = text;
    if (colon == NULL || (size_t)(colon - text) >= sizeof host ||
        !parse_port(colon + 1, &port))
        return false;
    size_t size = (size_t)(colon - text);
    memcpy(host, text, size);
    host[size] = '\0';
    if (strcmp(host, "localhost") == 0)
        return parse_ipv4("127.0.0.1", port, address_out);
    if (host[0] != '[')
        return parse_ipv4(host, port, address_out);
    if (host[size - 1] != ']')
        return false;
    host[size - 1] = '\0';
    return parse_ipv6(host + 1, port, address_out);
}

uint16_t address_port(const struct address *address)
{
    const struct sockaddr_storage *any = &address->socket;
    return ntohs(any->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)any)->sin6_port
                     : ((const struct sockaddr_in *)any)->sin_port);
}

/* An address for all interfaces is none to go to: the loopback one is. */
void address_url(const struct address *address, const char *scheme, char *out)
{
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in6 *six = (const void *)&address->socket;
    const struct sockaddr_in *four = (const void *)&address->socket;
    unsigned port = address_port(address);
    if (address->socket.ss_family == AF_INET6) {
        bool any = IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
        inet_ntop(AF_INET6, any ? &in6addr_loopback : &six->sin6_addr, host,
                  sizeof host);
        snprintf(out, ADDRESS_URL_MAX, "%s://[%s]:%u", scheme, host, port);
        return;
    }
    struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
    bool any = four->sin_addr.s_addr == htonl(INADDR_ANY);
    inet_ntop(AF_INET, any ? &loopback : &four->sin_addr, host, sizeof host);
    snprintf(out, ADDRESS_URL_MAX, "%s://%s:%u", scheme, host, port);
}
