/* What many requests of one client do to another one:
 *
 *   queued PORT COUNT SECONDS REQUEST
 *
 * COUNT connections from 127.0.0.1 each send the bytes of the file REQUEST, all
 * at once, and again after each reply. A client at 127.0.0.2 meanwhile asks for
 * /livez and /kv/one by turns, one request in every millisecond at most. It
 * prints how many replies each of the two got, and how long the second one
 * waited: half of its requests, all but one in a thousand, and the longest. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 1000,
    REQUEST_MAX = 1 << 20, /* bytes */
    HEAD_MAX = 4096,
    WAITS_MAX = 200000
};

/* A connection of the crowd: what it has sent, and what it reads. */
struct visitor {
    int fd;
    size_t sent;
    char head[HEAD_MAX + 1];
    size_t head_size;
    size_t left; /* bytes of the body, once the head is complete */
    bool in_body;
};

static char request[REQUEST_MAX];
static size_t request_size;
static struct visitor crowd[CONNECTIONS_MAX];
static double waits_ms[WAITS_MAX];
static size_t wait_count;
static atomic_bool over;

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static int open_connection(const char *from, const char *port)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    struct sockaddr_in server = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)atoi(port)),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    inet_pton(AF_INET, from, &own.sin_addr);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof own) != 0 ||
        connect(fd, (struct sockaddr *)&server, sizeof server) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        give_up("connect");
    return fd;
}

/* The bytes of the body that a whole head announces; -1: it is not whole. */
static long body_of(char *head, size_t size, size_t *head_size_out)
{
    head[size] = '\0';
    char *end = strstr(head, "\r\n\r\n");
    char *length = strcasestr(head, "\r\nContent-Length:");
    if (end == NULL)
        return -1;
    *head_size_out = (size_t)(end - head) + 4;
    if (length == NULL || length > end)
        give_up("a reply without Content-Length");
    return atol(length + strlen("\r\nContent-Length:"));
}

/* ---- The other client ---------------------------------------------------- */

static void ask(int fd, const char *path)
{
    char text[HEAD_MAX + 1];
    size_t size = 0, head_size = 0;
    long body = -1;
    int asked = snprintf(text, sizeof text,
                         "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    if (write(fd, text, (size_t)asked) != asked)
        give_up("write");
    while (body < 0 || size < head_size + (size_t)body) {
        ssize_t got = read(fd, text + size, HEAD_MAX - size);
        if (got <= 0)
            give_up("read");
        size += (size_t)got;
        body = body_of(text, size, &head_size);
    }
    if (strncmp(text, "HTTP/1.1 200", 12) != 0)
        give_up(text);
}

static void *measure(void *port)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int fd = open_connection("127.0.0.2", port);
    while (!over && wait_count < WAITS_MAX) {
        double began_ms = now_ms();
        ask(fd, wait_count % 2 == 0 ? "/livez" : "/kv/one");
        waits_ms[wait_count++] = now_ms() - began_ms;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- The crowd ----------------------------------------------------------- */

static void send_more(struct visitor *visitor)
{
    while (visitor->sent < request_size) {
        ssize_t sent = send(visitor->fd, request + visitor->sent,
                            request_size - visitor->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0)
            give_up("send");
        visitor->sent += (size_t)sent;
    }
}

/* Takes the bytes of a reply; true when it is complete. */
static bool take(struct visitor *visitor, const char *data, size_t size)
{
    size_t head_size = 0;
    if (!visitor->in_body) {
        size_t before = visitor->head_size;
        size_t more =
            size < HEAD_MAX - before ? size : (size_t)(HEAD_MAX - before);
        memcpy(visitor->head + before, data, more);
        visitor->head_size += more;
        long body = body_of(visitor->head, visitor->head_size, &head_size);
        if (body < 0)
            return false;
        visitor->in_body = true;
        visitor->left = (size_t)body;
        size -= head_size - before;
    }
    visitor->left -= size;
    return visitor->left == 0;
}

static bool receive(struct visitor *visitor)
{
    static char data[1 << 18];
    for (;;) {
        ssize_t got = recv(visitor->fd, data, sizeof data, 0);
        if (got < 0 && errno == EAGAIN)
            return false;
        if (got <= 0)
            give_up("a connection of the crowd");
        if (take(visitor, data, (size_t)got))
            return true;
    }
}

/* A server that refuses is not loaded, so say what it refused first. */
static void count_reply(const struct visitor *visitor, unsigned long counts[2])
{
    bool refused = strncmp(visitor->head, "HTTP/1.1 200", 12) != 0;
    if (refused && counts[1] == 0)
        fprintf(stderr, "%s\n", visitor->head);
    counts[refused]++;
}

static void run_crowd(int epoll_fd, double until_ms, unsigned long counts[2])
{
    struct epoll_event events[64];
    while (now_ms() < until_ms) {
        int count = epoll_wait(epoll_fd, events, 64, 100);
        for (int i = 0; i < count; i++) {
            struct visitor *visitor = events[i].data.ptr;
            send_more(visitor);
            if (!receive(visitor))
                continue;
            count_reply(visitor, counts);
            visitor->in_body = false;
            visitor->head_size = visitor->sent = 0;
            send_more(visitor);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static void print(const unsigned long counts[2])
{
    qsort(waits_ms, wait_count, sizeof *waits_ms, by_size);
    printf("crowd %lu (refused %lu)  other %zu  p50 %.2f ms  p99.9 %.2f ms  "
           "max %.2f ms\n",
           counts[0], counts[1], wait_count, waits_ms[wait_count / 2],
           waits_ms[wait_count * 999 / 1000], waits_ms[wait_count - 1]);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    unsigned long counts[2] = {0};
    int count = argc == 5 ? atoi(argv[2]) : 0;
    FILE *file = argc == 5 ? fopen(argv[4], "rb") : NULL;
    if (count < 1 || count > CONNECTIONS_MAX || file == NULL) {
        fprintf(stderr, "usage: %s PORT COUNT SECONDS REQUEST\n", argv[0]);
        return 2;
    }
    request_size = fread(request, 1, sizeof request, file);
    fclose(file);
    int epoll_fd = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                    .data.ptr = &crowd[i]};
        crowd[i].fd = open_connection("127.0.0.1", argv[1]);
        fcntl(crowd[i].fd, F_SETFL, O_NONBLOCK);
        crowd[i].sent = request_size;
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, crowd[i].fd, &event);
    }
    pthread_create(&thread, NULL, measure, argv[1]);
    for (int i = 0; i < count; i++) {
        crowd[i].sent = 0;
        send_more(&crowd[i]);
    }
    run_crowd(epoll_fd, now_ms() + atof(argv[3]) * 1000, counts);
    over = true;
    pthread_join(thread, NULL);
    print(counts);
    return 0;
}
