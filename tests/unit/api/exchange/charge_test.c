/* Connections by address: how many one may have, and what is one address. */
#include "unit.h"

#include "exchange/charge.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>

static struct sockaddr_storage at(const char *text)
{
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    struct sockaddr_in *four = (void *)&peer;
    struct sockaddr_in6 *six = (void *)&peer;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
        return peer;
    peer.ss_family = AF_INET6;
    assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
    return peer;
}

static struct tenant *enter(struct tenants *limit, const char *text)
{
    struct sockaddr_storage peer = at(text);
    return tenant_connect(limit, &peer);
}

TEST(address_has_at_most_its_connections)
{
    struct tenants *limit = tenants_open(2, 1);
    struct tenant *first = enter(limit, "192.0.2.1");
    struct tenant *second = enter(limit, "192.0.2.1");
    assert_non_null(first);
    assert_ptr_equal(first, second);
    assert_null(enter(limit, "192.0.2.1"));
    struct tenant *other = enter(limit, "192.0.2.2");
    assert_non_null(other);
    tenant_disconnect(limit, first);
    assert_ptr_equal(enter(limit, "192.0.2.1"), second);
    assert_null(enter(limit, "192.0.2.1"));
    tenant_disconnect(limit, second);
    tenant_disconnect(limit, second);
    tenant_disconnect(limit, other);
    tenant_disconnect(limit, NULL);
    tenants_close(limit);
}

/* The two are one address for us, or not. */
static void are(const char *one, const char *two, bool same)
{
    struct tenants *limit = tenants_open(1, 1);
    struct tenant *first = enter(limit, one);
    struct tenant *second = enter(limit, two);
    assert_non_null(first);
    assert_int_equal(second == NULL, same);
    tenant_disconnect(limit, first);
    tenant_disconnect(limit, second);
    tenants_close(limit);
}

TEST(ipv6_addresses_are_charged_by_their_first_64_bits)
{
    are("2001:db8::1", "2001:db8::ffff:2", true);
    are("2001:db8::1", "2001:db8:0:1::1", false);
    are("::1", "::1", true);
    are("::1", "2001:db8::1", false);
}

TEST(ipv4_mapped_address_is_charged_as_ipv4)
{
    are("::ffff:192.0.2.1", "192.0.2.1", true);
    are("::ffff:192.0.2.1", "::ffff:192.0.2.2", false);
    are("192.0.2.1", "192.0.2.2", false);
}

TEST(tenants_of_many_addresses_are_found_and_freed)
{
    struct tenants *limit = tenants_open(3, 1);
    struct tenant *all[3000];
    char text[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "10.0.%d.%d", i / 3 / 250, i / 3 % 250);
        all[i] = enter(limit, text);
        assert_non_null(all[i]);
    }
    assert_null(enter(limit, "10.0.0.0"));
    for (int i = 0; i < 3000; i++)
        tenant_disconnect(limit, all[i]);
    struct tenant *again = enter(limit, "10.0.0.0");
    assert_non_null(again);
    tenant_disconnect(limit, again);
    tenants_close(limit);
}
