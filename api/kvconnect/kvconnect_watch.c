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

#include <talloc.h>

#include "access/access.h"
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/kvconnect.h"
#include "kvconnect/protobuf.h"
#include "rest/refusal.h"
#include "http/service.h"
#include "http/watch_stream.h"

enum { OUTPUT_STATUS = 1, OUTPUT_KEYS = 2 };
enum { KEY_CHANGED = 1, KEY_ENTRY = 2 };
enum { FRAME_HEAD = 4, FRAME_MAX = 16 << 20 /* bytes */ };

/* An empty frame is sent after this time without a frame. */
static const uint64_t FRAME_SILENCE_NS = 5ull * KX_SECOND_NS;
static const uint64_t NOT_SHOWN = UINT64_MAX; /* in place of a stamp */

/* What one client watches and was shown last. */
struct frame_stream {
    struct watch_stream live;
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
static enum kx_status read_key(struct frame_stream *frames, size_t i,
                               struct frame *frame)
{
    struct kx_entry *entry = &frame->entries[i];
    struct kx_fault fault = {.status = KX_OK};
    entry->stamp = 0;
    enum kx_status status =
        kx_read(frames->live.stream.request->reader, frames->keys[i],
                &frame->records[i], entry, &fault);
    if (status != KX_OK && status != KX_ABSENT && status != KX_INDEX_NOT_READY)
        return status;
    frame->changed |= entry->stamp != frames->stamps[i];
    frames->stamps[i] = entry->stamp;
    return KX_OK;
}

/* Reads all keys in one view, which ends before values are converted. */
static enum kx_status read_keys(struct frame_stream *frames, const void *memory,
                                struct frame *frame, uint64_t *flush_out)
{
    struct kx_reader *reader = frames->live.stream.request->reader;
    enum kx_status status = KX_OK;
    for (size_t i = 0; i < frames->count; i++)
        kx_buffer_init(&frame->records[i], memory);
    frame->changed = false;
    kx_read_begin(reader);
    for (size_t i = 0; i < frames->count && status == KX_OK; i++)
        status = read_key(frames, i, frame);
    *flush_out = kx_read_end(reader);
    return status;
}

static void put_length(size_t length, uint8_t *out)
{
    for (size_t i = 0; i < FRAME_HEAD; i++)
        out[i] = (uint8_t)(length >> (8 * i));
}

/* KX_OK, KX_COMMIT_TOO_LARGE; the chunk may have failed. */
static enum kx_status write_frame(struct frame_stream *frames,
                                  const void *memory, const struct frame *frame,
                                  struct kx_buffer *chunk)
{
    struct kvconnect_writer writer;
    size_t start = chunk->size;
    kvconnect_writer_init(&writer, frames->live.stream.request, memory, chunk);
    kx_add(chunk, (const uint8_t[FRAME_HEAD]){0}, FRAME_HEAD);
    protobuf_number(OUTPUT_STATUS, DATAPATH__SNAPSHOT_READ_STATUS__SR_SUCCESS,
                    chunk);
    for (size_t i = 0; i < frames->count; i++) {
        size_t place = protobuf_open(OUTPUT_KEYS, chunk);
        protobuf_number(KEY_CHANGED, true, chunk);
        if (frame->entries[i].stamp != 0)
            kvconnect_entry(&writer, KEY_ENTRY, &frame->entries[i]);
        protobuf_close(place, chunk);
    }
    size_t size = chunk->size - start - FRAME_HEAD;
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
static enum kx_status add_frame(struct frame_stream *frames,
                                struct kx_buffer *chunk, uint64_t *flush_out)
{
    void *memory = talloc_new(frames->live.stream.request->memory);
    struct frame frame;
    if (memory == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = read_keys(frames, memory, &frame, flush_out);
    if (status == KX_OK && frame.changed)
        status = write_frame(frames, memory, &frame, chunk);
    else
        *flush_out = 0;
    talloc_free(memory);
    return status;
}

static bool is_visible(const struct watch_stream *live)
{
    const struct frame_stream *frames = live->stream.state;
    return access_sees_all(live->stream.request, SCOPE_WATCH, frames->keys,
                           frames->count);
}

static enum watch_step read_frame(struct watch_stream *live,
                                  struct kx_buffer *chunk, uint64_t *flush_out)
{
    return add_frame(live->stream.state, chunk, flush_out) == KX_OK
               ? WATCH_CURRENT
               : WATCH_END;
}

static void add_empty_frame(struct watch_stream *live, struct kx_buffer *chunk)
{
    (void)live;
    kx_add(chunk, (const uint8_t[FRAME_HEAD]){0}, FRAME_HEAD);
}

static const struct watch_source FRAME_SOURCE = {.silence_ns = FRAME_SILENCE_NS,
                                                 .is_visible = is_visible,
                                                 .read = read_frame,
                                                 .idle = add_empty_frame};

/* ---- The request -------------------------------------------------------- */

static bool take_keys(struct frame_stream *frames,
                      const Datapath__Watch *message, struct input_error *error)
{
    struct kx_fault fault = {.status = KX_OK};
    frames->count = message->n_keys;
    if (message->n_keys < 1 || message->n_keys > KVCONNECT_WATCH_KEYS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "There are %zu keys; a watch has 1 to %d.",
                               message->n_keys, KVCONNECT_WATCH_KEYS_MAX);
    for (size_t i = 0; i < message->n_keys; i++) {
        frames->keys[i] = protobuf_slice(message->keys[i]->key);
        frames->stamps[i] = NOT_SHOWN;
        fault.status = kx_key_check(frames->keys[i], &fault);
        if (fault.status != KX_OK)
            return input_error_fault(error, &fault);
    }
    return true;
}

/* Makes a frame and discards it, to find out whether it is possible. Returns
 * the status of add_frame. */
static enum kx_status try_frame(struct frame_stream *frames)
{
    struct kx_buffer chunk;
    uint64_t flush;
    kx_buffer_init(&chunk, frames->live.stream.request->memory);
    enum kx_status status = add_frame(frames, &chunk, &flush);
    if (chunk.failed)
        status = KX_NO_MEMORY;
    kx_buffer_free(&chunk);
    for (size_t i = 0; i < frames->count; i++)
        frames->stamps[i] = NOT_SHOWN;
    return status;
}

/* Opens the watch before the first frame is read, so that no change is lost. */
static enum kx_status open_watch(struct frame_stream *frames)
{
    struct request *request = frames->live.stream.request;
    enum kx_status status = try_frame(frames);
    return status != KX_OK
               ? status
               : kx_watch_open(request->service->store, frames->keys,
                               frames->count, request->memory,
                               &frames->live.watch);
}

static void begin(struct frame_stream *frames, struct reply *reply)
{
    struct request *request = frames->live.stream.request;
    struct kx_fault fault = {.status = KX_OK};
    if (!refuse_watched(request, reply, frames->keys, frames->count))
        return;
    fault.status = open_watch(frames);
    if (fault.status == KX_COMMIT_TOO_LARGE) {
        problem(request, reply, PROBLEM_PAYLOAD_TOO_LARGE,
                "The entries to be watched have more than %d bytes: "
                "watch fewer keys at a time.",
                FRAME_MAX);
        return;
    }
    if (fault.status != KX_OK) {
        refuse_key(request, reply, &fault, frames->keys[0]);
        return;
    }
    reply->status = 200;
    reply->content_type = "application/octet-stream";
    reply->stream = &frames->live.stream;
}

static void begin_watch(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct input_error error;
    if (!kvconnect_admit(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    struct frame_stream *frames =
        talloc_zero(request->memory, struct frame_stream);
    if (frames == NULL) {
        reply->body.failed = true;
        return;
    }
    const Datapath__Watch *message =
        protobuf_read(request, &datapath__watch__descriptor, &error);
    if (message == NULL || !take_keys(frames, message, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    watch_stream_init(&frames->live, &FRAME_SOURCE, request);
    if (!access_keys(request, reply, SCOPE_WATCH, frames->keys, frames->count))
        return;
    begin(frames, reply);
}

void kvconnect_watch(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, begin_watch, NULL);
}
