/* kindex watch: shows entries whenever they have changed, by the watch of KV
 * Connect: frames of a length and a message (kvconnect/kvconnect_watch.c). */
#include "cli/commands/cli_watch.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli_presence.h"
#include "cli/cli_show.h"
#include "kvconnect/datapath.pb-c.h"
#include "rest/entryjson.h"
#include "kvconnect/kvconnect.h"
#include "kvconnect/protobuf.h"

enum { FRAME_HEAD = 4, WATCH_KEYS = 1, WATCH_KEY = 1, FRAME_MAX = 72 << 20 };

struct watching_keys {
    struct cli *cli;
    struct kx_buffer frame; /* the incomplete frame */
    struct kx_buffer line;
    struct kx_buffer shown[KVCONNECT_WATCH_KEYS_MAX]; /* lines shown last */
    struct kx_buffer keys[KVCONNECT_WATCH_KEYS_MAX];
    uint64_t count;
};

/* ---- What is asked ------------------------------------------------------ */

static bool add_key(struct watching_keys *watching, int i,
                    struct kx_buffer *out)
{
    struct cli *cli = watching->cli;
    kx_buffer_init(&watching->keys[i], cli->memory);
    kx_buffer_init(&watching->shown[i], cli->memory);
    if (!cli_read_key(cli, cli->words[i], &watching->keys[i]))
        return false;
    size_t place = protobuf_open(WATCH_KEYS, out);
    protobuf_bytes(WATCH_KEY, kx_buffer_slice(&watching->keys[i]), out);
    protobuf_close(place, out);
    return true;
}

/* ---- What comes --------------------------------------------------------- */

static bool read_entry(const Datapath__KvEntry *wire, const void *memory,
                       struct kx_entry *entry_out)
{
    struct input_error flaw;
    uint64_t stamp = 0;
    if (wire->versionstamp.len != KX_STAMP_BYTES)
        return false;
    for (size_t i = 0; i < 8; i++)
        stamp = stamp << 8 | wire->versionstamp.data[i];
    *entry_out =
        (struct kx_entry){.key = protobuf_slice(wire->key), .stamp = stamp};
    return kvconnect_value((int)wire->encoding, protobuf_slice(wire->value),
                           memory, &entry_out->value, &flaw);
}

/* Every frame has all keys; an entry is shown if it differs from the last
 * frame. */
static bool show_key(struct watching_keys *watching, size_t i,
                     const Datapath__WatchKeyOutput *output)
{
    struct kx_entry entry;
    struct kx_buffer *line = &watching->line;
    line->size = 0;
    if (output->entry_if_changed == NULL)
        entryjson_write_absent(kx_buffer_slice(&watching->keys[i]), line);
    else if (read_entry(output->entry_if_changed, watching->cli->memory,
                        &entry))
        entryjson_write(&entry, line);
    else
        return false;
    entryjson_one_line(line, 0);
    if (line->failed ||
        kx_equal(kx_buffer_slice(line), kx_buffer_slice(&watching->shown[i])))
        return !line->failed;
    watching->shown[i].size = 0;
    kx_add_slice(&watching->shown[i], kx_buffer_slice(line));
    cli_show_entry(watching->cli, kx_buffer_slice(line));
    fflush(stdout);
    watching->count++;
    return !watching->shown[i].failed && !ferror(stdout);
}

static bool show_frame(struct watching_keys *watching, struct kx_slice frame)
{
    Datapath__WatchOutput *output =
        datapath__watch_output__unpack(NULL, frame.size, frame.data);
    bool shown =
        output != NULL && output->n_keys == (size_t)watching->cli->count;
    for (size_t i = 0; shown && i < output->n_keys; i++)
        shown = show_key(watching, i, output->keys[i]);
    datapath__watch_output__free_unpacked(output, NULL);
    return shown;
}

/* Shows the frame at the start of bytes if it is complete; *size_out is its
 * size, 0 when it is not complete. */
static bool take_frame(struct watching_keys *watching, struct kx_slice bytes,
                       size_t *size_out)
{
    size_t size = 0;
    *size_out = 0;
    if (bytes.size < FRAME_HEAD)
        return true;
    for (size_t i = 0; i < FRAME_HEAD; i++)
        size |= (size_t)bytes.data[i] << (8 * i);
    if (size > FRAME_MAX || bytes.size - FRAME_HEAD < size)
        return size <= FRAME_MAX;
    *size_out = FRAME_HEAD + size;
    return size == 0 ||
           show_frame(watching, kx_slice(bytes.data + FRAME_HEAD, size));
}

/* Takes received bytes; frames may begin and end anywhere in them. */
static bool take_bytes(void *target, struct kx_slice bytes)
{
    struct watching_keys *watching = target;
    struct kx_buffer *frame = &watching->frame;
    size_t at = 0, size = 0;
    bool goes_on;
    kx_add_slice(frame, bytes);
    do {
        goes_on =
            !frame->failed &&
            take_frame(watching, kx_slice(frame->data + at, frame->size - at),
                       &size) &&
            !cli_watch_enough(watching->cli, watching->count);
        at += size;
    } while (goes_on && size > 0);
    if (goes_on) {
        memmove(frame->data, frame->data + at, frame->size - at);
        frame->size -= at;
    }
    return goes_on;
}

/* ---- The commands ------------------------------------------------------- */

bool cli_watch_enough(const struct cli *cli, uint64_t lines)
{
    return ferror(stdout) || (cli->limit > 0 && lines >= cli->limit);
}

int cli_watch_ask(struct cli *cli, const struct cli_call *call,
                  const uint64_t *lines)
{
    struct cli_reply reply;
    cli_show_heading(cli);
    int status = cli_ask(cli, call, &reply);
    if (status != CLI_OK || cli_watch_enough(cli, *lines))
        return status;
    cli_fail("the server ended the watch");
    return CLI_UNAVAILABLE;
}

/* Keys that may have been taken for prefixes. */
static int tell_below(struct cli *cli)
{
    enum cli_presence presence;
    int status = CLI_OK;
    for (int i = 0; status == CLI_OK && i < cli->count; i++) {
        status = cli_presence_ask(cli, cli->words[i], &presence);
        if (status == CLI_OK && presence == PRESENCE_BELOW)
            cli_presence_tell(cli->words[i], "watch --prefix",
                              "prints those that change");
    }
    return status;
}

static int watch_keys(struct cli *cli)
{
    struct watching_keys watching = {.cli = cli};
    struct kx_buffer body;
    kx_buffer_init(&body, cli->memory);
    kx_buffer_init(&watching.frame, cli->memory);
    kx_buffer_init(&watching.line, cli->memory);
    for (int i = 0; i < cli->count; i++)
        if (!add_key(&watching, i, &body))
            return CLI_MISUSE;
    int status = tell_below(cli);
    if (status != CLI_OK)
        return status;
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/v2/watch"),
                            .body = kx_buffer_slice(&body),
                            .type = "application/x-protobuf",
                            .header = "x-denokv-version: 3",
                            .bytes = take_bytes,
                            .target = &watching};
    return cli_watch_ask(cli, &call, &watching.count);
}

int cli_watch(struct cli *cli)
{
    if (cli->prefix != NULL && cli->count > 0)
        return cli_misuse(cli, "--prefix stands alone");
    if (cli->prefix == NULL && cli->count == 0)
        return cli_misuse(cli, "a key or --prefix is missing");
    if (cli->form == CLI_DEFAULT)
        cli->form = CLI_JSON;
    return cli->prefix != NULL ? cli_watch_prefix(cli) : watch_keys(cli);
}
