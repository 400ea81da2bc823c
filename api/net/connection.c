/* Counts connections against two limits: of the server and of one address. */
#include "net/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum connection_verdict connection_begin(struct service *service,
                                         struct connection *connection)
{
    struct counters *counters = &service->counters;
    enum connection_verdict verdict = CONNECTION_SHARE_USED;
    connection->service = service;
    atomic_fetch_add(&counters->connections_accepted, 1);
    if ((uint64_t)atomic_fetch_add(&counters->connections, 1) >=
        service->options->connections_max)
        verdict = CONNECTION_SERVER_FULL;
    else if ((connection->client =
                  tenant_connect(service->tenants, &connection->peer)) != NULL)
        return CONNECTION_ACCEPTED;
    atomic_fetch_sub(&counters->connections, 1);
    atomic_fetch_add(&counters->connections_refused, 1);
    return verdict;
}

void connection_end(struct service *service, struct connection *connection)
{
    tls_close(connection->tls);
    tenant_disconnect(service->tenants, connection->client);
    connection->tls = NULL;
    connection->client = NULL;
    atomic_fetch_sub(&service->counters.connections, 1);
}

void connection_close(struct service *service, struct connection *connection)
{
    connection_end(service, connection);
    close(connection->fd);
}

/* TCP_QUICKACK is not permanent: the kernel returns to delayed acknowledgements
 * after the server has sent something, so the option is set each time. */
void connection_acknowledge(const struct connection *connection)
{
    const int on = 1;
    int error = errno;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    errno = error;
}
