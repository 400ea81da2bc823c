/* The holder changes several times a second at most, and is asked for only by
 * requests that a standby cannot answer. */
#include "http/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A variable of the process for itself, which no setting has. */
static const char FENCED[] = "_KINDEX_FENCED";

void role_init(struct role *role, bool shared, const char *name)
{
    const char *fenced = getenv(FENCED);
    *role = (struct role){.shared = shared};
    role->fenced = fenced != NULL ? strtoull(fenced, NULL, 10) : 0;
    pthread_mutex_init(&role->lock, NULL);
    if (name != NULL)
        snprintf(role->node, sizeof role->node, "%s", name);
    else if (gethostname(role->node, sizeof role->node) != 0)
        snprintf(role->node, sizeof role->node, "unnamed");
}

void role_pass_on_fenced(const struct role *role)
{
    char count[24];
    snprintf(count, sizeof count, "%llu", (unsigned long long)role->fenced + 1);
    setenv(FENCED, count, 1);
}

void role_see(struct role *role, const struct kx_holder *holder)
{
    pthread_mutex_lock(&role->lock);
    role->holder = *holder;
    role->seen_ns = kx_monotonic_ns();
    if (holder->alive)
        role->alive_ns = role->seen_ns;
    pthread_mutex_unlock(&role->lock);
}

bool role_holder(struct role *role, struct kx_holder *holder_out)
{
    pthread_mutex_lock(&role->lock);
    *holder_out = role->holder;
    uint64_t age_ns = kx_monotonic_ns() - role->seen_ns;
    pthread_mutex_unlock(&role->lock);
    return holder_out->alive && age_ns < (uint64_t)KX_LEASE_MS * KX_MS_NS;
}

bool role_saw_active(struct role *role, int ms)
{
    pthread_mutex_lock(&role->lock);
    uint64_t alive_ns = role->alive_ns;
    pthread_mutex_unlock(&role->lock);
    return alive_ns != 0 &&
           kx_monotonic_ns() - alive_ns < (uint64_t)ms * KX_MS_NS;
}
