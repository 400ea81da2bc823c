/* Requests one after the other on one connection, with libcurl. */
#include "cli/cli_http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <talloc.h>

enum {
    CONNECT_SECONDS = 10,
    RATE_MIN = 64 /* bytes per second, during the --timeout */
};

/* A reply that is being received. */
struct incoming {
    CURL *curl;
    const struct cli_call *call;
    struct cli_reply *reply;
    struct cli_pace pace;
    struct kx_buffer line; /* the incomplete line */
    bool stopped;          /* call->line or call->bytes returned false */
};

/* Copies the value of the header line if it has this name. */
static void copy_header(const char *name, struct kx_slice line, char *out,
                        size_t size)
{
    size_t start = strlen(name);
    if (line.size <= start ||
        strncasecmp((const char *)line.data, name, start) != 0)
        return;
    struct kx_slice value = kx_slice(line.data + start, line.size - start);
    while (value.size > 0 && value.data[0] == ' ')
        value = kx_slice(value.data + 1, value.size - 1);
    while (value.size > 0 && value.data[value.size - 1] <= ' ')
        value.size--;
    snprintf(out, size, "%.*s", (int)value.size, (const char *)value.data);
}

static size_t take_header(char *data, size_t one, size_t size, void *target)
{
    struct cli_reply *reply = target;
    struct kx_slice line = kx_slice(data, size);
    copy_header("ETag:", line, reply->etag, sizeof reply->etag);
    copy_header("Content-Type:", line, reply->type, sizeof reply->type);
    copy_header("Kindex-Backup-Size:", line, reply->size, sizeof reply->size);
    return one * size;
}

/* Passes on the lines that end in data. False: the stream is stopped. */
static bool take_lines(struct incoming *incoming, const char *data, size_t size)
{
    const char *end;
    while ((end = memchr(data, '\n', size)) != NULL) {
        struct kx_slice line = kx_slice(data, (size_t)(end - data));
        if (incoming->line.size > 0) {
            kx_add_slice(&incoming->line, line);
            line = kx_buffer_slice(&incoming->line);
        }
        if (incoming->line.failed ||
            !incoming->call->line(incoming->call->target, line)) {
            incoming->stopped = !incoming->line.failed;
            return false;
        }
        incoming->line.size = 0;
        size -= (size_t)(end + 1 - data);
        data = end + 1;
    }
    kx_add(&incoming->line, data, size);
    return !incoming->line.failed && incoming->line.size < CLI_REPLY_BYTES_MAX;
}

/* Passes part of a stream on, as lines or as bytes. This may take any time,
 * because the reader of standard output may pause. */
static bool stream_body(struct incoming *incoming, const char *data,
                        size_t size)
{
    const struct cli_call *call = incoming->call;
    uint64_t begun_ns = kx_monotonic_ns();
    bool taken;
    if (call->line != NULL) {
        taken = take_lines(incoming, data, size);
    } else {
        taken = call->bytes(call->target, kx_slice(data, size));
        incoming->stopped = !taken;
    }
    incoming->pace.busy_ns += kx_monotonic_ns() - begun_ns;
    return taken;
}

static size_t take_body(char *data, size_t one, size_t size, void *target)
{
    struct incoming *incoming = target;
    const struct cli_call *call = incoming->call;
    long status = 0;
    (void)one;
    curl_easy_getinfo(incoming->curl, CURLINFO_RESPONSE_CODE, &status);
    if ((call->line != NULL || call->bytes != NULL) && status / 100 == 2)
        return stream_body(incoming, data, size) ? size : 0;
    kx_add(&incoming->reply->body, data, size);
    return incoming->reply->body.failed ||
                   incoming->reply->body.size > CLI_REPLY_BYTES_MAX
               ? 0
               : size;
}

/* Appends a header line. False if it has control characters: a line end would
 * begin another header. */
static bool add_line(struct curl_slist **headers, const char *line)
{
    for (const char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            return false;
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer != NULL)
        *headers = longer;
    return longer != NULL;
}

static bool add_header(struct curl_slist **headers, const char *name,
                       const char *value)
{
    char line[1024];
    int size = snprintf(line, sizeof line, "%s: %s", name, value);
    return size < (int)sizeof line && add_line(headers, line);
}

static bool add_token(struct curl_slist **headers, const char *token)
{
    char bearer[900];
    int size = snprintf(bearer, sizeof bearer, "Bearer %s", token);
    return size < (int)sizeof bearer &&
           add_header(headers, "Authorization", bearer);
}

static bool add_type(struct curl_slist **headers, const struct cli_call *call)
{
    const char *type = call->type != NULL ? call->type : "application/json";
    return call->body.data == NULL || add_header(headers, "Content-Type", type);
}

/* An empty Expect header stops libcurl from waiting for "100 Continue" before a
 * large body. */
static bool make_headers(const struct cli *cli, const struct cli_call *call,
                         struct curl_slist **headers)
{
    *headers = NULL;
    return add_line(headers, "Expect:") && add_type(headers, call) &&
           (cli->token == NULL || add_token(headers, cli->token)) &&
           (call->accept == NULL ||
            add_header(headers, "Accept", call->accept)) &&
           (call->header == NULL || add_line(headers, call->header));
}

static bool set_address(struct cli *cli, CURL *curl, struct kx_slice path)
{
    size_t size = strlen(cli->url);
    if (path.size == 0)
        return false;
    while (size > 0 && cli->url[size - 1] == '/')
        size--;
    char *address =
        talloc_asprintf(cli->memory, "%.*s%.*s", (int)size, cli->url,
                        (int)path.size, (const char *)path.data);
    bool done = address != NULL &&
                curl_easy_setopt(curl, CURLOPT_URL, address) == CURLE_OK;
    talloc_free(address);
    return done;
}

static bool set_body(CURL *curl, struct kx_slice body)
{
    return body.data == NULL ||
           (curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                             (curl_off_t)body.size) == CURLE_OK &&
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data) == CURLE_OK);
}

static bool set_up(struct cli *cli, CURL *curl, const struct cli_call *call,
                   struct curl_slist **headers)
{
    return set_address(cli, curl, call->path) && set_body(curl, call->body) &&
           make_headers(cli, call, headers) &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method) ==
               CURLE_OK;
}

static bool set_file(CURL *curl, CURLoption option, const char *file)
{
    return file == NULL || curl_easy_setopt(curl, option, file) == CURLE_OK;
}

/* At least TLS 1.2, as for the server. */
static bool set_tls(const struct cli *cli, CURL *curl)
{
    return curl_easy_setopt(curl, CURLOPT_SSLVERSION,
                            (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           set_file(curl, CURLOPT_CAINFO, cli->cacert) &&
           set_file(curl, CURLOPT_SSLCERT, cli->client_cert) &&
           set_file(curl, CURLOPT_SSLKEY, cli->client_key);
}

/* libcurl calls this when bytes arrive, and about once per second. A nonzero
 * result ends the request. */
static int check_pace(void *target, curl_off_t to_come, curl_off_t come,
                      curl_off_t to_go, curl_off_t gone)
{
    struct cli_pace *pace = target;
    uint64_t now_ns = kx_monotonic_ns() - pace->busy_ns;
    double seconds = (double)pace->timeout_ns / 1e9;
    (void)to_come;
    (void)to_go;
    if ((double)(come + gone - pace->bytes) >= RATE_MIN * seconds) {
        pace->begun_ns = now_ns;
        pace->bytes = come + gone;
    }
    return now_ns - pace->begun_ns >= pace->timeout_ns;
}

static void set_pace(CURL *curl, struct cli_pace *pace, uint64_t timeout_ms)
{
    *pace = (struct cli_pace){.timeout_ns = timeout_ms * KX_MS_NS,
                              .begun_ns = kx_monotonic_ns()};
    if (timeout_ms == 0)
        return;
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, pace);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_pace);
}

CURL *cli_handle(struct cli *cli, const struct cli_call *call,
                 struct cli_pace *pace, struct curl_slist **headers_out)
{
    CURL *curl = cli->curl != NULL ? cli->curl : curl_easy_init();
    *headers_out = NULL;
    cli->curl = NULL;
    if (curl == NULL)
        return NULL;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "kindex/" KX_VERSION);
    set_pace(curl, pace, call->may_pause ? 0 : cli->timeout_ms);
    if (set_tls(cli, curl) && set_up(cli, curl, call, headers_out))
        return curl;
    curl_slist_free_all(*headers_out);
    curl_easy_cleanup(curl);
    return NULL;
}

/* Prints that there is no connection, with the system's reason if there is one.
 */
static int no_connection(const struct cli *cli, CURL *curl, CURLcode code)
{
    long error = 0;
    curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
    cli_fail("no server answers at %s (%s); start one with kindex serve, or "
             "give --url or KINDEX_URL",
             cli->url,
             code == CURLE_COULDNT_CONNECT && error != 0
                 ? strerror((int)error)
                 : curl_easy_strerror(code));
    return CLI_UNAVAILABLE;
}

static int too_slow(const struct cli *cli)
{
    cli_fail("the answer of %s came at less than %d bytes per second for %.1f "
             "s; --timeout waits longer",
             cli->url, RATE_MIN, (double)cli->timeout_ms / 1000);
    return CLI_UNAVAILABLE;
}

int cli_unreachable(const struct cli *cli, CURL *curl, CURLcode code)
{
    switch ((int)code) {
    case CURLE_WRITE_ERROR:
        return cli_fail("the reply of %s cannot be read: memory ran out, or "
                        "it has more than %d MiB",
                        cli->url, CLI_REPLY_BYTES_MAX >> 20);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return cli_misuse(cli,
                          "--url: \"%s\" is not a URL such as "
                          "http://127.0.0.1:4512",
                          cli->url);
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_OPERATION_TIMEDOUT: /* CONNECT_SECONDS */
        return no_connection(cli, curl, code);
    case CURLE_ABORTED_BY_CALLBACK:
        return too_slow(cli);
    case CURLE_PEER_FAILED_VERIFICATION:
        return cli_fail(
            "the certificate of the server at %s is not trusted; --cacert or "
            "KINDEX_CACERT names a file with the authorities to trust",
            cli->url);
    case CURLE_SSL_CONNECT_ERROR:
        cli_fail("no TLS with %s: does it speak https, and does it require a "
                 "--client-cert?",
                 cli->url);
        return CLI_UNAVAILABLE;
    case CURLE_SSL_CACERT_BADFILE:
        return cli_fail("--cacert %s: the file cannot be used", cli->cacert);
    case CURLE_SSL_CERTPROBLEM:
        return cli_fail("--client-cert or --client-key: the file cannot be "
                        "used");
    default:
        cli_fail("%s: %s", cli->url, curl_easy_strerror(code));
        return CLI_UNAVAILABLE;
    }
}

static int transfer(struct cli *cli, struct incoming *incoming)
{
    CURL *curl = incoming->curl;
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, incoming);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, incoming->reply);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &incoming->reply->status);
    if (code == CURLE_OK || incoming->stopped)
        return CLI_OK;
    return cli_unreachable(cli, curl, code);
}

int cli_send(struct cli *cli, const struct cli_call *call,
             struct cli_reply *reply)
{
    struct curl_slist *headers;
    struct incoming incoming = {.call = call, .reply = reply};
    *reply = (struct cli_reply){.status = 0};
    kx_buffer_init(&reply->body, cli->memory);
    kx_buffer_init(&incoming.line, cli->memory);
    incoming.curl = cli_handle(cli, call, &incoming.pace, &headers);
    if (incoming.curl == NULL)
        return cli_fail("the request to %s cannot be made: a header is too "
                        "long or has control characters, or memory ran out",
                        cli->url);
    int status = transfer(cli, &incoming);
    cli->curl = incoming.curl;
    curl_slist_free_all(headers);
    kx_buffer_free(&incoming.line);
    return status;
}

bool cli_is_json(const struct cli_reply *reply)
{
    struct kx_fault fault;
    return kx_json_check_document(kx_buffer_slice(&reply->body), &fault) ==
           KX_OK;
}

void cli_http_end(struct cli *cli)
{
    if (cli->curl != NULL)
        curl_easy_cleanup(cli->curl);
    cli->curl = NULL;
}
