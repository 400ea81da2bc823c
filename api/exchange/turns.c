/* A list of clients with waiting exchanges, in rotation, and two lists of
 * exchanges for each of them. */
#include "exchange/turns.h"

#include "exchange/exchange.h"

void exchange_list_append(struct exchange_list *list, struct exchange *exchange)
{
    exchange->next = NULL;
    if (list->last == NULL)
        list->first = exchange;
    else
        list->last->next = exchange;
    list->last = exchange;
}

struct exchange *exchange_list_take(struct exchange_list *list)
{
    struct exchange *exchange = list->first;
    if (exchange == NULL)
        return NULL;
    list->first = exchange->next;
    if (list->first == NULL)
        list->last = NULL;
    return exchange;
}

void turns_init(struct turns *turns)
{
    *turns = (struct turns){.count = 0};
    TAILQ_INIT(&turns->clients);
}

static bool is_idle(const struct client_turns *client)
{
    return client->begun.first == NULL && client->starts.first == NULL;
}

void turns_add(struct turns *turns, struct client_turns *client,
               struct exchange *exchange, bool starts)
{
    if (is_idle(client)) {
        client->left_ns = TURN_NS;
        client->since_start = 0;
        TAILQ_INSERT_TAIL(&turns->clients, client, link);
    }
    exchange_list_append(starts ? &client->starts : &client->begun, exchange);
    turns->count++;
}

static struct exchange *take_of(struct client_turns *client)
{
    bool starts = client->begun.first == NULL;
    if (client->starts.first != NULL && ++client->since_start >= TURNS_A_START)
        starts = true;
    if (starts)
        client->since_start = 0;
    return exchange_list_take(starts ? &client->starts : &client->begun);
}

/* The first client with time left. Each client that has none gets the time of
 * one turn more and is passed over. */
static struct client_turns *next_client(struct turns *turns)
{
    struct client_turns *client;
    while ((client = TAILQ_FIRST(&turns->clients)) != NULL &&
           client->left_ns <= 0) {
        client->left_ns += TURN_NS;
        TAILQ_REMOVE(&turns->clients, client, link);
        TAILQ_INSERT_TAIL(&turns->clients, client, link);
    }
    return client;
}

/* A client without further exchanges is forgotten together with what it owes,
 * because its client_turns may be freed as soon as its last exchange ends. */
struct exchange *turns_take(struct turns *turns)
{
    struct client_turns *client = next_client(turns);
    if (client == NULL)
        return NULL;
    struct exchange *exchange = take_of(client);
    turns->count--;
    turns->payer = client;
    if (is_idle(client)) {
        TAILQ_REMOVE(&turns->clients, client, link);
        turns->payer = NULL;
    }
    return exchange;
}

bool turns_owes(const struct client_turns *client)
{
    return !is_idle(client) && client->left_ns <= -(int64_t)TURN_NS;
}

void turns_charge(struct turns *turns, uint64_t ns)
{
    if (turns->payer != NULL)
        turns->payer->left_ns -= (int64_t)ns;
    turns->payer = NULL;
}
