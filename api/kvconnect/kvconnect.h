/* KV Connect, the protocol by which Deno and @deno/kv reach a remote store:
 *
 * kvconnect_metadata.c the exchange that tells a client where to read and write
 * kvconnect_read.c snapshot_read: ranges in one view kvconnect_rows.c and its
 * reply kvconnect_write.c atomic_write: checks and mutations kvconnect_watch.c
 * watch: entries again whenever they have changed
 *
 * An error is answered as plain text with a 4xx status, since clients show the
 * text to their user and repeat a request forever after a 5xx. Only the
 * kvconnect files know the messages of datapath.proto. */
#ifndef API_KVCONNECT_H
#define API_KVCONNECT_H

#include "http/input_error.h"

/* What one message may hold. Deno's own client stays within these. */
enum kvconnect_limit {
    KVCONNECT_RANGES_MAX = 10,
    KVCONNECT_ROWS_MAX = 1000, /* limits of all ranges together */
    KVCONNECT_CHECKS_MAX = 100,
    KVCONNECT_MUTATIONS_MAX = 1000,
    KVCONNECT_WATCH_KEYS_MAX = 10,
    /* Bytes: that many rows of 64 KiB, which is what Deno's own stores take, or
     * a list's usual 100 with values of 1 MiB (--value-max). */
    KVCONNECT_REPLY_MAX = 104 << 20
};

enum kvconnect_version { KVCONNECT_FIRST = 1, KVCONNECT_LAST = 3 };

/* Does the request speak a version that is spoken here, to this very store?
 * Headers that are absent are not asked for. False with an error. */
bool kvconnect_admit(const struct request *request, struct input_error *error);

/* Ends a handler of the data path well: status 200 and the media type of
 * messages. */
void kvconnect_answer(struct reply *reply);

/* Writes entries for one client. */
struct kvconnect_writer {
    struct kx_buffer *out;    /* of the reply */
    struct kx_buffer scratch; /* values that had to be transcoded */
    enum kx_v8_reader reader;
};

/* Begins to write to out for the client that sent the request. memory: a talloc
 * context for what has to be transcoded. */
void kvconnect_writer_init(struct kvconnect_writer *writer,
                           const struct request *request, const void *memory,
                           struct kx_buffer *out);

/* Appends an entry as field `field` of a message, its value in a form that the
 * client understands. Running out of memory shows in out->failed. */
void kvconnect_entry(struct kvconnect_writer *writer, unsigned field,
                     const struct kx_entry *entry);

/* Appends the 10 bytes of a versionstamp as field `field`. */
void kvconnect_stamp(unsigned field, uint64_t stamp, struct kx_buffer *out);

/* Reads data with the number of a wire encoding as a value; its slices lie in
 * data. False with an error when it is no such value. memory: for scratch. */
bool kvconnect_value(int encoding, struct kx_slice data, const void *memory,
                     struct kx_value *value_out, struct input_error *error);

#endif
