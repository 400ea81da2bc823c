/* Concurrent requests with libcurl, one connection for each client. */
#include "cli/bulk/cli_load.h"

#include <talloc.h>

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

static void take_answer(struct load_run *run, struct client *client,
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
        take_answer(run, (struct client *)(void *)client, code);
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

int cli_load_run(const struct cli_load *load)
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
