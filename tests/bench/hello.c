/* The yardstick of the benchmark: a server that does nothing but HTTP. It is
 * linked with the same libmicrohttpd as Kindex and driven the same way, by an
 * epoll loop of our own, with the same memory per connection.
 *
 * GET answers 27 bytes at once. PUT answers the same after being suspended and
 * resumed through a second thread that does no work: what a durable write would
 * cost if storing it were free. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CONNECTION_MEMORY = 16384, CONNECTIONS = 4096, EVENTS = 16 };

static const char body[] = "{\"message\":\"hello, world\"}\n";

/* One suspended PUT; it is also the request's con_cls. */
struct parked {
    struct MHD_Connection *connection;
    struct parked *next;
    bool back;
};

/* A connection goes loop -> waiting -> null writer -> done -> loop. */
struct lot {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    struct parked *waiting, *done;
    int wake;
};

static struct lot lot = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                         .arrived = PTHREAD_COND_INITIALIZER};

static void park(struct parked *parked, struct MHD_Connection *connection)
{
    parked->connection = connection;
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&lot.mutex);
    parked->next = lot.waiting;
    lot.waiting = parked;
    pthread_cond_signal(&lot.arrived);
    pthread_mutex_unlock(&lot.mutex);
}

/* Moves all that wait to the done list, with one wake-up for the batch. */
static void *write_nothing(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lot.mutex);
        while (!lot.waiting)
            pthread_cond_wait(&lot.arrived, &lot.mutex);
        struct parked *last = lot.waiting;
        while (last->next)
            last = last->next;
        last->next = lot.done;
        lot.done = lot.waiting;
        lot.waiting = NULL;
        pthread_mutex_unlock(&lot.mutex);
        eventfd_write(lot.wake, 1);
    }
    return NULL;
}

static void resume_done(void)
{
    eventfd_t count;
    eventfd_read(lot.wake, &count);
    pthread_mutex_lock(&lot.mutex);
    struct parked *done = lot.done;
    lot.done = NULL;
    pthread_mutex_unlock(&lot.mutex);
    while (done) {
        struct parked *next = done->next;
        done->back = true;
        MHD_resume_connection(done->connection);
        done = next;
    }
}

static enum MHD_Result answer(struct MHD_Connection *connection)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        sizeof body - 1, (void *)(uintptr_t)body, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result =
        MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *unused, struct MHD_Connection *connection,
                              const char *url, const char *method,
                              const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    (void)unused, (void)url, (void)version, (void)upload;
    struct parked *parked = *state;
    if (!parked) {
        *state = calloc(1, sizeof *parked);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "PUT") == 0 && !parked->back) {
        park(parked, connection);
        return MHD_YES;
    }
    return answer(connection);
}

static void completed(void *unused, struct MHD_Connection *connection,
                      void **state, enum MHD_RequestTerminationCode code)
{
    (void)unused, (void)connection, (void)code;
    free(*state);
    *state = NULL;
}

static struct MHD_Daemon *start(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, handle,
        NULL, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_NOTIFY_COMPLETED,
        completed, NULL, MHD_OPTION_END);
}

static void serve(struct MHD_Daemon *daemon)
{
    int http = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int outer = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ready[EVENTS], event = {.events = EPOLLIN};
    event.data.fd = http;
    epoll_ctl(outer, EPOLL_CTL_ADD, http, &event);
    event.data.fd = lot.wake;
    epoll_ctl(outer, EPOLL_CTL_ADD, lot.wake, &event);
    for (;;) {
        MHD_UNSIGNED_LONG_LONG wait;
        bool timed = MHD_get_timeout(daemon, &wait) == MHD_YES;
        int count = epoll_wait(outer, ready, EVENTS, timed ? (int)wait : -1);
        for (int i = 0; i < count; i++)
            if (ready[i].data.fd == lot.wake)
                resume_done();
        MHD_run(daemon);
    }
}

int main(int argc, char **argv)
{
    pthread_t writer;
    if (argc != 2) {
        fprintf(stderr, "usage: %s PORT\n", argv[0]);
        return 2;
    }
    struct MHD_Daemon *daemon = start((uint16_t)atoi(argv[1]));
    lot.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!daemon || lot.wake < 0 ||
        pthread_create(&writer, NULL, write_nothing, NULL) != 0) {
        perror("hello");
        return 1;
    }
    serve(daemon);
}
