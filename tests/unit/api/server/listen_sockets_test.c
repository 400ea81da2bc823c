/* The sockets of several addresses: which are left out, and how they come to
 * one port. bind() is called here instead of the system's. */
#include "unit.h"

#include "server/listen_sockets.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Number of next calls of bind for a certain port that fail. */
static int taken;

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
    struct address given = {.socket_size = size};
    memcpy(&given.socket, address, size);
    if (address_port(&given) != 0 && taken > 0) {
        taken--;
        errno = EADDRINUSE;
        return -1;
    }
    return (int)syscall(SYS_bind, fd, address, size);
}

static struct listen_sockets sockets;
static char where[ADDRESS_TEXT_MAX];

static struct addresses of(const char *text)
{
    struct addresses addresses = {.count = 0};
    assert_true(addresses_add(&addresses, text));
    return addresses;
}

static bool opens(const struct addresses *wanted, size_t loops)
{
    sockets = (struct listen_sockets){.bound.count = 0};
    return listen_sockets_open(&sockets, wanted, loops, where);
}

static uint16_t port_of(int fd)
{
    struct address address;
    socklen_t size = sizeof address.socket;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address.socket, &size),
                     0);
    return address_port(&address);
}

/* Fails unless each loop has a socket for each address, all on one port. */
static void has(size_t loops, size_t addresses)
{
    uint16_t port = address_port(&sockets.bound.all[0]);
    assert_int_equal(sockets.bound.count, addresses);
    assert_int_not_equal(port, 0);
    for (size_t i = 0; i < LOOPS_MAX; i++) {
        const struct socket_set *set = &sockets.sets[i];
        assert_int_equal(set->count, i < loops ? addresses : 0);
        for (size_t j = 0; j < set->count; j++)
            assert_int_equal(port_of(set->fds[j]), port);
    }
}

TEST(port_0_opens_one_free_port_at_every_address)
{
    struct addresses two = of("127.0.0.1:0,127.0.0.2:0");
    assert_true(opens(&two, 1));
    has(1, 2);
    listen_sockets_close(&sockets);
    assert_true(opens(&two, 3));
    has(3, 2);
    listen_sockets_close(&sockets);
}

TEST(port_0_chooses_another_when_one_is_taken)
{
    struct addresses two = of("127.0.0.1:0,127.0.0.2:0");
    taken = 3;
    assert_true(opens(&two, 1));
    assert_int_equal(taken, 0);
    has(1, 2);
    listen_sockets_close(&sockets);
    taken = INT_MAX;
    assert_false(opens(&two, 1));
    assert_int_equal(errno, EADDRINUSE);
    assert_memory_equal(where, "127.0.0.2:", strlen("127.0.0.2:"));
    assert_in_range(taken, INT_MAX - 1000, INT_MAX - 1);
    taken = 0;
}

TEST(requested_port_is_tried_once)
{
    struct addresses two = of("127.0.0.1:0,127.0.0.2:1");
    taken = 1;
    assert_false(opens(&two, 1));
    assert_int_equal(errno, EADDRINUSE);
    assert_string_equal(where, "127.0.0.2:1");
    assert_int_equal(taken, 0);
    assert_int_equal(sockets.sets[0].count, 0);
}

/* TEST-NET-1 (RFC 5737) belongs to no machine. */
TEST(optional_address_that_the_machine_lacks_is_left_out)
{
    struct addresses some = of("192.0.2.1:0,127.0.0.1:0");
    assert_false(opens(&some, 1));
    assert_int_equal(errno, EADDRNOTAVAIL);
    assert_string_equal(where, "192.0.2.1:0");
    some.all[0].optional = true;
    assert_true(opens(&some, 1));
    has(1, 1);
    listen_sockets_close(&sockets);
    some.count = 1;
    assert_false(opens(&some, 1));
    assert_int_equal(errno, EADDRNOTAVAIL);
}

TEST(listen_sockets_gives_sockets_of_a_loop_away)
{
    struct addresses two = of("127.0.0.1:0,127.0.0.2:0");
    assert_true(opens(&two, 2));
    struct socket_set set = listen_sockets_take(&sockets, 1);
    assert_int_equal(set.count, 2);
    assert_int_equal(sockets.sets[1].count, 0);
    listen_sockets_close(&sockets);
    assert_int_not_equal(port_of(set.fds[0]), 0);
    socket_set_close(&set);
    assert_int_equal(close(set.fds[1]), -1);
}
