/* The exchanges that wait for their turn at one event loop. Clients share the
 * loop's time equally, however many exchanges each of them has (deficit round
 * robin): a client whose turn took long waits until the others have had as much
 * time. Of the exchanges of one client those whose handlers have begun come
 * first, because they hold memory until they end; but one turn in TURNS_A_START
 * begins a handler. Lists are linked through their members, so nothing here
 * allocates. */
#ifndef API_TURNS_H
#define API_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct exchange;

/* A queue of exchanges, linked by next. An exchange is in at most one. */
struct exchange_list {
    struct exchange *first;
    struct exchange *last;
};

/* Puts an exchange at the end; takes the first one, or NULL. */
void exchange_list_append(struct exchange_list *list,
                          struct exchange *exchange);
struct exchange *exchange_list_take(struct exchange_list *list);

/* The waiting exchanges of one client. All zero: no exchange waits. */
struct client_turns {
    struct exchange_list begun;
    struct exchange_list starts; /* their handlers have not begun */
    unsigned since_start;        /* turns since the last start, while any
                                  * start waits */
    int64_t left_ns; /* time that the client may take before the next client
                      * has its turn; negative if it has taken more */
    TAILQ_ENTRY(client_turns) link; /* while any exchange waits */
};

enum {
    TURN_NS = 1000000, /* length of one client's turn */
    TURNS_A_START = 16
};

struct turns {
    TAILQ_HEAD(waiting_clients, client_turns)
    clients;                    /* whose exchanges wait; the next one
                                 * first */
    size_t count;               /* exchanges that wait */
    struct client_turns *payer; /* had the last turn; NULL: none of its
                                 * exchanges waits */
};

void turns_init(struct turns *turns);
/* Adds an exchange at the end of its client's list. starts: its handler has not
 * begun. */
void turns_add(struct turns *turns, struct client_turns *client,
               struct exchange *exchange, bool starts);
/* Takes the exchange whose turn it is; NULL if no exchange waits. */
struct exchange *turns_take(struct turns *turns);
/* Charges the client for the turn of the exchange that was taken last. */
void turns_charge(struct turns *turns, uint64_t ns);
/* True if exchanges of the client wait, and it has taken the time of more than
 * one turn in advance. */
bool turns_owes(const struct client_turns *client);

#endif
