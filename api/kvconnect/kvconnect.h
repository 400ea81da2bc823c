/* KV Connect, the protocol of Deno and @deno/kv for remote stores: its
 * handlers, which the table of routes names, and what these share. The messages
 * of datapath.proto are known to this room, and to the import that reads such a
 * store (cli/bulk/cli_connect.c).
 *
 * Errors are plain text with a 4xx status, since clients show the text to their
 * user, and repeat a request forever after a 5xx. */
#ifndef API_KVCONNECT_H
#define API_KVCONNECT_H

#include "http/input_error.h"

/* ---- Handlers (handler_fn in request.h) --------------------------------- */

/* POST /: the protocol's version, the database's id and the data path's URL. */
handler_fn kvconnect_metadata;
/* POST /v2/snapshot_read: some ranges in one view. */
handler_fn kvconnect_read;
/* POST /v2/atomic_write: checks and mutations. */
handler_fn kvconnect_write;
/* POST /v2/watch: frames without an end. */
handler_fn kvconnect_watch;

/* ---- What handlers share ------------------------------------------------ */

/* The limits of one message. Deno's own client stays within these. */
enum kvconnect_limit {
    KVCONNECT_RANGES_MAX = 10,
    KVCONNECT_ROWS_MAX = 1000, /* limits of all ranges together */
    KVCONNECT_CHECKS_MAX = 100,
    KVCONNECT_MUTATIONS_MAX = 1000,
    KVCONNECT_WATCH_KEYS_MAX = 10,
    /* Bytes: enough for KVCONNECT_ROWS_MAX values of 64 KiB, the limit of
     * Deno's own stores, or for 100 values of 1 MiB (--value-max). */
    KVCONNECT_REPLY_MAX = 104 << 20
};

enum kvconnect_version { KVCONNECT_FIRST = 1, KVCONNECT_LAST = 3 };

/* Checks that the request is for this store and speaks a supported version.
 * Absent headers are not required. Returns false with an error. */
bool kvconnect_admit(const struct request *request, struct input_error *error);

/* Completes a successful reply: status 200 and the media type of messages. */
void kvconnect_answer(struct reply *reply);

/* Writes entries for one client. */
struct kvconnect_writer {
    struct kx_buffer *out;    /* of the reply */
    struct kx_buffer scratch; /* values that had to be transcoded */
    enum kx_v8_reader reader;
};

/* Begins to write to out for the client that sent the request. Transcoded
 * values are allocated in memory, a talloc context. */
void kvconnect_writer_init(struct kvconnect_writer *writer,
                           const struct request *request, const void *memory,
                           struct kx_buffer *out);

/* Appends an entry as field `field` of a message, its value in a form that the
 * client can read. Sets out->failed if memory runs out. */
void kvconnect_entry(struct kvconnect_writer *writer, unsigned field,
                     const struct kx_entry *entry);

/* Appends the 10 bytes of a versionstamp as field `field`. */
void kvconnect_stamp(unsigned field, uint64_t stamp, struct kx_buffer *out);

/* Reads data with this wire encoding as a value, whose slices lie in data.
 * memory is for temporary data. Returns false with an error if it is not such a
 * value. */
bool kvconnect_value(int encoding, struct kx_slice data, const void *memory,
                     struct kx_value *value_out, struct input_error *error);

#endif
