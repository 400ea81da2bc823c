/* Batches of entries as commits, several at a time. */
#include "cli/bulk/cli_pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <talloc.h>

#include "cli/cli_json.h"
#include "cli/cli_http.h"

enum {
    TRIES_MAX = 11,
    WAIT_MS = 1000,
    SHORT_WAIT_MS = 20,
    HEADER_MAX = 128 /* bytes of the line with the key of a commit */
};

/* The first pause; each later pause is twice as long. Together they last longer
 * than the minute over which a token's requests are counted. */
static const uint64_t PAUSE_NS = 50000000;

bool cli_pipeline_begin(struct cli_pipeline *pipeline, struct cli *cli,
                        size_t count)
{
    uint8_t run[CLI_PIPELINE_RUN_BYTES];
    *pipeline = (struct cli_pipeline){
        .cli = cli, .multi = curl_multi_init(), .slot_count = count};
    pipeline->slots =
        talloc_zero_array(cli->memory, struct cli_pipeline_slot, count);
    if (pipeline->slots == NULL || pipeline->multi == NULL ||
        getrandom(run, sizeof run, 0) != (ssize_t)sizeof run)
        return false;
    kx_hex_write(kx_slice(run, sizeof run), pipeline->run);
    for (size_t i = 0; i < count; i++) {
        kx_buffer_init(&pipeline->slots[i].texts, cli->memory);
        kx_buffer_init(&pipeline->slots[i].body, cli->memory);
        kx_buffer_init(&pipeline->slots[i].reply, cli->memory);
    }
    return true;
}

struct cli_pipeline_slot *
cli_pipeline_filling(struct cli_pipeline *pipeline,
                     const struct cli_pipeline_place *from)
{
    struct cli_pipeline_slot *free_slot = NULL;
    for (size_t i = 0; i < pipeline->slot_count; i++) {
        if (pipeline->slots[i].state == SLOT_FILLING)
            return &pipeline->slots[i];
        if (pipeline->slots[i].state == SLOT_FREE)
            free_slot = &pipeline->slots[i];
    }
    if (free_slot == NULL)
        return NULL;
    free_slot->state = SLOT_FILLING;
    free_slot->from = *from;
    free_slot->commit = ++pipeline->commits;
    free_slot->count = free_slot->tries = 0;
    free_slot->texts.size = 0;
    return free_slot;
}

bool cli_pipeline_busy(const struct cli_pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->slot_count; i++)
        if (pipeline->slots[i].state >= SLOT_SENT)
            return true;
    return false;
}

struct cli_pipeline_place
cli_pipeline_stored(const struct cli_pipeline *pipeline,
                    const struct cli_pipeline_place *read)
{
    const struct cli_pipeline_place *safe = read;
    for (size_t i = 0; i < pipeline->slot_count; i++)
        if (pipeline->slots[i].state != SLOT_FREE &&
            pipeline->slots[i].from.at < safe->at)
            safe = &pipeline->slots[i].from;
    return *safe;
}

/* ---- Sending ------------------------------------------------------------ */

static void add_text(const struct cli_pipeline_slot *slot, size_t at,
                     size_t size, struct kx_buffer *out)
{
    kx_add(out, slot->texts.data + at, size);
}

static void add_checks(struct cli_pipeline_slot *slot)
{
    const char *before = "{\"key\":";
    kx_add_text(&slot->body, "\"checks\":[");
    for (size_t i = 0; i < slot->count; i++) {
        if (slot->items[i].dropped)
            continue;
        kx_add_text(&slot->body, before);
        add_text(slot, slot->items[i].key, slot->items[i].key_size,
                 &slot->body);
        kx_add_text(&slot->body, ",\"versionstamp\":");
        if (slot->items[i].check_size == 0)
            kx_add_text(&slot->body, "null");
        else
            add_text(slot, slot->items[i].check, slot->items[i].check_size,
                     &slot->body);
        kx_add_byte(&slot->body, '}');
        before = ",{\"key\":";
    }
    kx_add_text(&slot->body, "],");
}

static bool make_body(const struct cli *cli, struct cli_pipeline_slot *slot)
{
    bool first = true;
    slot->body.size = 0;
    kx_add_byte(&slot->body, '{');
    if (!cli->overwrite)
        add_checks(slot);
    kx_add_text(&slot->body, "\"mutations\":[");
    for (size_t i = 0; i < slot->count; i++) {
        if (slot->items[i].dropped)
            continue;
        if (!first)
            kx_add_byte(&slot->body, ',');
        add_text(slot, slot->items[i].mutation, slot->items[i].mutation_size,
                 &slot->body);
        first = false;
    }
    kx_add_text(&slot->body, cli->dry_run ? "],\"dry\":true}" : "]}");
    return !slot->body.failed;
}

static size_t take_reply(char *data, size_t one, size_t size, void *target)
{
    struct kx_buffer *reply = target;
    kx_add(reply, data, one * size);
    return reply->failed || reply->size > CLI_REPLY_BYTES_MAX ? 0 : size;
}

static void fail(struct cli_pipeline *pipeline, struct cli_pipeline_slot *slot,
                 int status)
{
    slot->state = SLOT_FAILED;
    if (pipeline->status == CLI_OK)
        pipeline->status = status;
}

static void start_request(struct cli_pipeline *pipeline,
                          struct cli_pipeline_slot *slot)
{
    struct cli *cli = pipeline->cli;
    char header[HEADER_MAX];
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/atomic"),
                            .header = cli->dry_run ? NULL : header,
                            .body = kx_buffer_slice(&slot->body)};
    snprintf(header, sizeof header, "Idempotency-Key: \"%s-%llu\"",
             pipeline->run, (unsigned long long)slot->commit);
    void *other = cli->curl;
    cli->curl = slot->curl;
    slot->curl = cli_handle(cli, &call, &slot->pace, &slot->headers);
    cli->curl = other;
    if (slot->curl == NULL) {
        fail(pipeline, slot, cli_fail("memory ran out"));
        return;
    }
    slot->reply.size = 0;
    slot->state = SLOT_SENT;
    curl_easy_setopt(slot->curl, CURLOPT_WRITEFUNCTION, take_reply);
    curl_easy_setopt(slot->curl, CURLOPT_WRITEDATA, &slot->reply);
    curl_easy_setopt(slot->curl, CURLOPT_PRIVATE, slot);
    curl_multi_add_handle(pipeline->multi, slot->curl);
}

void cli_pipeline_send(struct cli_pipeline *pipeline,
                       struct cli_pipeline_slot *slot)
{
    if (slot->count == 0)
        slot->state = SLOT_FREE;
    else if (make_body(pipeline->cli, slot))
        start_request(pipeline, slot);
    else
        fail(pipeline, slot, cli_fail("memory ran out"));
}

/* ---- Answers ------------------------------------------------------------ */

/* Returns the n-th item of the document that was sent, or NULL if it has fewer
 * items. */
static struct cli_pipeline_item *sent_item(struct cli_pipeline_slot *slot,
                                           uint64_t n)
{
    for (size_t i = 0; i < slot->count; i++)
        if (!slot->items[i].dropped && n-- == 0)
            return &slot->items[i];
    return NULL;
}

/* Drops the entries that the store already has. The numbers refer to the
 * document that was sent, so all items are looked up before the first is
 * dropped. */
static size_t drop_present(struct cli_pipeline_slot *slot,
                           struct kx_slice failed)
{
    struct cli_pipeline_item *present[CLI_PIPELINE_ENTRIES_MAX];
    struct kx_json_iter iter;
    struct kx_slice name, check, number;
    size_t count = 0;
    if (!kx_json_iterate(failed, &iter))
        return 0;
    while (count < CLI_PIPELINE_ENTRIES_MAX &&
           kx_json_next(&iter, &name, &check))
        if (cli_json_member(check, "check", &number) &&
            (present[count] = sent_item(
                 slot, strtoull((const char *)number.data, NULL, 10))) != NULL)
            count++;
    for (size_t i = 0; i < count; i++)
        present[i]->dropped = true;
    return count;
}

/* Frees the slot of a batch that has its final answer, which is NULL if all
 * items are dropped. */
static void end_batch(const struct cli_pipeline *pipeline,
                      struct cli_pipeline_slot *slot,
                      const struct kx_slice *document)
{
    struct kx_slice stamp = {.size = 0};
    if (document != NULL &&
        cli_json_member(*document, "versionstamp", &stamp) && stamp.size > 2 &&
        stamp.data[0] == '"')
        stamp = kx_slice(stamp.data + 1, stamp.size - 2);
    else
        stamp.size = 0;
    slot->state = SLOT_FREE;
    if (pipeline->stored_fn != NULL)
        pipeline->stored_fn(pipeline->target, slot, stamp);
}

static bool again_without_present(struct cli_pipeline *pipeline,
                                  struct cli_pipeline_slot *slot,
                                  struct kx_slice document)
{
    struct kx_slice failed;
    size_t dropped = cli_json_member(document, "failedChecks", &failed)
                         ? drop_present(slot, failed)
                         : 0;
    pipeline->kept += dropped;
    if (dropped == 0)
        return false;
    slot->commit = ++pipeline->commits;
    if (sent_item(slot, 0) == NULL)
        end_batch(pipeline, slot, NULL);
    else
        cli_pipeline_send(pipeline, slot);
    return true;
}

/* Returns the item that a problem document refers to, by number or by a pointer
 * into the document that was sent, whose checks and mutations have the order of
 * the items. */
static struct cli_pipeline_item *meant_item(const struct cli *cli,
                                            struct cli_pipeline_slot *slot)
{
    struct kx_slice document = kx_buffer_slice(&slot->reply);
    struct kx_fault fault;
    struct kx_slice number;
    unsigned long long n;
    if (kx_json_check_document(document, &fault) != KX_OK)
        return NULL;
    if (cli_json_member(document, "mutation", &number))
        return sent_item(slot, strtoull((const char *)number.data, NULL, 10));
    const char *pointer = cli_text(cli, document, "pointer");
    if (pointer != NULL && (sscanf(pointer, "/mutations/%llu", &n) == 1 ||
                            sscanf(pointer, "/checks/%llu", &n) == 1))
        return sent_item(slot, n);
    return NULL;
}

/* Prints the lines or the key of the input that a refused batch came from, if
 * the reason lies in the batch. */
static void tell_lines(struct cli_pipeline *pipeline,
                       struct cli_pipeline_slot *slot, long status)
{
    const struct cli_pipeline_item *item = meant_item(pipeline->cli, slot);
    unsigned long long first = slot->items[0].line;
    unsigned long long last = slot->items[slot->count - 1].line;
    if (item != NULL)
        first = last = item->line;
    else if (status != 400 && status != 413 && status != 422)
        return;
    pipeline->refused = true;
    if (pipeline->cli->from != NULL) {
        if (item != NULL)
            cli_fail("that is the entry %.*s", (int)item->key_size,
                     (const char *)slot->texts.data + item->key);
        return;
    }
    if (first == last)
        cli_fail("that is line %llu", first);
    else
        cli_fail("that is in lines %llu to %llu", first, last);
}

static void refuse(struct cli_pipeline *pipeline,
                   struct cli_pipeline_slot *slot, long status)
{
    struct cli_reply reply = {.status = status, .body = slot->reply};
    slot->state = SLOT_FAILED;
    if (pipeline->status != CLI_OK) /* only the first failure is printed */
        return;
    int code = cli_problem(pipeline->cli, &reply);
    tell_lines(pipeline, slot, status);
    fail(pipeline, slot, code != CLI_OK ? code : CLI_ERROR);
}

/* Schedules a retry of the slot. False after too many retries, or after a
 * failure of another slot. */
static bool retry_later(const struct cli_pipeline *pipeline,
                        struct cli_pipeline_slot *slot)
{
    if (slot->tries >= TRIES_MAX || pipeline->status != CLI_OK)
        return false;
    slot->due_ns = kx_monotonic_ns() + (PAUSE_NS << slot->tries++);
    slot->state = SLOT_WAITING;
    return true;
}

/* True if the same request may succeed later: the server was overloaded, or it
 * is unknown whether it has stored the batch. */
static bool may_retry(long status)
{
    return status == 503 || status == 429;
}

/* True if the connection broke, or if it cannot be made although the server has
 * answered before: the server is probably restarting. */
static bool has_broken(const struct cli_pipeline *pipeline, CURLcode code)
{
    return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
           code == CURLE_SEND_ERROR || code == CURLE_PARTIAL_FILE ||
           code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM ||
           (code == CURLE_COULDNT_CONNECT && pipeline->answered);
}

static void count_stored(struct cli_pipeline *pipeline,
                         struct cli_pipeline_slot *slot,
                         struct kx_slice document)
{
    for (size_t i = 0; i < slot->count; i++)
        pipeline->stored += !slot->items[i].dropped;
    end_batch(pipeline, slot, &document);
}

/* Processes a complete reply. */
static void take_answer(struct cli_pipeline *pipeline,
                        struct cli_pipeline_slot *slot, long status)
{
    struct kx_slice document = kx_buffer_slice(&slot->reply);
    struct kx_fault fault;
    bool checked = kx_json_check_document(document, &fault) == KX_OK;
    bool present = status == 409 && checked && !pipeline->cli->overwrite;
    if (status == 200 && checked)
        count_stored(pipeline, slot, document);
    else if (!(may_retry(status) && retry_later(pipeline, slot)) &&
             !(present && again_without_present(pipeline, slot, document)))
        refuse(pipeline, slot, status);
}

static void finish(struct cli_pipeline *pipeline,
                   struct cli_pipeline_slot *slot, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(slot->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(slot->headers);
    slot->headers = NULL;
    pipeline->answered = pipeline->answered || code == CURLE_OK;
    if (code == CURLE_OK)
        take_answer(pipeline, slot, status);
    else if (has_broken(pipeline, code) && retry_later(pipeline, slot))
        return;
    else if (pipeline->status == CLI_OK)
        fail(pipeline, slot, cli_unreachable(pipeline->cli, slot->curl, code));
    else
        slot->state = SLOT_FAILED;
}

/* Sends the waiting slots that are due. False: no slot waits. */
static bool send_due(struct cli_pipeline *pipeline)
{
    bool waits = false;
    for (size_t i = 0; i < pipeline->slot_count; i++) {
        struct cli_pipeline_slot *slot = &pipeline->slots[i];
        if (slot->state != SLOT_WAITING)
            continue;
        waits = true;
        if (kx_monotonic_ns() >= slot->due_ns)
            cli_pipeline_send(pipeline, slot);
    }
    return waits;
}

/* Returns true if there was an answer. */
static bool finish_all(struct cli_pipeline *pipeline)
{
    int running, left;
    bool any = false;
    CURLMsg *message;
    curl_multi_perform(pipeline->multi, &running);
    while ((message = curl_multi_info_read(pipeline->multi, &left)) != NULL) {
        char *slot = NULL;
        CURLcode code = message->data.result;
        CURL *curl = message->easy_handle;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &slot);
        curl_multi_remove_handle(pipeline->multi, curl);
        finish(pipeline, (struct cli_pipeline_slot *)(void *)slot, code);
        any = true;
    }
    return any;
}

void cli_pipeline_poll(struct cli_pipeline *pipeline)
{
    send_due(pipeline);
    finish_all(pipeline);
}

void cli_pipeline_wait(struct cli_pipeline *pipeline, int input)
{
    struct curl_waitfd wait = {.fd = input, .events = CURL_WAIT_POLLIN};
    bool retries = send_due(pipeline);
    if (finish_all(pipeline) || (input < 0 && !cli_pipeline_busy(pipeline)))
        return;
    curl_multi_poll(pipeline->multi, &wait, input >= 0,
                    retries ? SHORT_WAIT_MS : WAIT_MS, NULL);
    finish_all(pipeline);
}

void cli_pipeline_end(struct cli_pipeline *pipeline)
{
    for (size_t i = 0; pipeline->slots != NULL && i < pipeline->slot_count;
         i++) {
        curl_easy_cleanup(pipeline->slots[i].curl);
        curl_slist_free_all(pipeline->slots[i].headers);
    }
    curl_multi_cleanup(pipeline->multi);
}
