/* A pipeline of commits: several requests at a time, each with a batch of
 * entries. If some entries of a batch are already present, the batch is sent
 * again without them. If the server is overloaded, or the connection breaks, it
 * is sent again later, with the same Idempotency-Key: so it is stored once, and
 * the answer tells so. */
#ifndef API_CLI_PIPELINE_H
#define API_CLI_PIPELINE_H

#include "cli/bulk/cli_ndjson.h"

enum { CLI_PIPELINE_ENTRIES_MAX = 1000, CLI_PIPELINE_RUN_BYTES = 16 };
/* A batch with this many bytes is full. */
enum { CLI_PIPELINE_BYTES_MAX = 1 << 20 };

/* Where an entry's texts lie in a slot's buffer. */
struct cli_pipeline_item {
    size_t key, key_size;
    size_t mutation, mutation_size;
    uint64_t line;
    bool dropped; /* the store already has the entry */
};

/* A place in the input, with the number of lines and the hash of the bytes
 * before it. Another input has another hash at the same place. */
struct cli_pipeline_place {
    uint64_t at;
    uint64_t lines;
    uint64_t hash;
};

/* SLOT_FAILED is final: the entries of the slot were not stored. */
enum cli_slot_state {
    SLOT_FREE,
    SLOT_FAILED,
    SLOT_FILLING,
    SLOT_SENT,
    SLOT_WAITING
};

struct cli_pipeline_slot {
    enum cli_slot_state state;
    CURL *curl;
    struct curl_slist *headers;
    struct cli_pace pace;
    struct kx_buffer texts;
    struct kx_buffer body;
    struct kx_buffer reply;
    struct cli_pipeline_item items[CLI_PIPELINE_ENTRIES_MAX];
    size_t count;
    struct cli_pipeline_place from; /* of the first line */
    uint64_t commit; /* number of its document, which no other has */
    uint64_t due_ns; /* for SLOT_WAITING: when to send it again */
    unsigned tries;
};

struct cli_pipeline {
    struct cli *cli;
    CURLM *multi;
    struct cli_pipeline_slot *slots;
    size_t slot_count;
    char run[2 * CLI_PIPELINE_RUN_BYTES + 1]; /* random digits of this run */
    uint64_t commits;
    bool answered; /* there was an answer */
    uint64_t stored;
    uint64_t kept; /* entries that the store already had */
    int status;    /* of the first failure; CLI_OK: none so far */
    bool refused;  /* that failure lies in the lines of a batch */
};

/* Makes `count` slots in cli->memory. False without memory, or without random
 * numbers of the system. */
bool cli_pipeline_begin(struct cli_pipeline *pipeline, struct cli *cli,
                        size_t count);

/* The slot that is being filled, or else a free one, which begins at `from`.
 * NULL when all slots are under way. */
struct cli_pipeline_slot *
cli_pipeline_filling(struct cli_pipeline *pipeline,
                     const struct cli_pipeline_place *from);

/* Sends a filled slot. */
void cli_pipeline_send(struct cli_pipeline *pipeline,
                       struct cli_pipeline_slot *slot);

/* Processes the answers that have arrived. */
void cli_pipeline_poll(struct cli_pipeline *pipeline);
/* Waits for an answer, or until `input` can be read (-1: no descriptor), for a
 * second at most, and processes the answers. A signal ends the wait. */
void cli_pipeline_wait(struct cli_pipeline *pipeline, int input);

/* True if a batch is under way. */
bool cli_pipeline_busy(const struct cli_pipeline *pipeline);

/* The place before which all lines are stored; `read` is the place up to which
 * the input has been read. */
struct cli_pipeline_place
cli_pipeline_stored(const struct cli_pipeline *pipeline,
                    const struct cli_pipeline_place *read);

/* Frees the handles of libcurl. */
void cli_pipeline_end(struct cli_pipeline *pipeline);

#endif
