/* kindex bench: measures how fast a running server answers reads and writes.
 * The benchmark stores its own entries under an empty prefix and removes them
 * afterwards. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <talloc.h>

#include "cli/bulk/cli_interrupt.h"
#include "cli/bulk/cli_latency.h"
#include "cli/cli_lists.h"
#include "cli/cli_http.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_show.h"

/* ---- Load: concurrent requests, one connection for each client ---------- */

/* Each client sends its next request when its previous one has been answered.
 */
struct cli_load {
    struct cli *cli;
    size_t clients;
    void *target; /* passed to both functions */
    /* Makes the next request and sets *kind_out to a number for its kind. The
     * body must stay valid until the answer, the path until the next call.
     * Return false if there are no further requests. */
    bool (*next)(void *target, struct cli_call *call, int *kind_out);
    /* Receives the HTTP status of an answer and its latency in microseconds.
     * Return false to send no further request. */
    bool (*done)(void *target, int kind, long status, uint64_t us);
};

enum { WAIT_MS = 200 };

struct client {
    CURL *curl;
    struct cli_pace pace;
    struct curl_slist *headers;
    int kind;
    bool busy;
};

struct load_run {
    const struct cli_load *load;
    CURLM *multi;
    struct client *clients;
    size_t busy;
    bool ended; /* no further requests */
    int status;
};

static size_t drop_body(char *data, size_t one, size_t size, void *target)
{
    (void)data;
    (void)target;
    return one * size;
}

static void fail(struct load_run *run, int status)
{
    run->ended = true;
    if (run->status == CLI_OK)
        run->status = status;
}

static void send_next(struct load_run *run, struct client *client)
{
    struct cli *cli = run->load->cli;
    struct cli_call call = {.method = "GET"};
    void *other = cli->curl;
    run->ended = !run->load->next(run->load->target, &call, &client->kind);
    if (run->ended)
        return;
    cli->curl = client->curl;
    client->curl = cli_handle(cli, &call, &client->pace, &client->headers);
    cli->curl = other;
    if (client->curl == NULL) {
        fail(run, cli_fail("memory ran out"));
        return;
    }
    curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, drop_body);
    curl_easy_setopt(client->curl, CURLOPT_PRIVATE, client);
    curl_multi_add_handle(run->multi, client->curl);
    client->busy = true;
    run->busy++;
}

static void finish_request(struct load_run *run, struct client *client,
                           CURLcode code)
{
    long status = 0;
    curl_off_t us = 0;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(client->curl, CURLINFO_TOTAL_TIME_T, &us);
    curl_slist_free_all(client->headers);
    client->headers = NULL;
    client->busy = false;
    run->busy--;
    if (code == CURLE_OK)
        run->ended |= !run->load->done(run->load->target, client->kind, status,
                                       (uint64_t)us);
    else if (run->status == CLI_OK)
        fail(run, cli_unreachable(run->load->cli, client->curl, code));
}

/* Processes the answers that have arrived and returns their number. */
static size_t take_answers(struct load_run *run)
{
    int running, left;
    size_t count = 0;
    CURLMsg *message;
    curl_multi_perform(run->multi, &running);
    while ((message = curl_multi_info_read(run->multi, &left)) != NULL) {
        char *client = NULL;
        CURL *curl = message->easy_handle;
        CURLcode code = message->data.result;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &client);
        curl_multi_remove_handle(run->multi, curl);
        finish_request(run, (struct client *)(void *)client, code);
        count++;
    }
    return count;
}

static void drive(struct load_run *run)
{
    do {
        for (size_t i = 0; !run->ended && i < run->load->clients; i++)
            if (!run->clients[i].busy)
                send_next(run, &run->clients[i]);
        if (take_answers(run) == 0 && run->busy > 0)
            curl_multi_poll(run->multi, NULL, 0, WAIT_MS, NULL);
    } while (run->busy > 0 || !run->ended);
}

/* Sends all requests and waits for the answers; their bodies are discarded.
 * Returns CLI_OK, or CLI_UNAVAILABLE or CLI_ERROR after printing why a request
 * got no answer. */
static int run_load(const struct cli_load *load)
{
    struct load_run run = {.load = load, .multi = curl_multi_init()};
    run.clients =
        talloc_zero_array(load->cli->memory, struct client, load->clients);
    if (run.clients != NULL && run.multi != NULL) {
        curl_multi_setopt(run.multi, CURLMOPT_MAXCONNECTS, (long)load->clients);
        drive(&run);
    } else {
        fail(&run, cli_fail("memory ran out"));
    }
    for (size_t i = 0; run.clients != NULL && i < load->clients; i++)
        curl_easy_cleanup(run.clients[i].curl);
    curl_multi_cleanup(run.multi);
    talloc_free(run.clients);
    return run.status;
}

enum { BENCH_ENTRIES = 1000 };
enum bench_kind { BENCH_GET, BENCH_PUT, BENCH_KINDS };

struct bench {
    struct cli *cli;
    const char *prefix;
    struct kx_buffer path;
    struct kx_buffer value;
    struct cli_progress progress;
    bool filling; /* not measured yet */
    uint64_t sent;
    uint64_t answered;
    uint64_t begun_ns;
    double seconds; /* duration of the measurement */
    uint64_t random;
    struct cli_latency times[BENCH_KINDS];
    uint64_t refused[BENCH_KINDS];
    long refusal; /* status of the last refused request */
};

/* ---- Requests ----------------------------------------------------------- */

/* Marsaglia's xorshift: every run has the same load. */
static uint64_t next_random(struct bench *bench)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return bench->random;
}

static double seconds_so_far(const struct bench *bench)
{
    return (double)(kx_monotonic_ns() - bench->begun_ns) / 1e9;
}

static bool over(const struct bench *bench)
{
    const struct cli *cli = bench->cli;
    if (cli_interrupted())
        return true;
    if (bench->filling)
        return bench->sent == BENCH_ENTRIES;
    if (cli->requests > 0)
        return bench->sent == cli->requests;
    return seconds_so_far(bench) >= (double)cli->seconds;
}

static bool next_request(void *target, struct cli_call *call, int *kind_out)
{
    struct bench *bench = target;
    uint64_t entry = bench->sent;
    bool get = false;
    char part[32];
    if (over(bench))
        return false;
    if (!bench->filling) {
        get = next_random(bench) % 100 < bench->cli->reads;
        entry = next_random(bench) % BENCH_ENTRIES;
    }
    bench->sent++;
    snprintf(part, sizeof part, "/=%" PRIu64, entry);
    bench->path.size = 0;
    kx_add_text(&bench->path, "/kv/");
    cli_add_key(&bench->path, bench->prefix);
    kx_add_text(&bench->path, part);
    *kind_out = get ? BENCH_GET : BENCH_PUT;
    *call = (struct cli_call){.method = get ? "GET" : "PUT",
                              .path = cli_whole(&bench->path)};
    if (!get)
        call->body = kx_buffer_slice(&bench->value);
    if (bench->filling)
        call->header = "If-None-Match: *";
    return !bench->path.failed;
}

static void show_progress(struct bench *bench)
{
    const struct cli *cli = bench->cli;
    double seconds = seconds_so_far(bench);
    if (cli->requests > 0)
        cli_progress_show(&bench->progress, bench->answered, bench->answered,
                          cli->requests);
    else
        cli_progress_show(&bench->progress, bench->answered,
                          (uint64_t)(seconds * 1000), cli->seconds * 1000);
}

static bool take_answer(void *target, int kind, long status, uint64_t us)
{
    struct bench *bench = target;
    bool good = status / 100 == 2;
    bench->answered++;
    if (good && !bench->filling)
        cli_latency_add(&bench->times[kind], us);
    if (!good) {
        bench->refused[kind]++;
        bench->refusal = status;
    }
    if (!bench->filling)
        show_progress(bench);
    return good || !bench->filling;
}

static int run(struct bench *bench)
{
    struct cli_load load = {.cli = bench->cli,
                            .clients = bench->cli->clients,
                            .target = bench,
                            .next = next_request,
                            .done = take_answer};
    bench->sent = bench->answered = 0;
    bench->begun_ns = kx_monotonic_ns();
    int status = run_load(&load);
    bench->seconds = seconds_so_far(bench);
    return status;
}

/* ---- Before and after --------------------------------------------------- */

/* Returns CLI_CONFLICT if there is an entry under the prefix. */
static int refuse_data(struct bench *bench)
{
    struct cli *cli = bench->cli;
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice entries, name, entry;
    struct kx_json_iter iter;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/list?keys=true&limit=1");
    cli_add_key_parameter(&path, "prefix", bench->prefix);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (!cli_json_member(kx_buffer_slice(&reply.body), "entries", &entries) ||
        !kx_json_iterate(entries, &iter))
        return cli_fail("the server's answer has no entries");
    if (!kx_json_next(&iter, &name, &entry))
        return CLI_OK;
    cli_fail("there are entries under %s: the benchmark writes only "
             "under an empty prefix; name another one",
             bench->prefix);
    return CLI_CONFLICT;
}

/* Stores the entries that the measurement reads and writes. */
static int fill(struct bench *bench)
{
    bench->filling = true;
    int status = run(bench);
    bench->filling = false;
    if (status != CLI_OK || bench->refused[BENCH_PUT] == 0)
        return status;
    cli_fail("the entries cannot be stored: the server answered %ld",
             bench->refusal);
    return cli_exit_of(bench->refusal);
}

static bool make_value(struct bench *bench)
{
    kx_buffer_init(&bench->value, bench->cli->memory);
    kx_add_byte(&bench->value, '"');
    for (uint64_t i = 2; i < bench->cli->size; i++)
        kx_add_byte(&bench->value, 'x');
    kx_add_byte(&bench->value, '"');
    return !bench->value.failed;
}

/* ---- Report ------------------------------------------------------------- */

static const struct {
    const char *name;
    double share;
} PERCENTILES[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};

enum { PERCENTILE_COUNT = sizeof PERCENTILES / sizeof *PERCENTILES };

static void print_times(const struct cli_latency *times, const char *format,
                        const char *between)
{
    for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
        double ms =
            (double)cli_latency_within(times, PERCENTILES[i].share) / 1000;
        if (i > 0)
            fputs(between, stdout);
        if (*between == ',')
            printf("\"%s\":", PERCENTILES[i].name);
        printf(format, ms);
    }
}

static void print_kind(const struct bench *bench, const char *name,
                       enum bench_kind kind)
{
    const struct cli_latency *times = &bench->times[kind];
    double rate = (double)times->count / bench->seconds;
    if (times->count + bench->refused[kind] == 0)
        return;
    if (bench->cli->form == CLI_RAW) {
        printf("%s %.1f\n", name, rate);
    } else if (bench->cli->form == CLI_JSON) {
        printf("{\"request\":\"%s\",\"count\":%" PRIu64 ",\"refused\":%" PRIu64
               ",\"perSecond\":%.1f,\"milliseconds\":{",
               name, times->count, bench->refused[kind], rate);
        print_times(times, "%.3f", ",");
        puts("}}");
    } else {
        printf("%-8s %10" PRIu64 " %8" PRIu64 " %10.1f", name, times->count,
               bench->refused[kind], rate);
        print_times(times, "%10.3f", "");
        putchar('\n');
    }
}

static int report(const struct bench *bench)
{
    const struct cli *cli = bench->cli;
    uint64_t refused = bench->refused[BENCH_GET] + bench->refused[BENCH_PUT];
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE) {
        printf("%s%-8s %10s %8s %10s", cli_bold(cli), "REQUEST", "COUNT",
               "REFUSED", "PER SECOND");
        for (size_t i = 0; i < PERCENTILE_COUNT; i++)
            printf("%7s ms", PERCENTILES[i].name);
        printf("%s\n", cli_plain(cli));
    }
    print_kind(bench, "get", BENCH_GET);
    print_kind(bench, "put", BENCH_PUT);
    if (refused > 0)
        return cli_fail("%" PRIu64 " requests were refused, the last with "
                        "status %ld: the rates are not valid",
                        refused, bench->refusal);
    return cli_interrupted() ? cli_fail("interrupted") : CLI_OK;
}

static int clean(struct bench *bench)
{
    uint64_t deleted;
    struct kx_buffer path;
    kx_buffer_init(&path, bench->cli->memory);
    kx_add_text(&path, "/list");
    cli_add_key_parameter(&path, "prefix", bench->prefix);
    struct cli_call call = {.method = "DELETE", .path = cli_whole(&path)};
    return cli_change_range(bench->cli, call, "deleted", &deleted);
}

/* Measures, then removes the entries, also after a failure. On CLI_CONFLICT
 * another client has stored entries under the prefix, so nothing is removed. */
static int measure(struct bench *bench)
{
    int status = fill(bench);
    if (status == CLI_OK) {
        cli_progress_begin(&bench->progress, "answered");
        status = run(bench);
        cli_progress_clear(&bench->progress);
    }
    if (status == CLI_CONFLICT)
        return status;
    int cleaned = clean(bench);
    return status != CLI_OK ? status : cleaned;
}

int cli_bench(struct cli *cli)
{
    static struct bench bench;
    bench.cli = cli;
    bench.prefix = cli->count > 0 ? cli->words[0] : "kindex-bench";
    bench.random = UINT64_C(88172645463325252);
    kx_buffer_init(&bench.path, cli->memory);
    if (!make_value(&bench))
        return cli_fail("memory ran out");
    int status = refuse_data(&bench);
    if (status != CLI_OK)
        return status;
    /* A signal ends the measurement early, so that the entries are removed. */
    cli_interrupt_catch(SIGINT);
    cli_interrupt_catch(SIGTERM);
    status = measure(&bench);
    return status == CLI_OK ? report(&bench) : status;
}
