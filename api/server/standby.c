/* A lease that is not renewed belongs to a process that has just ended, perhaps
 * to this one before its start: a start waits for its end, so that clients find
 * an active node. */
#include "server/standby.h"

#include <stdio.h>
#include <unistd.h>

static void log_failure(const struct service *service,
                        const struct kx_fault *fault)
{
    const char *engine = service->options->engine;
    fprintf(stderr, "kindex: cannot open %s: %s\n",
            engine != NULL ? engine : service->options->data,
            fault->detail[0] != '\0' ? fault->detail
                                     : kx_status_title(fault->status));
}

/* Logs what has changed. */
static void see(struct standby *standby, const struct kx_holder *holder)
{
    struct role *role = &standby->service->role;
    struct kx_holder before;
    bool known = role_holder(role, &before);
    if (holder->alive && (!known || before.epoch != holder->epoch))
        kx_log(KX_LOG_INFO, "standby", "active=%s epoch=%llu url=%s",
               holder->node, (unsigned long long)holder->epoch,
               holder->address);
    if (holder->lost && !before.lost)
        kx_log(KX_LOG_ERROR, "lost",
               "detail=\"the database lacks commits that were acknowledged; no "
               "node becomes active before kindex cluster accept-loss\"");
    role_see(role, holder);
    standby->away = false;
}

static void become_active(struct standby *standby,
                          const struct kx_holder *holder)
{
    struct service *service = standby->service;
    role_see(&service->role, holder);
    service->store = standby->store;
    standby->store = NULL;
    atomic_fetch_add(&service->role.takes, 1);
    kx_log(KX_LOG_INFO, "active", "node=%s epoch=%llu", service->role.node,
           (unsigned long long)holder->epoch);
}

enum standby_state standby_look(struct standby *standby)
{
    struct kx_fault fault = {.status = KX_OK};
    struct kx_holder holder;
    enum kx_status status = kx_take(standby->store, &holder, &fault);
    if (status == KX_OK) {
        become_active(standby, &holder);
        return STANDBY_ACTIVE;
    }
    if (status == KX_IN_USE) {
        see(standby, &holder);
        return STANDBY_WAITS;
    }
    if (status == KX_END)
        return STANDBY_PROMOTED;
    if (status != KX_UNREACHABLE) {
        fault.status = status;
        log_failure(standby->service, &fault);
        return STANDBY_FAILED;
    }
    if (!standby->away)
        kx_log(KX_LOG_WARNING, "standby", "detail=\"%s\"", fault.detail);
    standby->away = true;
    return STANDBY_WAITS;
}

enum standby_state standby_begin(struct standby *standby,
                                 struct service *service,
                                 const struct kx_options *options)
{
    struct kx_fault fault = {.status = KX_OK};
    struct kx_holder holder;
    uint64_t until_ns =
        kx_monotonic_ns() + (uint64_t)(2 * KX_LEASE_MS) * KX_MS_NS;
    standby->service = service;
    fault.status = kx_join(options, &standby->store, &fault);
    if (fault.status != KX_OK) {
        log_failure(service, &fault);
        return STANDBY_FAILED;
    }
    service->follower_store = standby->store;
    enum standby_state state;
    while ((state = standby_look(standby)) == STANDBY_WAITS &&
           !role_holder(&service->role, &holder) &&
           kx_monotonic_ns() < until_ns)
        usleep(STANDBY_LOOK_MS * 1000);
    return state;
}

bool standby_steps_down(struct service *service)
{
    bool wanted = atomic_load(&service->stepping_down);
    if (wanted)
        kx_step_down(service->store);
    return wanted;
}

void standby_end(struct standby *standby)
{
    kx_close(standby->store);
    standby->store = NULL;
}
