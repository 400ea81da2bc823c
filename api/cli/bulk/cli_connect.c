/* Reads the pages of a store at a KV Connect address: the metadata exchange,
 * and snapshot_read with one range. */
#include "cli/bulk/cli_connect.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "cli/bulk/cli_interrupt.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/kvconnect.h"
#include "kvconnect/protobuf.h"

enum {
    TRIES_MAX = 8,
    PAUSE_MS = 100, /* before the first retry; each later pause is twice as long
                     */
    URL_MAX = 2000,
    SHOWN_BYTES = 200 /* of the source's message */
};

enum { UNAUTHORIZED = 401, FORBIDDEN = 403, TOO_LARGE = 413 };

struct post {
    const char *url;
    const char *path;
    const char *type;
    struct kx_slice body;
    bool data; /* a request of the data path */
};

/* ---- Addresses ---------------------------------------------------------- */

/* Returns a part of the URL in `mem`; NULL if the URL is not valid. With
 * `relative` the part is that of the address to which it leads from the URL. */
static char *url_part(const void *mem, const char *url, const char *relative,
                      CURLUPart part)
{
    CURLU *parsed = curl_url();
    char *text = NULL;
    char *copy = NULL;
    if (parsed != NULL &&
        curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
        (relative == NULL ||
         curl_url_set(parsed, CURLUPART_URL, relative, 0) == CURLUE_OK) &&
        curl_url_get(parsed, part, &text, 0) == CURLUE_OK)
        copy = talloc_strdup(mem, text);
    curl_free(text);
    curl_url_cleanup(parsed);
    return copy;
}

static bool is_loopback(const char *host)
{
    struct in_addr address;
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, &address) == 1 &&
            ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET);
}

static bool is_private(const char *scheme, const char *host)
{
    return strcmp(scheme, "https") == 0 ||
           (strcmp(scheme, "http") == 0 && is_loopback(host));
}

/* The token and the entries must not cross a network in the clear. */
static bool is_safe(const void *mem, const char *url)
{
    const char *scheme = url_part(mem, url, NULL, CURLUPART_SCHEME);
    const char *host = url_part(mem, url, NULL, CURLUPART_HOST);
    if (scheme == NULL || host == NULL || strlen(url) > URL_MAX)
        cli_fail("--from: \"%s\" is not an address such as "
                 "https://db.example/connect",
                 url);
    else if (is_private(scheme, host))
        return true;
    else
        cli_fail("--from: %s would send the token and the entries "
                 "unencrypted; http is only for this machine",
                 url);
    return false;
}

/* ---- Requests ----------------------------------------------------------- */

static size_t take_reply(char *data, size_t one, size_t size, void *target)
{
    struct kx_buffer *reply = target;
    kx_add(reply, data, one * size);
    return reply->failed || reply->size > CLI_REPLY_BYTES_MAX ? 0 : size;
}

static bool add_line(struct curl_slist **headers, const char *format,
                     const char *text)
{
    char line[256];
    snprintf(line, sizeof line, format, text);
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer != NULL)
        *headers = longer;
    return longer != NULL;
}

/* The headers by which the data path knows the store. Version 1 has another
 * name for the first, and no version header. */
static bool add_version(const struct cli_connect *source,
                        struct curl_slist **headers)
{
    char version[24];
    snprintf(version, sizeof version, "%" PRIu64, source->version);
    return source->version < 2
               ? add_line(headers, "x-transaction-domain-id: %.64s",
                          source->database)
               : add_line(headers, "x-denokv-database-id: %.64s",
                          source->database) &&
                     add_line(headers, "x-denokv-version: %s", version);
}

/* Sends one request. Returns its status, or 0 and *code_out without a reply. */
static long post_once(struct cli_connect *source, const struct post *post,
                      CURLcode *code_out)
{
    struct cli_call call = {.method = "POST",
                            .path = kx_text(post->path),
                            .body = post->body,
                            .type = post->type};
    struct curl_slist *headers;
    struct cli_pace pace;
    long status = 0;
    source->at.url = post->url;
    source->at.token = post->data ? source->token : source->secret;
    kx_buffer_clear(&source->reply);
    CURL *curl = cli_handle(&source->at, &call, &pace, &headers);
    *code_out = CURLE_OUT_OF_MEMORY;
    if (curl == NULL)
        return 0;
    if (!post->data || add_version(source, &headers)) {
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_reply);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &source->reply);
        *code_out = curl_easy_perform(curl);
    }
    if (*code_out == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    source->at.curl = curl;
    curl_slist_free_all(headers);
    return status;
}

static bool has_broken(CURLcode code)
{
    return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
           code == CURLE_SEND_ERROR || code == CURLE_PARTIAL_FILE;
}

/* True if the same request may succeed later. */
static bool may_retry(long status, CURLcode code)
{
    return status >= 500 || status == 429 || (status == 0 && has_broken(code));
}

/* Returns the size of the beginning of the reply that can be shown, in which
 * control characters become spaces. */
static int make_printable(struct kx_buffer *reply)
{
    size_t size = kx_utf8_fit(kx_buffer_slice(reply), SHOWN_BYTES);
    for (size_t i = 0; i < size; i++)
        if (reply->data[i] < ' ' || reply->data[i] == 0x7f)
            reply->data[i] = ' ';
    return (int)size;
}

static int refuse(struct cli_connect *source, long status, CURLcode code)
{
    if (status == 0) {
        cli_fail("%s: %s", source->at.url, curl_easy_strerror(code));
        return CLI_UNAVAILABLE;
    }
    int size = make_printable(&source->reply);
    cli_fail("%s answered %ld %.*s%s", source->at.url, status, size,
             (const char *)source->reply.data,
             status == UNAUTHORIZED || status == FORBIDDEN
                 ? "; --token-file names a file with a token of this store"
                 : "");
    return status >= 500 ? CLI_UNAVAILABLE : CLI_ERROR;
}

static bool is_accepted(const struct post *post, long status)
{
    return status == 200 ||
           (post->data && (status == UNAUTHORIZED || status == TOO_LARGE));
}

/* Sends a request, again if the source is overloaded or the connection breaks.
 * Sets *status_out to 200 or, on the data path, to UNAUTHORIZED or TOO_LARGE.
 * Returns the exit status, after printing any other failure. */
static int post_all(struct cli_connect *source, const struct post *post,
                    long *status_out)
{
    CURLcode code;
    uint64_t pause_ms = PAUSE_MS;
    for (unsigned tries = 1;; tries++, pause_ms *= 2) {
        *status_out = post_once(source, post, &code);
        if (is_accepted(post, *status_out))
            return CLI_OK;
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        if (!may_retry(*status_out, code) || tries == TRIES_MAX)
            return refuse(source, *status_out, code);
        usleep((useconds_t)(pause_ms * 1000));
    }
}

/* ---- The metadata exchange ---------------------------------------------- */

static bool list_endpoints(struct kx_slice document, struct kx_json_iter *iter)
{
    struct kx_slice list;
    return cli_json_member(document, "endpoints", &list) &&
           kx_json_iterate(list, iter);
}

/* Returns the address of the data path: the endpoint that reads the newest
 * state, or else the first one. */
static const char *find_endpoint(const struct cli *cli,
                                 struct kx_slice document)
{
    struct kx_slice none, endpoint;
    struct kx_json_iter iter;
    const char *url = NULL;
    if (!list_endpoints(document, &iter))
        return NULL;
    while (kx_json_next(&iter, &none, &endpoint)) {
        struct kx_slice consistency = {.size = 0};
        cli_json_member(endpoint, "consistency", &consistency);
        bool strong = kx_equal(consistency, kx_text("\"strong\""));
        if (strong || url == NULL)
            url = cli_text(cli, endpoint, "url");
        if (strong)
            break;
    }
    return url;
}

static bool is_known(const struct cli_connect *source)
{
    return source->version >= KVCONNECT_FIRST &&
           source->version <= KVCONNECT_LAST && source->database != NULL &&
           source->token != NULL && source->endpoint != NULL;
}

static bool read_metadata(struct cli_connect *source, struct kx_slice document)
{
    struct kx_fault fault;
    const struct cli *cli = &source->at;
    if (kx_json_check_document(document, &fault) != KX_OK)
        return false;
    const char *url = find_endpoint(cli, document);
    source->version = cli_number(document, "version");
    source->database = cli_text(cli, document, "databaseId");
    source->token = cli_text(cli, document, "token");
    source->endpoint = url == NULL ? NULL
                                   : url_part(cli->memory, source->address, url,
                                              CURLUPART_URL);
    return is_known(source);
}

static int exchange_metadata(struct cli_connect *source)
{
    const void *memory = source->at.memory;
    const char *path = url_part(memory, source->address, NULL, CURLUPART_PATH);
    const char *origin = url_part(memory, source->address, "/", CURLUPART_URL);
    long status;
    struct post post = {.url = origin,
                        .path = path,
                        .body = kx_text("{\"supportedVersions\":[1,2,3]}")};
    if (path == NULL || origin == NULL)
        return cli_fail("memory ran out");
    int exit = post_all(source, &post, &status);
    if (exit != CLI_OK)
        return exit;
    if (!read_metadata(source, kx_buffer_slice(&source->reply)))
        return cli_fail("%s is not a KV Connect address: its answer names no "
                        "store, or no version from %d to %d",
                        source->address, KVCONNECT_FIRST, KVCONNECT_LAST);
    return is_safe(memory, source->endpoint) ? CLI_OK : CLI_ERROR;
}

/* ---- Pages -------------------------------------------------------------- */

enum { READ_RANGES = 1 };
enum { RANGE_START = 1, RANGE_END, RANGE_LIMIT };

static bool make_read(struct cli_connect *source)
{
    struct kx_buffer *body = &source->body;
    kx_buffer_clear(body);
    size_t place = protobuf_open(READ_RANGES, body);
    protobuf_bytes(RANGE_START, kx_buffer_slice(&source->start), body);
    protobuf_bytes(RANGE_END, kx_text("\xff"), body);
    protobuf_number(RANGE_LIMIT, (uint64_t)source->rows, body);
    protobuf_close(place, body);
    return !body->failed;
}

/* True if the page is the newest state. */
static bool is_current(const struct cli_connect *source)
{
    const Datapath__SnapshotReadOutput *page = source->page;
    return page != NULL && !page->read_disabled &&
           page->read_is_strongly_consistent && page->n_ranges == 1 &&
           (source->version < 3 ||
            page->status == DATAPATH__SNAPSHOT_READ_STATUS__SR_SUCCESS);
}

static void free_page(struct cli_connect *source)
{
    if (source->page != NULL)
        datapath__snapshot_read_output__free_unpacked(source->page, NULL);
    source->page = NULL;
}

/* Prepares another try after a status that is accepted on the data path: a page
 * that is too large is asked for with fewer entries; if the token is no longer
 * valid, the metadata has another one. Returns the exit status, after printing
 * a failure. */
static int adapt(struct cli_connect *source, long status, bool *renewed)
{
    if (status == TOO_LARGE && source->rows > 1) {
        source->rows /= 2;
        return CLI_OK;
    }
    if (status == TOO_LARGE || *renewed)
        return refuse(source, status, CURLE_OK);
    *renewed = true;
    return exchange_metadata(source);
}

/* Reads the next page into source->reply. */
static int ask_page(struct cli_connect *source)
{
    bool renewed = false;
    for (;;) {
        long status;
        if (!make_read(source))
            return cli_fail("memory ran out");
        struct post post = {.url = source->endpoint,
                            .path = "/snapshot_read",
                            .type = "application/x-protobuf",
                            .body = kx_buffer_slice(&source->body),
                            .data = true};
        int exit = post_all(source, &post, &status);
        if (exit == CLI_OK && status != 200)
            exit = adapt(source, status, &renewed);
        if (exit != CLI_OK || status == 200)
            return exit;
    }
}

/* Sets where the page after this one begins: at the smallest key after the last
 * entry. */
static bool set_start(struct cli_connect *source)
{
    const Datapath__ReadRangeOutput *range = source->page->ranges[0];
    source->last = range->n_values < (size_t)source->rows;
    if (range->n_values == 0)
        return true;
    kx_buffer_clear(&source->start);
    kx_add_slice(&source->start,
                 protobuf_slice(range->values[range->n_values - 1]->key));
    kx_add_byte(&source->start, 0);
    return !source->start.failed;
}

static int read_page(struct cli_connect *source)
{
    int exit = ask_page(source);
    free_page(source);
    source->next = 0;
    if (exit != CLI_OK)
        return exit;
    source->page = datapath__snapshot_read_output__unpack(
        NULL, source->reply.size, source->reply.data);
    if (!is_current(source))
        return cli_fail("%s gave no current page of its entries: the answer is "
                        "not of the protocol, or reads are disabled",
                        source->endpoint);
    return set_start(source) ? CLI_OK : cli_fail("memory ran out");
}

/* True if the page has further entries. */
static bool is_in_page(const struct cli_connect *source)
{
    return source->page != NULL &&
           source->next < source->page->ranges[0]->n_values;
}

int cli_connect_next(struct cli_connect *source,
                     struct cli_connect_entry *entry_out)
{
    *entry_out = (struct cli_connect_entry){.found = false};
    while (!is_in_page(source)) {
        if (source->page != NULL && source->last)
            return CLI_OK;
        int exit = read_page(source);
        if (exit != CLI_OK)
            return exit;
    }
    const Datapath__KvEntry *entry =
        source->page->ranges[0]->values[source->next++];
    if (entry->versionstamp.len != KX_STAMP_BYTES)
        return cli_fail("%s gave an entry without a versionstamp",
                        source->endpoint);
    *entry_out = (struct cli_connect_entry){
        .found = true,
        .entry = {.key = protobuf_slice(entry->key),
                  .value = protobuf_slice(entry->value),
                  .encoding = entry->encoding}};
    kx_hex_write(protobuf_slice(entry->versionstamp), entry_out->stamp);
    return CLI_OK;
}

void cli_connect_after(struct cli_connect *source, struct kx_slice key)
{
    free_page(source);
    source->last = false;
    kx_buffer_clear(&source->start);
    kx_add_slice(&source->start, key);
    kx_add_byte(&source->start, 0);
}

/* ---- Opening ------------------------------------------------------------ */

/* Reads the first line of the file, without its end. */
static bool read_token(struct cli_connect *source, const char *path)
{
    struct kx_buffer text;
    if (path == NULL)
        return true;
    kx_buffer_init(&text, source->at.memory);
    if (!cli_input(path, &text))
        return false;
    kx_add_byte(&text, '\0');
    if (text.failed)
        return cli_fail("memory ran out") == CLI_OK;
    char *token = (char *)text.data;
    token[strcspn(token, "\r\n")] = '\0';
    source->secret = token;
    return true;
}

int cli_connect_open(struct cli_connect *source, const struct cli *cli)
{
    *source = (struct cli_connect){
        .at = *cli, .address = cli->from, .rows = KVCONNECT_ROWS_MAX};
    source->at.curl = NULL;
    source->at.cacert = NULL;
    source->at.client_cert = source->at.client_key = NULL;
    kx_buffer_init(&source->reply, cli->memory);
    kx_buffer_init(&source->body, cli->memory);
    kx_buffer_init(&source->start, cli->memory);
    if (!is_safe(cli->memory, cli->from) ||
        !read_token(source, cli->token_file))
        return CLI_ERROR;
    int exit = exchange_metadata(source);
    if (exit == CLI_OK)
        cli_connect_after(source, kx_slice(NULL, 0));
    return exit;
}

void cli_connect_end(struct cli_connect *source)
{
    free_page(source);
    cli_http_end(&source->at);
}
