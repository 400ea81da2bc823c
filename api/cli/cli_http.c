/* Requests to the server: paths, the transfer with libcurl on one connection,
 * and what the statuses of replies mean. */
#include "cli/cli_http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <talloc.h>

#include "cli/cli_json.h"
#include "cli/cli_terminal.h"
#include "http/percent.h"
#include "rest/key_text.h"

/* ---- Paths -------------------------------------------------------------- */

/* Keys are as the user typed them: characters that a URL must not contain are
 * escaped, existing escapes stay. */

struct kx_slice cli_whole(const struct kx_buffer *path)
{
    return path->failed ? kx_slice(NULL, 0) : kx_buffer_slice(path);
}

void cli_add_key(struct kx_buffer *path, const char *key)
{
    for (; *key != '\0'; key++) {
        unsigned char byte = (unsigned char)*key;
        if (byte < 0x80 && (isalnum(byte) || strchr("-._~%/=:@!$'()*,;", byte)))
            kx_add_byte(path, byte);
        else
            percent_encode(kx_slice(key, 1), path);
    }
}

/* Reads the path of a key; `text` is what the user typed. */
static bool read_path(const struct cli *cli, struct kx_slice path,
                      const char *text, struct kx_buffer *out)
{
    struct input_error error;
    if (key_text_from_path(path, out, &error))
        return true;
    cli_misuse(cli, "%s: %s", text, error.detail);
    return false;
}

bool cli_read_key(const struct cli *cli, const char *text,
                  struct kx_buffer *out)
{
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    cli_add_key(&path, text);
    return read_path(cli, cli_whole(&path), text, out);
}

bool cli_read_prefix(const struct cli *cli, const char *text,
                     struct kx_buffer *out)
{
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    cli_add_key(&path, text);
    if (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    return read_path(cli, cli_whole(&path), text, out);
}

static void add_name(struct kx_buffer *path, const char *name)
{
    bool first = path->size == 0 || memchr(path->data, '?', path->size) == NULL;
    kx_add_byte(path, first ? '?' : '&');
    kx_add_text(path, name);
    kx_add_byte(path, '=');
}

void cli_add_key_parameter(struct kx_buffer *path, const char *name,
                           const char *key)
{
    if (key == NULL)
        return;
    add_name(path, name);
    cli_add_key(path, key);
}

void cli_add_parameter(struct kx_buffer *path, const char *name,
                       const char *text)
{
    if (text == NULL)
        return;
    add_name(path, name);
    percent_encode(kx_text(text), path);
}

void cli_entry_path(const struct cli *cli, const char *key,
                    struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/kv/");
    cli_add_key(path, key);
}

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
    bool stopped;          /* a function of the call returned false */
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

/* The transfer callback of libcurl for a call with a tick. */
static int pass_tick(void *target, curl_off_t to_come, curl_off_t come,
                     curl_off_t to_go, curl_off_t gone)
{
    struct incoming *incoming = target;
    (void)to_come;
    (void)come;
    (void)to_go;
    (void)gone;
    incoming->stopped =
        incoming->stopped || !incoming->call->tick(incoming->call->target);
    return incoming->stopped;
}

static void set_tick(CURL *curl, struct incoming *incoming)
{
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, incoming);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, pass_tick);
}

static int transfer(struct cli *cli, struct incoming *incoming)
{
    CURL *curl = incoming->curl;
    if (incoming->call->tick != NULL)
        set_tick(curl, incoming);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, incoming);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, incoming->reply);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &incoming->reply->status);
    if (code == CURLE_OK || incoming->stopped)
        return CLI_OK;
    return incoming->call->quiet ? CLI_UNAVAILABLE
                                 : cli_unreachable(cli, curl, code);
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

/* Requests that must succeed: prints other replies and chooses their exit
 * statuses. */

enum { SHOWN_BYTES = 200 /* of a reply that is not a problem document */ };

int cli_exit_of(long status)
{
    static const struct {
        long status;
        enum cli_exit exit;
    } EXITS[] = {{404, CLI_ABSENT},      {410, CLI_ABSENT},
                 {409, CLI_CONFLICT},    {412, CLI_CONFLICT},
                 {428, CLI_CONFLICT},    {429, CLI_UNAVAILABLE},
                 {502, CLI_UNAVAILABLE}, {503, CLI_UNAVAILABLE},
                 {504, CLI_UNAVAILABLE}, {507, CLI_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof EXITS / sizeof *EXITS; i++)
        if (EXITS[i].status == status)
            return EXITS[i].exit;
    return status / 100 == 2 ? CLI_OK : CLI_ERROR;
}

/* Prints the members that say which entry or place is concerned, or that a hint
 * mentions. */
static void print_members(struct kx_slice document)
{
    static const char *const NAMES[] = {
        "failedChecks", "existingKey", "pointer", "present", "didYouMean",
        "allowed",      "supported",   "node",    "mutation"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct kx_slice value;
        if (!cli_json_member(document, NAMES[i], &value))
            continue;
        fprintf(stderr, "  %s: ", NAMES[i]);
        cli_put(stderr, value);
        fputc('\n', stderr);
    }
}

static bool declares_by_options(const struct cli *cli)
{
    return strcmp(cli->command->name, "index add") == 0 && cli->file == NULL;
}

static bool copies_changes(const struct cli *cli)
{
    return strcmp(cli->command->name, "watch") == 0 && cli->state != NULL;
}

static bool adds_number(const struct cli *cli)
{
    return strcmp(cli->command->name, "sum") == 0;
}

/* The hint for problems that only a proxy can have caused. */
#define BETWEEN "Check --url, and what is between this program and the server."

/* Hints in the words of the command line. A hint here replaces the server's
 * hint, which names addresses and headers. The first row that fits the command
 * is used. */
static const struct hint_row {
    const char *code;
    const char *hint;
    bool (*fits)(const struct cli *cli); /* NULL: any command */
} HINTS[] = {
    /* clang-format off */
        {"bad-request", "The detail says what is wrong; kindex help describes every command.", NULL},
        {"bad-key", "Write one segment for each part: text is a string, =42 a number, =42n a bigint, =true a boolean, =b64:AQID bytes. In a document a key is an array of its parts.", NULL},
        {"bad-value", "--type typed takes {\"type\":\"KvU64\",\"value\":\"1\"} and {\"type\":\"Uint8Array\",\"value\":\"<base64url>\"}; otherwise a value is plain JSON.", NULL},
        {"bad-index-definition", "Smallest example: kindex index add users_by_email users email", NULL},
        {"cursor-invalid", "Run the command again from its start.", NULL},
        {"cursor-mismatch", "Run the command again from its start.", NULL},
        {"unauthorized", "--token or KINDEX_TOKEN takes a token of this server; kindex token create creates one.", NULL},
        {"origin-not-allowed", BETWEEN, NULL},
        {"not-found", "Check --url: the server does not have this address, or has another version.", NULL},
        {"index-not-found", "kindex index ls lists the declared indexes.", NULL},
        {"queue-not-found", "kindex queue ls lists the queues; an index is one if its declaration has the member queue.", NULL},
        {"rule-not-found", "kindex rule ls lists the rules.", NULL},
        {"no-migration", "kindex index migrate starts a migration.", NULL},
        {"no-verification", "kindex index verify starts a verification.", NULL},
        {"token-not-found", "kindex token ls lists the tokens and their ids.", NULL},
        {"method-not-allowed", "Check --url: the server does not have this address, or has another version.", NULL},
        {"not-acceptable", BETWEEN, NULL},
        {"index-not-ready", "kindex index show shows its progress; kindex index conflicts lists the entries that keep it conflicted.", NULL},
        {"index-exists", "kindex index apply changes any part of it while it is in use, kindex index migrate its store and unique.", NULL},
        {"index-name-used", "If an application maintains them as an index, --adopt takes them over (--dry-run shows what that would change). Otherwise use another name, or delete them first.", declares_by_options},
        {"index-name-used", "If an application maintains them as an index, \"adopt\": true in the declaration takes them over. Otherwise use another name, or delete them first.", NULL},
        {"index-not-unique", "kindex ls --index NAME VALUE lists the entries with this value.", NULL},
        {"index-migrating", "Wait until it is ready (kindex index watch), or undo the migration (kindex index migrate --undo).", NULL},
        {"too-many-indexes", "kindex index rm drops an index that is not used.", NULL},
        {"too-many-tokens", "kindex token revoke revokes a token that is no longer used.", NULL},
        {"out-of-bounds", "`present` is the value that the entry has, null without an entry; --out clamp stores the bound, --out skip leaves the entry as it is.", adds_number},
        {"referenced", "Delete the entries that refer to it first, or change their references; kindex rule show NAME shows the rule.", NULL},
        {"history-gone", "Remove the files of --file and --state, and run the command again: it copies all entries, then their changes.", copies_changes},
        {"history-gone", "Begin with an empty copy: watch the index without --since, or list it with kindex ls --index NAME.", NULL},
        {"precondition-failed", "Read the entry again and decide from its new state. --if-match takes the versionstamp that kindex get KEY -o json shows; --if-absent only creates.", NULL},
        {"uri-too-long", "kindex get KEY -o json takes keys of any length.", NULL},
        {"unsupported-media-type", "--type takes json, text, bytes, typed, or a media type.", NULL},
        {"not-indexable", "Change the value at `pointer` to one that the index accepts; kindex index show shows its declaration.", NULL},
        {"rule-violated", "Change the value to what the rule needs; kindex rule show NAME shows it.", NULL},
        {"idempotency-key-reused", "Begin the import again.", NULL},
        {"idempotency-quota", "Wait until results expire, or start the server with a higher --idempotency-quota.", NULL},
        {"rate-limited", "Wait a minute, or start the server with a higher --token-rate.", NULL},
        {"headers-too-large", "Use a shorter --token.", NULL},
        {"transfer-encoding-unsupported", BETWEEN, NULL},
        {"not-caught-up", "The database does not have the commit yet; run the command again.", NULL},
        {"commit-unknown", "The command may have been carried out: read the entries before you run it again.", NULL},
        {"http-version-unsupported", BETWEEN, NULL},
    /* clang-format on */
};

static const char *hint_of(const struct cli *cli, const struct cli *memory,
                           struct kx_slice document)
{
    const char *code = cli_text(memory, document, "code");
    for (size_t i = 0; code != NULL && i < sizeof HINTS / sizeof *HINTS; i++)
        if (strcmp(HINTS[i].code, code) == 0 &&
            (HINTS[i].fits == NULL || HINTS[i].fits(cli)))
            return HINTS[i].hint;
    return cli_text(memory, document, "hint");
}

static void print_document(const struct cli *cli, struct kx_slice document)
{
    struct cli memory = {.memory = talloc_named_const(NULL, 0, "problem")};
    const char *title = cli_text(&memory, document, "title");
    const char *detail = cli_text(&memory, document, "detail");
    const char *hint = hint_of(cli, &memory, document);
    cli_fail("%s: %s", title != NULL ? title : "refused",
             detail != NULL ? detail : "");
    if (hint != NULL)
        cli_note("  %s", hint);
    print_members(document);
    talloc_free(memory.memory);
}

/* True for the statuses that Kindex sends only with a problem document. Other
 * statuses may come from a proxy, or from KV Connect, which answers in plain
 * text. */
static bool needs_document(long status)
{
    enum cli_exit exit = cli_exit_of(status);
    return exit == CLI_ABSENT || exit == CLI_CONFLICT || status == 405 ||
           status == 501;
}

static int print_bytes(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_slice bytes = kx_buffer_slice(&reply->body);
    struct kx_buffer shown;
    kx_buffer_init(&shown, cli->memory);
    cli_escape(kx_slice(bytes.data, kx_utf8_fit(bytes, SHOWN_BYTES)), &shown);
    for (size_t i = 0; i < shown.size; i++)
        shown.data[i] = shown.data[i] < ' ' ? ' ' : shown.data[i];
    kx_add_byte(&shown, '\0');
    const char *text = shown.failed ? "" : (const char *)shown.data;
    if (needs_document(reply->status))
        return cli_fail("%s is not a Kindex server: it answered %ld %s",
                        cli->url, reply->status, text);
    cli_fail("the server answered %ld %s", reply->status, text);
    return cli_exit_of(reply->status);
}

int cli_problem(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_slice document = kx_buffer_slice(&reply->body);
    struct kx_slice code;
    if (!cli_is_json(reply) || kx_json_type(document) != KX_JSON_OBJECT ||
        !cli_json_member(document, "code", &code))
        return print_bytes(cli, reply);
    print_document(cli, document);
    return cli_exit_of(reply->status);
}

int cli_ask(struct cli *cli, const struct cli_call *call,
            struct cli_reply *reply)
{
    int status = cli_send(cli, call, reply);
    if (status != CLI_OK)
        return status;
    if (reply->status / 100 != 2)
        return cli_problem(cli, reply);
    if (call->any || reply->body.size == 0 || cli_is_json(reply))
        return CLI_OK;
    return cli_fail("%s is not a Kindex server: its answer is not JSON",
                    cli->url);
}

int cli_fetch(struct cli *cli, const char *path, struct cli_reply *reply)
{
    struct cli_call call = {.method = "GET", .path = kx_text(path)};
    return cli_ask(cli, &call, reply);
}

/* A 404 of the server has a member with the list of the entries under the key,
 * if there are any. */

enum cli_presence cli_presence_of(const struct cli_reply *reply)
{
    struct kx_slice place;
    if (reply->status / 100 == 2)
        return PRESENCE_ENTRY;
    if (reply->status != 404 || !cli_is_json(reply))
        return PRESENCE_UNKNOWN;
    return cli_json_member(kx_buffer_slice(&reply->body), "listedAt", &place)
               ? PRESENCE_BELOW
               : PRESENCE_NOTHING;
}

int cli_presence_ask(struct cli *cli, const char *key,
                     enum cli_presence *presence_out)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_entry_path(cli, key, &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_send(cli, &call, &reply);
    *presence_out = cli_presence_of(&reply);
    kx_buffer_free(&reply.body);
    kx_buffer_free(&path);
    return status;
}

void cli_presence_tell(const char *key, const char *command, const char *does)
{
    cli_fail("there is no entry %s, but there are entries under it: kindex %s "
             "%s %s",
             key, command, key, does);
}
