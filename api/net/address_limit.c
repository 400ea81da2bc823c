/* A hash table of addresses and tokens. Its chains are short: each entry is
 * referred to by at least one connection or request. */
#include "net/address_limit.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { CHAINS = 4096 };

LIST_HEAD(chain, guest);

struct address_limit {
    uint64_t share;
    pthread_mutex_t lock; /* guards what follows */
    struct chain chains[CHAINS];
};

struct address_limit *address_limit_open(uint64_t share)
{
    struct address_limit *guests = talloc_zero(NULL, struct address_limit);
    if (guests == NULL || pthread_mutex_init(&guests->lock, NULL) != 0) {
        talloc_free(guests);
        return NULL;
    }
    guests->share = share;
    return guests;
}

void address_limit_close(struct address_limit *guests)
{
    if (guests == NULL)
        return;
    pthread_mutex_destroy(&guests->lock);
    talloc_free(guests);
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

static struct chain *chain_of(struct address_limit *guests, uint64_t name)
{
    uint64_t hash = name * UINT64_C(0x9e3779b97f4a7c15);
    return &guests->chains[hash >> 52];
}

/* Under the lock: returns the entry with this name, and inserts it if it is
 * missing. The caller adds a reference or calls drop(). NULL when memory ran
 * out. */
static struct guest *find(struct address_limit *guests, uint64_t name,
                          bool by_token)
{
    struct chain *chain = chain_of(guests, name);
    struct guest *guest;
    LIST_FOREACH(guest, chain, chain)
        if (guest->name == name && guest->by_token == by_token)
            return guest;
    guest = talloc_zero(guests, struct guest);
    if (guest == NULL)
        return NULL;
    guest->name = name;
    guest->by_token = by_token;
    LIST_INSERT_HEAD(chain, guest, chain);
    return guest;
}

/* Under the lock: frees the entry if it has no references. */
static void drop(struct guest *guest)
{
    if (atomic_load(&guest->references) > 0)
        return;
    LIST_REMOVE(guest, chain);
    talloc_free(guest);
}

struct guest *address_limit_enter(struct address_limit *guests,
                                  const struct sockaddr_storage *peer)
{
    pthread_mutex_lock(&guests->lock);
    struct guest *guest = find(guests, address_of(peer), false);
    if (guest != NULL && guest->connections >= guests->share) {
        drop(guest);
        guest = NULL;
    }
    if (guest != NULL) {
        guest->connections++;
        address_limit_keep(guest);
    }
    pthread_mutex_unlock(&guests->lock);
    return guest;
}

void address_limit_leave(struct address_limit *guests, struct guest *guest)
{
    if (guest == NULL)
        return;
    pthread_mutex_lock(&guests->lock);
    guest->connections--;
    atomic_fetch_sub(&guest->references, 1);
    drop(guest);
    pthread_mutex_unlock(&guests->lock);
}

struct guest *address_limit_with_token(struct address_limit *guests,
                                       const char *id)
{
    pthread_mutex_lock(&guests->lock);
    struct guest *guest = find(guests, strtoull(id, NULL, 16), true);
    if (guest != NULL)
        address_limit_keep(guest);
    pthread_mutex_unlock(&guests->lock);
    return guest;
}

void address_limit_keep(struct guest *guest)
{
    atomic_fetch_add_explicit(&guest->references, 1, memory_order_relaxed);
}

/* The last reference is dropped under the lock, because until then find() can
 * return the entry to another thread. */
void address_limit_release(struct address_limit *guests, struct guest *guest)
{
    uint_fast64_t references = atomic_load(&guest->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&guest->references, &references,
                                         references - 1))
            return;
    pthread_mutex_lock(&guests->lock);
    atomic_fetch_sub(&guest->references, 1);
    drop(guest);
    pthread_mutex_unlock(&guests->lock);
}
