/* HTTP/1.1 when a call of the system fails. */
#include "unit.h"

#include "exchange/run_queue.h"
#include "http1/http1.h"
#include "http1/mhd_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

/* epoll rejects the descriptor, as it does when the system lacks memory; the
 * library notices after it has accepted the connection. */
TEST(connection_that_epoll_rejects_is_not_counted)
{
    static const struct options options = {.connections_max = 2,
                                           .headers_max = 16384,
                                           .header_count_max = 100,
                                           .idle_timeout_ms = 60000};
    static const struct mhd_socket_limits limits = {.header_timeout_ms = 60000,
                                                    .body_timeout_ms = 60000};
    struct service service = {.options = &options,
                              .tenants = tenants_open(1, 1)};
    struct run_queue queue = {.service = &service};
    struct http1 *http1 = http1_open(&queue, NULL);
    assert_non_null(service.tenants);
    assert_non_null(http1);
    assert_true(mhd_socket_start(&limits));
    for (int i = 0; i < 3; i++) {
        struct connection connection = {.fd = open("/dev/null", O_RDONLY),
                                        .peer.ss_family = AF_INET,
                                        .peer_size =
                                            sizeof(struct sockaddr_in)};
        assert_int_equal(connection_begin(&service, &connection),
                         CONNECTION_ACCEPTED);
        assert_int_equal(service.counters.connections, 1);
        http1_add(http1, &connection);
        assert_int_equal(service.counters.connections, 0);
        assert_int_equal(fcntl(connection.fd, F_GETFD), -1);
    }
    http1_close(http1);
    mhd_socket_stop();
    tenants_close(service.tenants);
}
