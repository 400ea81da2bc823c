/* Converts texts to socket addresses, and socket addresses to texts and to URLs
 * for clients. */
#include "config/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------ */

static bool parse_port(const char *text, uint16_t *port_out)
{
    char *end;
    if (!isdigit((unsigned char)*text) || strlen(text) > 5)
        return false;
    unsigned long port = strtoul(text, &end, 10);
    if (*end != '\0' || port > 65535)
        return false;
    *port_out = (uint16_t)port;
    return true;
}

static bool parse_ipv6(const char *host, struct address *address_out)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET6, host, &six.sin6_addr) != 1)
        return false;
    memcpy(&address_out->socket, &six, sizeof six);
    address_out->socket_size = sizeof six;
    address_out->loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    return true;
}

static bool parse_ipv4(const char *host, struct address *address_out)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, host, &four.sin_addr) != 1)
        return false;
    memcpy(&address_out->socket, &four, sizeof four);
    address_out->socket_size = sizeof four;
    address_out->loopback = (ntohl(four.sin_addr.s_addr) >> 24) == 127;
    return true;
}

/* Replaces the closing bracket of an IPv6 host by a NUL. */
static bool parse_host(char *host, struct address *address_out)
{
    size_t size = strlen(host);
    if (host[0] != '[')
        return parse_ipv4(host, address_out);
    if (host[size - 1] != ']')
        return false;
    host[size - 1] = '\0';
    return parse_ipv6(host + 1, address_out);
}

/* False if there are ADDRESSES_MAX addresses already. */
static bool append(struct addresses *addresses, const struct address *address,
                   uint16_t port)
{
    if (addresses->count == ADDRESSES_MAX)
        return false;
    struct address *place = &addresses->all[addresses->count++];
    *place = *address;
    address_set_port(place, port);
    return true;
}

static bool add_loopbacks(struct addresses *addresses, uint16_t port)
{
    struct address four = {.optional = true}, six = {.optional = true};
    return parse_ipv4("127.0.0.1", &four) && parse_ipv6("::1", &six) &&
           append(addresses, &four, port) && append(addresses, &six, port);
}

/* localhost is the only name allowed: another name could mean several
 * addresses, and the server could not start before a name server has answered.
 */
static bool add(struct addresses *addresses, char *text)
{
    struct address address = {.optional = false};
    uint16_t port;
    char *colon = strrchr(text, ':');
    if (!parse_port(colon != NULL ? colon + 1 : text, &port))
        return false;
    if (colon == NULL || colon == text)
        return add_loopbacks(addresses, port);
    *colon = '\0';
    if (strcmp(text, "localhost") == 0)
        return add_loopbacks(addresses, port);
    return parse_host(text, &address) && append(addresses, &address, port);
}

/* Appends to the text of all addresses; false if the text gets too long. */
static bool note_text(struct addresses *addresses, const char *text)
{
    size_t used = strlen(addresses->text);
    int size = snprintf(addresses->text + used, sizeof addresses->text - used,
                        "%s%s", used > 0 ? "," : "", text);
    return used + (size_t)size < sizeof addresses->text;
}

bool addresses_add(struct addresses *addresses, const char *text)
{
    if (!note_text(addresses, text))
        return false;
    for (;;) {
        char item[ADDRESS_TEXT_MAX];
        text += strspn(text, " ");
        size_t size = strcspn(text, " ,");
        if (size >= sizeof item)
            return false;
        memcpy(item, text, size);
        item[size] = '\0';
        if (!add(addresses, item))
            return false;
        text += size;
        text += strspn(text, " ");
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}

const struct address *addresses_open(const struct addresses *addresses)
{
    for (size_t i = 0; i < addresses->count; i++)
        if (!addresses->all[i].loopback)
            return &addresses->all[i];
    return NULL;
}

/* ---- Ports -------------------------------------------------------------- */

uint16_t address_port(const struct address *address)
{
    const struct sockaddr_storage *any = &address->socket;
    return ntohs(any->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)any)->sin6_port
                     : ((const struct sockaddr_in *)any)->sin_port);
}

void address_set_port(struct address *address, uint16_t port)
{
    struct sockaddr_storage *any = &address->socket;
    if (any->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)any)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)any)->sin_port = htons(port);
}

/* ---- Writing ------------------------------------------------------------ */

static void print(const struct sockaddr_storage *any, unsigned port,
                  const char *scheme, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in6 *six = (const void *)any;
    const struct sockaddr_in *four = (const void *)any;
    bool is_six = any->ss_family == AF_INET6;
    inet_ntop(any->ss_family,
              is_six ? (const void *)&six->sin6_addr : &four->sin_addr, host,
              sizeof host);
    snprintf(out, size, is_six ? "%s[%s]:%u" : "%s%s:%u", scheme, host, port);
}

void address_print(const struct address *address, char *out)
{
    print(&address->socket, address_port(address), "", out, ADDRESS_TEXT_MAX);
}

/* Clients cannot connect to a wildcard address: the URL has the loopback
 * address instead. */
void address_url(const struct address *address, const char *scheme, char *out)
{
    struct sockaddr_storage reached = address->socket;
    struct sockaddr_in6 *six = (void *)&reached;
    struct sockaddr_in *four = (void *)&reached;
    char begin[16];
    snprintf(begin, sizeof begin, "%s://", scheme);
    if (reached.ss_family == AF_INET6 &&
        IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
        six->sin6_addr = in6addr_loopback;
    if (reached.ss_family == AF_INET && four->sin_addr.s_addr == INADDR_ANY)
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    print(&reached, address_port(address), begin, out, ADDRESS_URL_MAX);
}
