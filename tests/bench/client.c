/* A deterministic load: COUNT requests, the same bytes in every run, to 1000
 * keys in turn. 64 keep-alive connections in step: each sends one request,
 * then each reads its reply, so that the writer has something to batch. wrk
 * stops after a time; counting instructions needs runs that stop after a number
 * of requests. ONCE is a PUT with an Idempotency-Key, another one each time.
 * SUM adds 1 within bounds and asks for the result.
 *
 * Or COUNT watches, each of a separate key without an entry and over a
 * separate connection: it says "parked" when all have begun, and leaves them
 * open until it is ended. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    CONNECTIONS = 64,
    KEYS = 1000,
    STRIDE = 377,
    VALUE_SIZE = 190,
    REQUEST_SIZE = 1024,
    REPLY_SIZE = 65536
};

struct load {
    int fds[CONNECTIONS];
    const char *method;
    int keyed;
    int sums;
    uint32_t sent;
};

static int open_connection(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* A JSON object of exactly VALUE_SIZE bytes. */
static void write_value(char *out, uint32_t number)
{
    int size = snprintf(out, VALUE_SIZE + 1,
                        "{\"name\":\"User %u\",\"email\":\"%08x@example.org\","
                        "\"color\":\"color-%u\",\"bio\":\"",
                        number, number * 2654435761u, number % 100);
    memset(out + size, 'x', VALUE_SIZE - (size_t)size - 2);
    memcpy(out + VALUE_SIZE - 2, "\"}", 3);
}

static int write_sum(uint32_t number, char *out)
{
    char body[REQUEST_SIZE / 2];
    int size = snprintf(body, sizeof body,
                        "{\"mutations\":[{\"type\":\"sum\",\"key\":[\"sums\","
                        "\"item-%016u\"],\"value\":1,\"min\":0,"
                        "\"max\":1000000,\"return\":\"new\"}]}",
                        number);
    return snprintf(out, REQUEST_SIZE,
                    "POST /atomic HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Content-Type: application/json\r\n"
                    "Content-Length: %d\r\n\r\n%s",
                    size, body);
}

static int write_request(struct load *load, char *out)
{
    uint32_t number = load->sent++ * STRIDE % KEYS;
    if (load->sums)
        return write_sum(number, out);
    char value[VALUE_SIZE + 1] = "";
    int size = snprintf(out, REQUEST_SIZE,
                        "%s /kv/items/item-%016u HTTP/1.1\r\n"
                        "Host: 127.0.0.1\r\n",
                        load->method, number);
    if (strcmp(load->method, "PUT") == 0) {
        write_value(value, number);
        size += snprintf(out + size, REQUEST_SIZE - (size_t)size,
                         "Content-Type: application/json\r\n"
                         "Content-Length: %d\r\n",
                         VALUE_SIZE);
    }
    if (load->keyed)
        size += snprintf(out + size, REQUEST_SIZE - (size_t)size,
                         "Idempotency-Key: \"%08x-40d5-43dd-bc93-%012u\"\r\n",
                         (unsigned)getpid(), load->sent);
    return size +
           snprintf(out + size, REQUEST_SIZE - (size_t)size, "\r\n%s", value);
}

/* Size of the whole reply in text, 0 while its header is not complete. */
static size_t reply_size(const char *text)
{
    const char *end = strstr(text, "\r\n\r\n");
    if (!end)
        return 0;
    size_t header = (size_t)(end - text) + 4;
    for (const char *line = text; line < end; line = strchr(line, '\n') + 1)
        if (strncasecmp(line, "Content-Length:", 15) == 0)
            return header + strtoul(line + 15, NULL, 10);
    return header;
}

/* Reads one reply; whether it was complete and its status was 2xx. */
static int read_reply(int fd)
{
    static char text[REPLY_SIZE + 1];
    size_t have = 0, need = 0;
    while (!need || have < need) {
        ssize_t got = read(fd, text + have, REPLY_SIZE - have);
        if (got <= 0)
            return 0;
        have += (size_t)got;
        text[have] = 0;
        need = reply_size(text);
    }
    if (strncmp(text, "HTTP/1.1 2", 10) == 0)
        return 1;
    fprintf(stderr, "client: %s\n", text);
    return 0;
}

/* One step of `count` connections; whether all replies were good. */
static int step(struct load *load, int count)
{
    char request[REQUEST_SIZE];
    for (int i = 0; i < count; i++) {
        int size = write_request(load, request);
        if (write(load->fds[i], request, (size_t)size) != size)
            return 0;
    }
    int good = 1;
    for (int i = 0; i < count; i++)
        good &= read_reply(load->fds[i]);
    return good;
}

/* One after the other; the first event begins with the status. */
static int park(uint16_t port, int count)
{
    char text[REQUEST_SIZE];
    for (int i = 0; i < count; i++) {
        int size = snprintf(text, sizeof text,
                            "GET /watch?key=watched/%d HTTP/1.1\r\n"
                            "Host: 127.0.0.1\r\n\r\n",
                            i);
        int fd = open_connection(port);
        if (fd < 0 || write(fd, text, (size_t)size) != size ||
            read(fd, text, sizeof text) < 12 ||
            strncmp(text, "HTTP/1.1 200", 12) != 0) {
            fprintf(stderr, "client: watch %d failed\n", i);
            return 1;
        }
    }
    puts("parked");
    fflush(stdout);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT GET|PUT|ONCE|SUM|WATCH COUNT\n",
                argv[0]);
        return 2;
    }
    if (strcmp(argv[2], "WATCH") == 0)
        return park((uint16_t)atoi(argv[1]), atoi(argv[3]));
    struct load load = {.method = argv[2], .sums = strcmp(argv[2], "SUM") == 0};
    if (strcmp(argv[2], "ONCE") == 0) {
        load.method = "PUT";
        load.keyed = 1;
    }
    for (int i = 0; i < CONNECTIONS; i++)
        load.fds[i] = open_connection((uint16_t)atoi(argv[1]));
    for (long left = atol(argv[3]); left > 0; left -= CONNECTIONS) {
        int count = left < CONNECTIONS ? (int)left : CONNECTIONS;
        if (!step(&load, count)) {
            fprintf(stderr, "client: %s failed, %ld left\n", argv[2], left);
            return 1;
        }
    }
    return 0;
}
