/* Clients that mean harm, as cheap for the machine as can be, since they run on
 * the one that is measured:
 *
 *   hostile PORT SLOW READERS MILLISECONDS
 *
 * SLOW connections begin a request each and send ten bytes of it in a second;
 * READERS ask for a stream and take a kilobyte of it in the same time. It
 * prints "ready" when all have begun and, at the end, how many bytes it has
 * sent, how many connections the server has ended, and the milliseconds of a
 * processor that it took itself. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 4000,
    TICK_MS = 2,
    ROUND_MS = 100, /* each slow connection sends a byte in every round */
    SIP = 102       /* bytes that a reader takes in a round */
};

static const char *const BEGINNINGS[] = {
    "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "PUT /kv/slow HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n\"",
    "PUT /kv/slow HTTP/1.1\r\nHost: localhost\r\n"
    "Transfer-Encoding: chunked\r\n\r\nffff\r\n",
    "G",
};

static const char STREAM[] = "GET /list HTTP/1.1\r\nHost: localhost\r\n"
                             "Accept: application/x-ndjson\r\n\r\n";

/* Slow ones first, then readers. */
struct crowd {
    int fds[CONNECTIONS_MAX]; /* -1: ended */
    unsigned slow;
    unsigned count;
    unsigned long sent;
    unsigned ended;
};

static int open_connection(uint16_t port, const char *beginning)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        send(fd, beginning, strlen(beginning), MSG_NOSIGNAL) < 0)
        return -1;
    return fd;
}

static bool gather(struct crowd *crowd, uint16_t port)
{
    for (unsigned i = 0; i < crowd->count; i++) {
        const char *beginning =
            i < crowd->slow
                ? BEGINNINGS[i % (sizeof BEGINNINGS / sizeof *BEGINNINGS)]
                : STREAM;
        crowd->fds[i] = open_connection(port, beginning);
        if (crowd->fds[i] < 0)
            return false;
    }
    return true;
}

static void bother(struct crowd *crowd, unsigned i)
{
    char taken[SIP];
    int fd = crowd->fds[i];
    ssize_t done;
    if (fd < 0)
        return;
    if (i < crowd->slow)
        done = send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    else
        done = recv(fd, taken, sizeof taken, MSG_DONTWAIT);
    if (i < crowd->slow && done > 0)
        crowd->sent++;
    if (done > 0 || (done < 0 && errno == EAGAIN))
        return;
    close(fd);
    crowd->fds[i] = -1;
    crowd->ended++;
}

static unsigned long now_ms(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (unsigned long)time.tv_sec * 1000 +
           (unsigned long)time.tv_nsec / 1000000;
}

/* Spread evenly: a burst would be another kind of harm. */
static void go_on(struct crowd *crowd, unsigned long milliseconds)
{
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000};
    unsigned long start = now_ms(CLOCK_MONOTONIC), done = 0, passed = 0;
    while (passed < milliseconds) {
        nanosleep(&tick, NULL);
        passed = now_ms(CLOCK_MONOTONIC) - start;
        for (; done < passed * crowd->count / ROUND_MS; done++)
            bother(crowd, (unsigned)(done % crowd->count));
    }
}

int main(int argc, char **argv)
{
    static struct crowd crowd;
    if (argc == 5) {
        crowd.slow = (unsigned)atoi(argv[2]);
        crowd.count = crowd.slow + (unsigned)atoi(argv[3]);
    }
    if (crowd.count == 0 || crowd.count > CONNECTIONS_MAX) {
        fprintf(stderr, "usage: %s PORT SLOW READERS MILLISECONDS\n", argv[0]);
        return 2;
    }
    if (!gather(&crowd, (uint16_t)atoi(argv[1]))) {
        perror("hostile");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    go_on(&crowd, strtoul(argv[4], NULL, 10));
    printf("sent %lu ended %u cpu_ms %lu\n", crowd.sent, crowd.ended,
           now_ms(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
