/* POST .../watch: a reply without an end, in frames. A frame is its length (4
 * bytes, little endian) and a WatchOutput with all keys, read in one view. It
 * shows every key, because Deno treats a key marked as unchanged as absent. A
 * frame of length 0 shows that the connection is alive.
 *
 * A frame is made when the client has room for it, from the entries as they are
 * then: a slow client gets fewer frames, and nothing is queued for it.
 *
 * Clients reject a frame of more than 16 MiB without an error and repeat the
 * request, so such a watch is refused with a text before the reply begins. If a
 * frame grows that large later, the reply ends and the next request is refused.
 */

#include <stdatomic.h>
#include <talloc.h>

#include "access/access.h"
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/kvconnect.h"
#include "kvconnect/protobuf.h"
#include "rest/refusal.h"
#include "http/service.h"
#include "http/watch_wait.h"

enum { OUTPUT_STATUS = 1, OUTPUT_KEYS = 2 };
enum { KEY_CHANGED = 1, KEY_ENTRY = 2 };
enum { FRAME_HEAD = 4, FRAME_MAX = 16 << 20 /* bytes */ };

static const uint64_t SILENCE_NS = 5000000000;
static const uint64_t NOT_SHOWN = UINT64_MAX; /* in place of a stamp */

/* What one client watches and was shown last. */
struct frame_stream {
    struct stream stream;
    struct kx_watch *watch;
    uint64_t sent_ns; /* when the last frame was made */
    size_t count;
    struct kx_slice keys[KVCONNECT_WATCH_KEYS_MAX];
    uint64_t stamps[KVCONNECT_WATCH_KEYS_MAX]; /* 0: absent */
};

/* ---- Frames ------------------------------------------------------------- */

/* The entries of one frame. */
struct frame {
    struct kx_buffer records[KVCONNECT_WATCH_KEYS_MAX];
    struct kx_entry entries[KVCONNECT_WATCH_KEYS_MAX]; /* stamp 0: absent */
    bool changed; /* an entry differs from the last frame */
};

/* A key of an index that is not ready is shown as absent; when the index
 * becomes ready, the watch reports it. */
static enum kx_status read_key(struct frame_stream *watch, size_t i,
                               struct frame *frame)
{
    struct kx_entry *entry = &frame->entries[i];
    struct kx_fault fault = {.status = KX_OK};
    entry->stamp = 0;
    enum kx_status status =
        kx_read(watch->stream.request->reader, watch->keys[i],
                &frame->records[i], entry, &fault);
    if (status != KX_OK && status != KX_ABSENT && status != KX_INDEX_NOT_READY)
        return status;
    frame->changed |= entry->stamp != watch->stamps[i];
    watch->stamps[i] = entry->stamp;
    return KX_OK;
}

/* Reads all keys in one view, which ends before values are converted. */
static enum kx_status read_keys(struct frame_stream *watch, const void *memory,
                                struct frame *frame, uint64_t *flush_out)
{
    struct kx_reader *reader = watch->stream.request->reader;
    enum kx_status status = KX_OK;
    for (size_t i = 0; i < watch->count; i++)
        kx_buffer_init(&frame->records[i], memory);
    frame->changed = false;
    kx_read_begin(reader);
    for (size_t i = 0; i < watch->count && status == KX_OK; i++)
        status = read_key(watch, i, frame);
    *flush_out = kx_read_end(reader);
    return status;
}

static void put_length(size_t length, uint8_t *out)
{
    for (size_t i = 0; i < FRAME_HEAD; i++)
        out[i] = (uint8_t)(length >> (8 * i));
}

/* KX_OK, KX_COMMIT_TOO_LARGE; the chunk may have failed. */
static enum kx_status write_frame(struct frame_stream *watch,
                                  const void *memory, const struct frame *frame,
                                  struct kx_buffer *chunk)
{
    struct kvconnect_writer writer;
    size_t start = chunk->size;
    kvconnect_writer_init(&writer, watch->stream.request, memory, chunk);
    kx_add(chunk, (const uint8_t[FRAME_HEAD]){0}, FRAME_HEAD);
    protobuf_number(OUTPUT_STATUS, DATAPATH__SNAPSHOT_READ_STATUS__SR_SUCCESS,
                    chunk);
    for (size_t i = 0; i < watch->count; i++) {
        size_t place = protobuf_open(OUTPUT_KEYS, chunk);
        protobuf_number(KEY_CHANGED, true, chunk);
        if (frame->entries[i].stamp != 0)
            kvconnect_entry(&writer, KEY_ENTRY, &frame->entries[i]);
        protobuf_close(place, chunk);
    }
    size_t size = chunk->size - start - FRAME_HEAD;
    watch->sent_ns = kx_monotonic_ns();
    if (chunk->failed)
        return KX_OK;
    if (size > FRAME_MAX) {
        chunk->size = start;
        return KX_COMMIT_TOO_LARGE;
    }
    put_length(size, chunk->data + start);
    return KX_OK;
}

/* Appends a frame if an entry has changed. Returns KX_OK, KX_COMMIT_TOO_LARGE,
 * or why the entries cannot be read. Unchanged entries need not be on disk. */
static enum kx_status add_frame(struct frame_stream *watch,
                                struct kx_buffer *chunk, uint64_t *flush_out)
{
    void *memory = talloc_new(watch->stream.request->memory);
    struct frame frame;
    if (memory == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = read_keys(watch, memory, &frame, flush_out);
    if (status == KX_OK && frame.changed)
        status = write_frame(watch, memory, &frame, chunk);
    else
        *flush_out = 0;
    talloc_free(memory);
    return status;
}

static bool add_silence(struct frame_stream *watch, struct kx_buffer *chunk)
{
    if (kx_monotonic_ns() - watch->sent_ns < SILENCE_NS)
        return false;
    kx_add(chunk, (const uint8_t[FRAME_HEAD]){0}, FRAME_HEAD);
    watch->sent_ns = kx_monotonic_ns();
    return true;
}

/* The stream's `next`. When the server stops, the reply ends and the client
 * connects again. */
static bool next(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct frame_stream *watch = stream->state;
    do {
        if (atomic_load(&stream->request->service->stopping) ||
            !access_sees_all(stream->request, SCOPE_WATCH, watch->keys,
                             watch->count) ||
            add_frame(watch, chunk, flush_out) != KX_OK)
            return false;
        if (chunk->size > 0 || chunk->failed || add_silence(watch, chunk))
            return true;
    } while (!watch_wait(stream->request, watch->watch,
                         watch->sent_ns + SILENCE_NS));
    watch_wait_release(chunk);
    return true;
}

/* ---- The request -------------------------------------------------------- */

static bool take_keys(struct frame_stream *watch,
                      const Datapath__Watch *message, struct input_error *error)
{
    struct kx_fault fault = {.status = KX_OK};
    watch->count = message->n_keys;
    if (message->n_keys < 1 || message->n_keys > KVCONNECT_WATCH_KEYS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "There are %zu keys; a watch has 1 to %d.",
                               message->n_keys, KVCONNECT_WATCH_KEYS_MAX);
    for (size_t i = 0; i < message->n_keys; i++) {
        watch->keys[i] = protobuf_slice(message->keys[i]->key);
        watch->stamps[i] = NOT_SHOWN;
        fault.status = kx_key_check(watch->keys[i], &fault);
        if (fault.status != KX_OK)
            return input_error_fault(error, &fault);
    }
    return true;
}

/* Makes a frame and discards it, to find out whether it is possible. Returns
 * the status of add_frame. */
static enum kx_status try_frame(struct frame_stream *watch)
{
    struct kx_buffer chunk;
    uint64_t flush;
    kx_buffer_init(&chunk, watch->stream.request->memory);
    enum kx_status status = add_frame(watch, &chunk, &flush);
    if (chunk.failed)
        status = KX_NO_MEMORY;
    kx_buffer_free(&chunk);
    for (size_t i = 0; i < watch->count; i++)
        watch->stamps[i] = NOT_SHOWN;
    return status;
}

/* Opens the watch before the first frame is read, so that no change is lost. */
static enum kx_status open_watch(struct frame_stream *watch)
{
    struct request *request = watch->stream.request;
    enum kx_status status = try_frame(watch);
    return status != KX_OK
               ? status
               : kx_watch_open(request->service->store, watch->keys,
                               watch->count, request->memory, &watch->watch);
}

static void begin(struct frame_stream *watch, struct reply *reply)
{
    struct request *request = watch->stream.request;
    struct kx_fault fault = {.status = KX_OK};
    if (!refuse_watched(request, reply, watch->keys, watch->count))
        return;
    fault.status = open_watch(watch);
    if (fault.status == KX_COMMIT_TOO_LARGE) {
        problem(request, reply, PROBLEM_PAYLOAD_TOO_LARGE,
                "The entries to be watched have more than %d bytes: "
                "watch fewer keys at a time.",
                FRAME_MAX);
        return;
    }
    if (fault.status != KX_OK) {
        refuse_key(request, reply, &fault, watch->keys[0]);
        return;
    }
    reply->status = 200;
    reply->content_type = "application/octet-stream";
    reply->stream = &watch->stream;
}

static void begin_watch(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct input_error error;
    if (!kvconnect_admit(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    struct frame_stream *watch =
        talloc_zero(request->memory, struct frame_stream);
    if (watch == NULL) {
        reply->body.failed = true;
        return;
    }
    const Datapath__Watch *message =
        protobuf_read(request, &datapath__watch__descriptor, &error);
    if (message == NULL || !take_keys(watch, message, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    watch->stream = (struct stream){
        .next = next, .request = request, .state = watch, .lasting = true};
    if (!access_keys(request, reply, SCOPE_WATCH, watch->keys, watch->count))
        return;
    begin(watch, reply);
}

void kvconnect_watch(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, begin_watch, NULL);
}
