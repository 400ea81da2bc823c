/* A pipeline of commits: several requests at a time, each with a batch of
 * entries. If some entries of a batch are already present, the batch is sent
 * again without them. If the server is overloaded, it is sent again later. */
#ifndef API_CLI_FLIGHT_H
#define API_CLI_FLIGHT_H

#include "cli/bulk/cli_ndjson.h"

enum { FLIGHT_ENTRIES_MAX = 1000 };
/* A batch with this many bytes is full. */
enum { FLIGHT_BYTES_MAX = 1 << 20 };

/* Where an entry's texts lie in a slot's buffer. */
struct flight_item {
    size_t key, key_size;
    size_t mutation, mutation_size;
    uint64_t line;
    bool dropped; /* the store already has the entry */
};

/* A place in the input, and the hash of the bytes before it. Another input has
 * another hash at the same place. */
struct flight_place {
    uint64_t at;
    uint64_t hash;
};

/* SLOT_FAILED is final: the entries of the slot were not stored. */
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
    uint64_t due_ns;          /* for SLOT_WAITING: when to send it again */
    unsigned tries;
};

struct flight {
    struct cli *cli;
    CURLM *multi;
    struct flight_slot *slots;
    size_t slot_count;
    uint64_t stored;
    uint64_t kept; /* entries that the store already had */
    int status;    /* of the first failure; CLI_OK: none so far */
};

/* Makes `count` slots in cli->memory. False without memory. */
bool flight_begin(struct flight *flight, struct cli *cli, size_t count);

/* The slot that is being filled, or else a free one, which begins at `from`.
 * NULL when all slots are under way. */
struct flight_slot *flight_filling(struct flight *flight,
                                   const struct flight_place *from);

/* Sends a filled slot. */
void flight_send(struct flight *flight, struct flight_slot *slot);

/* Processes the answers that have arrived; flight_wait waits for one first. */
void flight_look(struct flight *flight);
void flight_wait(struct flight *flight);

/* True if a batch is under way. */
bool flight_busy(const struct flight *flight);

/* The place before which all lines are stored; `read` is the place up to which
 * the input has been read. */
struct flight_place flight_safe(const struct flight *flight,
                                const struct flight_place *read);

/* Frees the handles of libcurl. */
void flight_end(struct flight *flight);

#endif
