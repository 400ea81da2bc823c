/* Requests to the whole service, over both protocols, with the n-th allocation
 * in it failing for every n until none does. The answer is the usual one, 503,
 * or the connection ends; what was refused has changed nothing, and nothing is
 * half done; the next request is answered as ever. A second process does the
 * same without failures, and must have as many blocks left in the end.
 *
 * nghttp2 1.52 frees a frame twice when it has no memory to send it; the door
 * then leaves the session as it is. So its own allocations are spared, unless
 * KX_ALLOC_HTTP2 is set: then they fail as well, and what is left is not
 * counted.
 *
 * GnuTLS 3.7 leaks blocks, and a library below it aborts, when memory
 * runs out within a handshake, so its allocations are spared as well.
 *
 * With KX_ALLOC_SHEAF, a directory with cert.pem and key.pem, the connections
 * have TLS and the requests an access token.
 *
 *   alloc_http STEP [REQUEST [N]]      every STEP-th n; this one only
 */
#include "alloc.h"
#include "alloc_client.h"
#include "alloc_peer.h"
#include "server/server.h"

#include "../lib/store.h"

#include <signal.h>
#include <sys/wait.h>

enum { UNDO_MAX = 3, POINTS_MAX = 4000 };

/* `undo` takes back what the call has changed. */
struct request_case {
    struct call call;
    struct call undo[UNDO_MAX];
    enum { PLAIN, BOTH, GUARDED } where;
};

#define JSON "application/json"
#define A "{\"e\":\"a@x\",\"t\":[\"red\",\"blue\"]}"
#define B "{\"e\":\"b@x\",\"t\":[\"red\"]}"

static const struct call FURNITURE[] = {
    {"PUT", "/kv/u/a", JSON, A, 0},
    {"PUT", "/kv/u/b", JSON, B, 0},
    {"PUT", "/kv/n/=1", JSON, "1", 0},
    {"POST", "/indexes", JSON,
     "{\"name\":\"by_e\",\"prefix\":[\"u\"],\"fields\":[\"/e\"],"
     "\"unique\":true}",
     0},
    {"POST", "/indexes", JSON,
     "{\"name\":\"by_t\",\"prefix\":[\"u\"],\"fields\":[{\"path\":\"/t\","
     "\"each\":true}]}",
     0}};

static const char READ[] = "\x0a\x10\x0a\x06\x02u\0\x02"
                           "a\0\x12\x04\x02u\0\xff\x18\x0a";
static const char WRITE[] = "\x12\x15\x0a\x06\x02u\0\x02z\0\x12\x09\x0a\x05"
                            "\xff\x0f\"\x01z\x10\x01\x18\x01";
static const char WATCH[] = "\x0a\x08\x0a\x06\x02u\0\x02"
                            "a\0";

static const struct request_case CASES[] = {
    {.call = {"GET", "/kv/u/a", NULL, NULL, 0}, .where = BOTH},
    {.call = {"PUT", "/kv/u/c", JSON, "{\"e\":\"c@x\",\"t\":[\"red\"]}", 0},
     .undo = {{"DELETE", "/kv/u/c", NULL, NULL, 0}},
     .where = BOTH},
    {.call = {"POST", "/tokens", JSON,
              "{\"name\":\"n\",\"grants\":[{\"scopes\":[\"read\"],\"prefix\":["
              "\"u\"]}]}",
              0},
     .where = GUARDED},
    {.call = {"GET", "/tokens", NULL, NULL, 0}, .where = GUARDED},
    {.call = {"GET", "/backup", NULL, NULL, 0}},
    {.call = {"PATCH", "/kv/u/a", "application/merge-patch+json",
              "{\"e\":\"aa@x\",\"more\":{\"x\":1}}", 0},
     .undo = {{"PUT", "/kv/u/a", JSON, A, 0}}},
    {.call = {"DELETE", "/kv/u/b", NULL, NULL, 0},
     .undo = {{"PUT", "/kv/u/b", JSON, B, 0}}},
    {.call = {"PUT", "/kv/u/d", JSON, "{\"e\":\"a@x\"}", 0}},
    {.call = {"PUT", "/kv/u/d", JSON, "{\"e\":", 0}},
    {.call = {"PUT", "/kv/v", "application/vnd.kindex.typed+json",
              "{\"type\":\"Map\",\"value\":[[1,{\"type\":\"bigint\",\"value\":"
              "\"7\"}]]}",
              0},
     .undo = {{"DELETE", "/kv/v", NULL, NULL, 0}}},
    {.call = {"GET", "/list?prefix=u&fields=/e", NULL, NULL, 0}},
    {.call = {"GET", "/list?index=by_t&prefix=red", NULL, NULL, 0}},
    {.call = {"DELETE", "/list?prefix=n", NULL, NULL, 0},
     .undo = {{"PUT", "/kv/n/=1", JSON, "1", 0}}},
    {.call = {"PATCH", "/list?index=by_t&start=a",
              "application/json-patch+json",
              "[{\"op\":\"set\",\"path\":\"/more/x\",\"value\":1}]", 0},
     .undo = {{"PUT", "/kv/u/a", JSON, A, 0}, {"PUT", "/kv/u/b", JSON, B, 0}}},
    {.call = {"POST", "/bulk", "application/x-ndjson",
              "{\"key\":[\"u\",\"c\"],\"value\":{\"e\":\"c@x\"}}\n"
              "{\"type\":\"sum\",\"key\":[\"n\",1],\"value\":4}\n",
              0},
     .undo = {{"DELETE", "/kv/u/c", NULL, NULL, 0},
              {"PUT", "/kv/n/=1", JSON, "1", 0}}},
    {.call = {"GET", "/count?index=by_t", NULL, NULL, 0}},
    {.call = {"POST", "/get", JSON,
              "{\"keys\":[[\"u\",\"a\"],[\"u\",\"x\"]],\"ranges\":[{"
              "\"prefix\":[\"u\"],\"limit\":1}]}",
              0}},
    {.call = {"POST", "/atomic", JSON,
              "{\"checks\":[{\"key\":[\"u\",\"c\"],\"versionstamp\":null}],"
              "\"mutations\":[{\"type\":\"set\",\"key\":[\"u\",\"c\"],"
              "\"value\":{\"e\":\"c@x\"}},{\"type\":\"sum\",\"key\":[\"n\",1],"
              "\"value\":4},{\"type\":\"delete\",\"key\":[\"u\",\"b\"]}]}",
              0},
     .undo = {{"DELETE", "/kv/u/c", NULL, NULL, 0},
              {"PUT", "/kv/n/=1", JSON, "1", 0},
              {"PUT", "/kv/u/b", JSON, B, 0}}},
    {.call = {"POST", "/atomic", JSON,
              "{\"checks\":[{\"key\":[\"u\",\"a\"],\"versionstamp\":null}],"
              "\"mutations\":[]}",
              0}},
    {.call = {"POST", "/explain", JSON,
              "{\"prefix\":[\"u\"],\"where\":[{\"path\":\"/e\",\"eq\":"
              "\"a@x\"}],\"order\":[\"/t\"]}",
              0}},
    {.call = {"GET", "/indexes", NULL, NULL, 0}},
    {.call = {"GET", "/indexes/by_e/get/a@x", NULL, NULL, 0}},
    {.call = {"POST", "/indexes?dry=1", JSON,
              "{\"name\":\"i\",\"prefix\":[\"u\"],\"fields\":[\"/e\"]}", 0}},
    {.call = {"GET", "/watch?key=u/a", NULL, NULL, 0}, .where = BOTH},
    {.call = {"GET", "/watch?prefix=u", NULL, NULL, 0}},
    {.call = {"GET", "/metrics", NULL, NULL, 0}},
    {.call = {"GET", "/openapi.json", NULL, NULL, 0}},
    {.call = {"GET", "/readyz?verbose", NULL, NULL, 0}},
    {.call = {"GET", "/nothing", NULL, NULL, 0}},
    {.call = {"POST", "/", JSON, "{\"supportedVersions\":[3]}", 0}},
    {.call = {"POST", "/v2/snapshot_read", NULL, READ, sizeof READ - 1}},
    {.call = {"POST", "/v2/atomic_write", NULL, WRITE, sizeof WRITE - 1},
     .undo = {{"DELETE", "/kv/u/z", NULL, NULL, 0}}},
    {.call = {"POST", "/v2/watch", NULL, WATCH, sizeof WATCH - 1}},
};

static uint16_t port;
static struct answer answer, state[2], now;
static size_t passed, failures, points;

/* ---- The server, in this process ---------------------------------------- */

static char directory[] = "/tmp/kindex-alloc-XXXXXX";
static char port_file[64];
static const char *sheaf; /* directory with cert.pem and key.pem, or NULL */
static char token_file[64], cert[128], key[128];

static void *serve(void *closure)
{
    static struct options options;
    char *arguments[] = {
        "kindex",      "--data",       directory,  "--listen",
        "127.0.0.1:0", "--port-file",  port_file,  "--cache",
        "16MiB",       "--log-level",  "error",    "--loops",
        "1",           "--token-file", token_file, "--tls-cert",
        cert,          "--tls-key",    key,        NULL};
    (void)closure;
    if (!options_read(&options, sheaf != NULL ? 19 : 13, arguments))
        exit(1);
    return (void *)(intptr_t)server_run(&options);
}

/* The server has made it before it listens. */
static void take_token(void)
{
    static char token[128];
    FILE *file = fopen(token_file, "r");
    assert_non_null(file);
    assert_non_null(fgets(token, sizeof token, file));
    fclose(file);
    token[strcspn(token, "\n")] = '\0';
    client_use_token(token);
}

static void name_files(void)
{
    snprintf(port_file, sizeof port_file, "%s.port", directory);
    snprintf(token_file, sizeof token_file, "%s.token", directory);
    snprintf(cert, sizeof cert, "%s/cert.pem", sheaf != NULL ? sheaf : "");
    snprintf(key, sizeof key, "%s/key.pem", sheaf != NULL ? sheaf : "");
}

static pthread_t start(void)
{
    pthread_t thread;
    sigset_t signals;
    FILE *file = NULL;
    char text[16] = "";
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    assert_non_null(mkdtemp(directory));
    name_files();
    assert_int_equal(freopen("/dev/null", "w", stdin) == NULL, 0);
    pthread_create(&thread, NULL, serve, NULL);
    for (int i = 0; i < 20000 && file == NULL; i++, usleep(1000))
        file = fopen(port_file, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    port = (uint16_t)atoi(text);
    if (sheaf != NULL) {
        take_token();
        peer_use_tls();
    }
    return thread;
}

static void stop(pthread_t thread)
{
    void *status;
    kill(getpid(), SIGTERM);
    pthread_join(thread, &status);
    if (status != NULL) {
        printf("FAILED  the server ends with %d\n", (int)(intptr_t)status);
        failures++;
    }
    remove(port_file);
    remove(token_file);
    test_remove(directory);
}

/* ---- One point ---------------------------------------------------------- */

static void wrong(const struct call *call, bool http2, size_t point,
                  const char *what)
{
    printf("FAILED  %s %s, %s, allocation %zu: %s\n", call->method,
           call->target, http2 ? "HTTP/2" : "HTTP/1.1", point, what);
    if (failures++ < 20)
        alloc_where();
}

/* A library that gives up says where. */
static void on_abort(int signal)
{
    static const char text[] = "FAILED  aborted, after an allocation\n";
    (void)signal;
    if (write(STDOUT_FILENO, text, sizeof text - 1) > 0)
        alloc_where();
    _exit(1);
}

static int request(const struct call *call, bool http2)
{
    client_call(port, http2, call, &answer);
    return answer.status;
}

/* All entries, without what differs from time to time. */
static void look(struct answer *out)
{
    static const struct call all = {"GET", "/list?limit=1000", NULL, NULL, 0};
    static const char name[] = "\"versionstamp\":\"";
    client_call(port, false, &all, out);
    for (char *at = out->body; (at = strstr(at, name)) != NULL;)
        memset(at += sizeof name - 1, '0', 20);
}

static void undo(const struct request_case *c)
{
    for (size_t i = 0; i < UNDO_MAX && c->undo[i].method != NULL; i++) {
        int status = request(&c->undo[i], false);
        if (status / 100 != 2)
            wrong(&c->undo[i], false, 0, "cannot be undone");
    }
}

static bool is(const struct answer *a, const struct answer *b)
{
    return strcmp(a->body, b->body) == 0;
}

/* False when no allocation failed. */
static bool try_point(const struct request_case *c, bool http2, int usual,
                      size_t point)
{
    const struct call *call = &c->call;
    alloc_arm(point, false);
    int status = request(call, http2);
    bool late = answer.late;
    size_t failed = alloc_disarm();
    if (late)
        wrong(call, http2, point, "no answer");
    if (status != usual && status != 503 && status != 0) {
        printf("%d instead of %d\n", status, usual);
        wrong(call, http2, point, answer.body);
    }
    look(&now);
    if (!(status != 503 && is(&now, &state[1])) &&
        !(status != usual && is(&now, &state[0])) &&
        !(usual / 100 != 2 && is(&now, &state[0])))
        wrong(call, http2, point, now.body);
    undo(c);
    look(&now);
    if (!is(&now, &state[0]))
        wrong(call, http2, point, now.body);
    if (request(call, http2) != usual)
        wrong(call, http2, point, "another answer afterwards");
    undo(c);
    points += failed > 0;
    return failed > 0;
}

static void sweep(const struct request_case *c, bool http2, size_t first,
                  size_t step)
{
    size_t before = failures;
    size_t point;
    look(&state[0]);
    int usual = request(&c->call, http2);
    look(&state[1]);
    undo(c);
    for (point = first; failures < before + 3 && point < POINTS_MAX;
         point += step)
        if (!try_point(c, http2, usual, point))
            break;
    if (usual == 0 || failures > before)
        return;
    passed++;
    printf("ok      %s %s, %s: %d, %zu allocations\n", c->call.method,
           c->call.target, http2 ? "HTTP/2" : "HTTP/1.1", usual, point - 1);
}

/* ---- Processes ---------------------------------------------------------- */

static void furnish(void)
{
    static const struct call indexes = {"GET", "/indexes", NULL, NULL, 0};
    for (size_t i = 0; i < sizeof FURNITURE / sizeof *FURNITURE; i++)
        if (request(&FURNITURE[i], i % 2 > 0) / 100 != 2)
            wrong(&FURNITURE[i], i % 2 > 0, 0, answer.body);
    do
        request(&indexes, false);
    while (strstr(answer.body, "\"building\"") != NULL);
}

/* Blocks that are left when the server has ended. step 0: without failures. */
static long run(size_t step, const char *only, size_t n)
{
    uint64_t seed = random_seed("alloc_http");
    alloc_exempt(true);
    long live = alloc_live();
    pthread_t server = start();
    furnish();
    for (size_t i = 0; i < 2 * sizeof CASES / sizeof *CASES; i++) {
        const struct request_case *c = &CASES[i / 2];
        bool whole =
            (only == NULL || strcmp(only, c->call.target) == 0) &&
            (c->where == BOTH || (c->where == GUARDED) == (sheaf != NULL));
        size_t first = n > 0 ? n : 1 + random_below(&seed, step + (step == 0));
        if (whole && step == 0) {
            request(&c->call, i % 2 > 0);
            undo(c);
        } else if (whole) {
            sweep(c, i % 2 > 0, first, n > 0 ? POINTS_MAX : step);
        }
        fflush(stdout);
    }
    if (step > 0)
        alloc_trace();
    stop(server);
    return alloc_live() - live;
}

/* In a process of its own, since a server can run once in a process. */
static long blocks_left_without_failures(const char *only)
{
    long left = 0;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        left = run(0, only, 0);
        _exit(write(ends[1], &left, sizeof left) == sizeof left ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &left, sizeof left), sizeof left);
    waitpid(child, NULL, 0);
    return left;
}

int main(int argc, char **argv)
{
    size_t step = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const char *only = argc > 2 ? argv[2] : NULL;
    bool all = getenv("KX_ALLOC_HTTP2") != NULL;
    sheaf = getenv("KX_ALLOC_SHEAF");
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    if (!all)
        alloc_spare("libnghttp2");
    alloc_spare("libgnutls");
    long usual = blocks_left_without_failures(only);
    long left = run(step, only, argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
    printf("%zu allocations failed; %ld blocks are left, %ld without that\n",
           points, left, usual);
    if (left > usual && !all)
        printf("FAILED  %ld blocks are left over\n", left - usual);
    failures += left > usual && !all;
    passed += left <= usual || all;
    printf("%zu passed, %zu failed\n", passed, failures);
    return failures > 0 ? 1 : 0;
}
