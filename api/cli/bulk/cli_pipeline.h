/* A pipeline of commits: several concurrent requests, each with a batch of
 * entries. If the store already has some entries of a batch, the batch is sent
 * again without them. If the server is overloaded or the connection breaks, the
 * batch is retried later with the same Idempotency-Key, so it is stored exactly
 * once. */
#ifndef API_CLI_PIPELINE_H
#define API_CLI_PIPELINE_H

#include "cli/bulk/cli_ndjson.h"

enum { CLI_PIPELINE_ENTRIES_MAX = 1000, CLI_PIPELINE_RUN_BYTES = 16 };
/* A batch with this many bytes is full. */
enum { CLI_PIPELINE_BYTES_MAX = 1 << 20 };

/* Where the key and mutation of an entry lie in slot->texts. */
struct cli_pipeline_item {
    size_t key, key_size;
    size_t mutation, mutation_size;
    size_t check, check_size; /* the versionstamp that the entry must have, as
                               * JSON; size 0: there must be no entry */
    uint64_t line;
    bool removes; /* the mutation deletes the entry */
    bool dropped; /* the check failed: mostly the store has the entry */
};

/* A place in the input: byte offset, number of lines before it and hash of the
 * bytes before it. The hash shows whether another input is the same up to
 * there. */
struct cli_pipeline_place {
    uint64_t at;
    uint64_t lines;
    uint64_t hash;
};

/* SLOT_FAILED is final: the entries of the slot are not known to be stored. */
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
    uint64_t commit;                /* unique number of the document sent */
    uint64_t due_ns;                /* for SLOT_WAITING: when to retry */
    unsigned tries;
};

/* Receives a batch that has its final answer: every item is stored with this
 * versionstamp (digits without quotes), or dropped. The versionstamp is empty
 * if all are dropped, or in a dry run. */
typedef void cli_pipeline_fn(void *target, const struct cli_pipeline_slot *slot,
                             struct kx_slice stamp);

struct cli_pipeline {
    struct cli *cli;
    cli_pipeline_fn *stored_fn; /* NULL: none */
    void *target;
    CURLM *multi;
    struct cli_pipeline_slot *slots;
    size_t slot_count;
    char run[2 * CLI_PIPELINE_RUN_BYTES + 1]; /* random, in hexadecimal; begins
                                               * each Idempotency-Key */
    uint64_t commits;
    bool answered; /* the server has answered at least once */
    uint64_t stored;
    uint64_t kept; /* entries that the store already had */
    int status;    /* exit status of the first failure; CLI_OK: none so far */
    bool refused;  /* the server refused the lines of a batch */
};

/* Allocates `count` slots in cli->memory. False if memory ran out or the system
 * has no random numbers. */
bool cli_pipeline_begin(struct cli_pipeline *pipeline, struct cli *cli,
                        size_t count);

/* Returns the slot that is being filled, or a free slot, which then begins at
 * `from`. NULL if all slots are sent or waiting. */
struct cli_pipeline_slot *
cli_pipeline_filling(struct cli_pipeline *pipeline,
                     const struct cli_pipeline_place *from);

/* Sends the batch of a filled slot. */
void cli_pipeline_send(struct cli_pipeline *pipeline,
                       struct cli_pipeline_slot *slot);

/* Processes the answers that have arrived, without waiting. */
void cli_pipeline_poll(struct cli_pipeline *pipeline);
/* Waits at most one second for an answer, or until `input` (-1: no descriptor)
 * can be read, and processes the answers. A signal ends the wait. */
void cli_pipeline_wait(struct cli_pipeline *pipeline, int input);

/* True if a batch has been sent or waits for its retry. */
bool cli_pipeline_busy(const struct cli_pipeline *pipeline);

/* Returns the place before which all lines are stored. `read` is the place up
 * to which the input has been read. */
struct cli_pipeline_place
cli_pipeline_stored(const struct cli_pipeline *pipeline,
                    const struct cli_pipeline_place *read);

/* Frees the handles of libcurl; the slots stay in cli->memory. */
void cli_pipeline_end(struct cli_pipeline *pipeline);

#endif
