/* Commits under way: several requests at a time, each with a batch of entries.
 * A batch that finds entries which are there already goes again without them;
 * one that meets an overloaded server goes again later. */
#ifndef API_CLI_FLIGHT_H
#define API_CLI_FLIGHT_H

#include "cli/bulk/cli_ndjson.h"

enum { FLIGHT_ENTRIES_MAX = 1000 };
/* Bytes of a batch after which it goes. */
enum { FLIGHT_BYTES_MAX = 1 << 20 };

/* Where an entry's texts lie in a slot's buffer. */
struct flight_item {
    size_t key, key_size;
    size_t mutation, mutation_size;
    uint64_t line;
    bool dropped; /* it is there already */
};

/* A place in the input, and the hash of the bytes before it, which tells
 * whether it is one in another input. */
struct flight_place {
    uint64_t at;
    uint64_t hash;
};

/* A slot that failed stays so: what it had was not stored. */
enum flight_state {
    SLOT_FREE,
    SLOT_FAILED,
    SLOT_FILLING,
    SLOT_FLYING,
    SLOT_WAITING
};

struct flight_slot {
    enum flight_state state;
    CURL *curl;
    struct curl_slist *headers;
    struct kx_buffer texts;
    struct kx_buffer body;
    struct kx_buffer reply;
    struct flight_item items[FLIGHT_ENTRIES_MAX];
    size_t count;
    struct flight_place from; /* of the first line */
    uint64_t due_ns;          /* of one that waits */
    unsigned tries;
};

struct flight {
    struct cli *cli;
    CURLM *multi;
    struct flight_slot *slots;
    size_t slot_count;
    uint64_t stored;
    uint64_t kept; /* entries that were there already */
    int status;    /* the first failure; CLI_OK: none so far */
};

/* Makes `count` slots under cli->memory. False without memory. */
bool flight_begin(struct flight *flight, struct cli *cli, size_t count);

/* The slot that is being filled, or a free one, which `from` is noted in; NULL
 * when all are under way. */
struct flight_slot *flight_filling(struct flight *flight,
                                   const struct flight_place *from);

/* Sends off a slot that was filled. */
void flight_send(struct flight *flight, struct flight_slot *slot);

/* Sees to what came back; flight_wait first waits until something has. */
void flight_look(struct flight *flight);
void flight_wait(struct flight *flight);

/* Is anything under way? */
bool flight_busy(const struct flight *flight);

/* The place before which all lines are stored; `read` is how far the input was
 * read. */
struct flight_place flight_safe(const struct flight *flight,
                                const struct flight_place *read);

/* Frees what libcurl holds. */
void flight_end(struct flight *flight);

#endif
