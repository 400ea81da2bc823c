/* The places that connections take up: in all, and by address. */
#include "net/visit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum visit_verdict visit_begin(struct service *service, struct visit *visit)
{
    struct counters *counters = &service->counters;
    enum visit_verdict verdict = VISIT_SHARE_USED;
    visit->service = service;
    atomic_fetch_add(&counters->connections_accepted, 1);
    if ((uint64_t)atomic_fetch_add(&counters->connections, 1) >=
        service->options->connections_max)
        verdict = VISIT_HOUSE_FULL;
    else if ((visit->guest = guests_enter(service->guests, &visit->peer)) !=
             NULL)
        return VISIT_WELCOME;
    atomic_fetch_sub(&counters->connections, 1);
    atomic_fetch_add(&counters->connections_refused, 1);
    return verdict;
}

void visit_end(struct service *service, struct visit *visit)
{
    tls_close(visit->tls);
    guests_leave(service->guests, visit->guest);
    visit->tls = NULL;
    visit->guest = NULL;
    atomic_fetch_sub(&service->counters.connections, 1);
}

void visit_close(struct service *service, struct visit *visit)
{
    visit_end(service, visit);
    close(visit->fd);
}

/* The option holds until the kernel next thinks that answers will carry the
 * acknowledgements, which is after every answer. */
void visit_acknowledge(const struct visit *visit)
{
    const int on = 1;
    int error = errno;
    setsockopt(visit->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    errno = error;
}
