/* Binding all addresses for all loops, or none. Where a free port is asked for
 * the kernel chooses it for the first address; when another process has it on
 * another address, all are given up and another one is chosen. */
#include "server/listen_sockets.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kindex.h"

enum {
    BACKLOG = 1024,
    PORT_TRIES = 32 /* free ports that may be taken on another address */
};

void socket_set_close(const struct socket_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        close(set->fds[i]);
}

void listen_sockets_close(struct listen_sockets *sockets)
{
    for (size_t i = 0; i < LOOPS_MAX; i++)
        socket_set_close(&sockets->sets[i]);
    *sockets = (struct listen_sockets){.bound.count = 0};
}

struct socket_set listen_sockets_take(struct listen_sockets *sockets,
                                      size_t loop)
{
    struct socket_set set = sockets->sets[loop];
    sockets->sets[loop].count = 0;
    return set;
}

/* SO_REUSEPORT lets every loop have a socket of its own for the same port; the
 * kernel spreads new connections over them. Returns the descriptor or -1 with
 * errno. */
static int bind_one(const struct address *address, bool shared)
{
    const int on = 1;
    int fd = socket(address->socket.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        (!shared ||
         setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0) &&
        bind(fd, (const struct sockaddr *)&address->socket,
             address->socket_size) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* One socket for each loop; the first one determines the port. */
static bool bind_for_loops(struct listen_sockets *sockets,
                           struct address *address, size_t loops)
{
    for (size_t i = 0; i < loops; i++) {
        struct socket_set *set = &sockets->sets[i];
        int fd = bind_one(address, loops > 1);
        if (fd < 0)
            return false;
        set->fds[set->count++] = fd;
        socklen_t size = sizeof address->socket;
        getsockname(fd, (struct sockaddr *)&address->socket, &size);
    }
    sockets->bound.all[sockets->bound.count++] = *address;
    return true;
}

static bool is_left_out(const struct address *address)
{
    char text[ADDRESS_TEXT_MAX];
    int error = errno;
    if (!address->optional || (error != EADDRNOTAVAIL && error != EAFNOSUPPORT))
        return false;
    address_print(address, text);
    kx_log(KX_LOG_DEBUG, "address-left-out", "address=%s error=\"%s\"", text,
           strerror(error));
    errno = error;
    return true;
}

/* *free_port is what an address with port 0 gets; 0: the kernel chooses, and it
 * is set. False: address_out could not be bound. */
static bool bind_all(struct listen_sockets *sockets,
                     const struct addresses *wanted, size_t loops,
                     uint16_t *free_port, struct address *address_out)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct address *address = address_out;
        *address = wanted->all[i];
        bool chosen = address_port(address) == 0;
        if (chosen)
            address_set_port(address, *free_port);
        if (bind_for_loops(sockets, address, loops)) {
            if (chosen)
                *free_port = address_port(address);
        } else if (!is_left_out(address))
            return false;
    }
    return sockets->bound.count > 0;
}

bool listen_sockets_open(struct listen_sockets *sockets,
                         const struct addresses *wanted, size_t loops,
                         char *where_out)
{
    struct address address;
    for (int i = 0; i < PORT_TRIES; i++) {
        uint16_t free_port = 0;
        if (bind_all(sockets, wanted, loops, &free_port, &address))
            return true;
        int error = errno;
        listen_sockets_close(sockets);
        errno = error;
        if (error != EADDRINUSE || free_port == 0 ||
            address_port(&address) != free_port)
            break;
    }
    address_print(&address, where_out);
    return false;
}
