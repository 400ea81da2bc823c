/* A hash table of addresses and tokens. Its chains are short: each entry is
 * referred to by at least one connection or request. */
#include "exchange/address_limit.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { CHAINS = 4096 };

LIST_HEAD(chain, client_usage);

struct address_limit {
    uint64_t share;
    size_t loops;
    pthread_mutex_t lock; /* guards what follows */
    struct chain chains[CHAINS];
};

struct address_limit *address_limit_open(uint64_t share, size_t loops)
{
    struct address_limit *limit = talloc_zero(NULL, struct address_limit);
    if (limit == NULL || pthread_mutex_init(&limit->lock, NULL) != 0) {
        talloc_free(limit);
        return NULL;
    }
    limit->share = share;
    limit->loops = loops;
    return limit;
}

void address_limit_close(struct address_limit *limit)
{
    if (limit == NULL)
        return;
    pthread_mutex_destroy(&limit->lock);
    talloc_free(limit);
}

/* The number under which an address is counted: IPv4 by all its 32 bits, IPv6
 * by its first 64 bits. These are zero for the loopback and for IPv4-mapped
 * addresses, which therefore count by their last 32 bits. */
static uint64_t address_of(const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *four = (const void *)peer;
    const struct sockaddr_in6 *six = (const void *)peer;
    uint64_t address = 0;
    uint32_t last;
    if (peer->ss_family == AF_INET)
        return four->sin_addr.s_addr;
    memcpy(&address, &six->sin6_addr, sizeof address);
    memcpy(&last, six->sin6_addr.s6_addr + 12, sizeof last);
    return address != 0 ? address : last;
}

static struct chain *chain_of(struct address_limit *limit, uint64_t name)
{
    uint64_t hash = name * UINT64_C(0x9e3779b97f4a7c15);
    return &limit->chains[hash >> 52];
}

/* Under the lock: returns the entry with this name, and inserts it if it is
 * missing. The caller adds a reference or calls drop(). NULL when memory ran
 * out. */
static struct client_usage *find(struct address_limit *limit, uint64_t name,
                                 bool by_token)
{
    struct chain *chain = chain_of(limit, name);
    struct client_usage *client;
    LIST_FOREACH(client, chain, chain)
        if (client->name == name && client->by_token == by_token)
            return client;
    client = talloc_zero_size(limit, sizeof *client +
                                         limit->loops * sizeof *client->turns);
    if (client == NULL)
        return NULL;
    client->name = name;
    client->by_token = by_token;
    LIST_INSERT_HEAD(chain, client, chain);
    return client;
}

/* Under the lock: frees the entry if it has no references. */
static void drop(struct client_usage *client)
{
    if (atomic_load(&client->references) > 0)
        return;
    LIST_REMOVE(client, chain);
    talloc_free(client);
}

struct client_usage *address_limit_enter(struct address_limit *limit,
                                         const struct sockaddr_storage *peer)
{
    pthread_mutex_lock(&limit->lock);
    struct client_usage *client = find(limit, address_of(peer), false);
    if (client != NULL && client->connections >= limit->share) {
        drop(client);
        client = NULL;
    }
    if (client != NULL) {
        client->connections++;
        address_limit_keep(client);
    }
    pthread_mutex_unlock(&limit->lock);
    return client;
}

void address_limit_leave(struct address_limit *limit,
                         struct client_usage *client)
{
    if (client == NULL)
        return;
    pthread_mutex_lock(&limit->lock);
    client->connections--;
    atomic_fetch_sub(&client->references, 1);
    drop(client);
    pthread_mutex_unlock(&limit->lock);
}

struct client_usage *address_limit_with_token(struct address_limit *limit,
                                              const char *id)
{
    pthread_mutex_lock(&limit->lock);
    struct client_usage *client = find(limit, strtoull(id, NULL, 16), true);
    if (client != NULL)
        address_limit_keep(client);
    pthread_mutex_unlock(&limit->lock);
    return client;
}

void address_limit_keep(struct client_usage *client)
{
    atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
}

/* The last reference is dropped under the lock, because until then find() can
 * return the entry to another thread. */
void address_limit_release(struct address_limit *limit,
                           struct client_usage *client)
{
    uint_fast64_t references = atomic_load(&client->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&client->references, &references,
                                         references - 1))
            return;
    pthread_mutex_lock(&limit->lock);
    atomic_fetch_sub(&client->references, 1);
    drop(client);
    pthread_mutex_unlock(&limit->lock);
}
