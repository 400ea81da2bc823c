/* libcurl says which sockets to watch and until when; the loop waits by epoll.
 * A ready source is only marked, because libcurl may close other sockets while
 * it handles one. */
#include "forward/forward_pool.h"

#include <sys/epoll.h>
#include <talloc.h>

bool forward_start(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

void forward_stop(void)
{
    curl_global_cleanup();
}

/* ---- Sockets and the timer ---------------------------------------------- */

static void on_socket(struct event_source *source)
{
    struct forward_socket *socket = (struct forward_socket *)source;
    if (!socket->ready)
        TAILQ_INSERT_TAIL(&socket->forward->ready, socket, order);
    socket->ready = true;
}

static void unmark(struct forward_socket *socket)
{
    if (socket->ready)
        TAILQ_REMOVE(&socket->forward->ready, socket, order);
    socket->ready = false;
}

/* Called before libcurl closes the socket, or when it no longer watches it. */
static void forget_socket(struct forward *forward,
                          struct forward_socket *socket)
{
    if (socket == NULL)
        return;
    unmark(socket);
    epoll_ctl(forward->epoll_fd, EPOLL_CTL_DEL, socket->source.fd, NULL);
    curl_multi_assign(forward->multi, socket->source.fd, NULL);
    talloc_free(socket);
}

static struct forward_socket *new_socket(struct forward *forward, int fd)
{
    struct forward_socket *socket = talloc_zero(forward, struct forward_socket);
    if (socket == NULL)
        return NULL;
    socket->forward = forward;
    socket->source = (struct event_source){.ready = on_socket, .fd = fd};
    curl_multi_assign(forward->multi, fd, socket);
    return socket;
}

static uint32_t events_of(int what)
{
    return ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0) |
           ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0);
}

/* Returns false if the system is out of memory. */
static bool set_events(struct forward *forward, struct forward_socket *socket,
                       int fd, int what)
{
    int change = socket == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (socket == NULL)
        socket = new_socket(forward, fd);
    if (socket == NULL)
        return false;
    struct epoll_event event = {.events = events_of(what), .data.ptr = socket};
    if (epoll_ctl(forward->epoll_fd, change, fd, &event) == 0)
        return true;
    if (change == EPOLL_CTL_ADD)
        forget_socket(forward, socket);
    return false;
}

/* Marks the transfer whose socket cannot be watched. (Returning -1 to libcurl
 * would fail all transfers.) forward_run ends it outside libcurl's callbacks.
 */
static void fail(struct forward *forward, CURL *curl)
{
    struct forward_call *call = NULL;
    if (curl_easy_getinfo(curl, CURLINFO_PRIVATE, &call) != CURLE_OK ||
        call == NULL || call->failed)
        return;
    TAILQ_INSERT_TAIL(&forward->failed, call, order);
    call->failed = true;
}

/* CURLMOPT_SOCKETFUNCTION. */
static int watch_socket(CURL *curl, curl_socket_t fd, int what, void *closure,
                        void *assigned)
{
    struct forward *forward = closure;
    if (what == CURL_POLL_REMOVE)
        forget_socket(forward, assigned);
    else if (!set_events(forward, assigned, fd, what))
        fail(forward, curl);
    return 0;
}

/* CURLMOPT_TIMERFUNCTION. */
static int set_timer(CURLM *multi, long timeout_ms, void *closure)
{
    struct forward *forward = closure;
    (void)multi;
    forward->due_ns = timeout_ms < 0
                          ? 0
                          : kx_monotonic_ns() + (uint64_t)timeout_ms * KX_MS_NS;
    return 0;
}

/* ---- The connections of a loop ------------------------------------------ */

/* Returns the loop's share of a limit of the process. */
static long part_of(const struct forward *forward, long most)
{
    long loops = (long)forward->queue->service->options->loops;
    return most > loops ? most / loops : 1;
}

static bool set_up(struct forward *forward)
{
    CURLM *multi = forward->multi;
    long most = part_of(forward, FORWARD_CONNECTIONS_MAX);
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, forward) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, forward) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, most) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, most) == CURLM_OK;
}

struct forward *forward_open(struct run_queue *queue, int epoll_fd)
{
    struct forward *forward = talloc_zero(NULL, struct forward);
    if (forward == NULL)
        return NULL;
    forward->queue = queue;
    forward->epoll_fd = epoll_fd;
    TAILQ_INIT(&forward->ready);
    TAILQ_INIT(&forward->failed);
    forward->multi = curl_multi_init();
    if (forward->multi != NULL && set_up(forward))
        return forward;
    forward_close(forward);
    return NULL;
}

void forward_close(struct forward *forward)
{
    if (forward == NULL)
        return;
    curl_multi_cleanup(forward->multi);
    talloc_free(forward);
}

bool forward_has_room(const struct forward *forward, bool lasting)
{
    return forward->requests < (size_t)part_of(forward, FORWARD_REQUESTS_MAX) &&
           (!lasting ||
            forward->lasting < (size_t)part_of(forward, FORWARD_LASTING_MAX));
}

bool forward_add(struct forward *forward, struct forward_call *call)
{
    return curl_easy_setopt(call->curl, CURLOPT_PRIVATE, call) == CURLE_OK &&
           curl_multi_add_handle(forward->multi, call->curl) == CURLM_OK;
}

void forward_remove(struct forward *forward, struct forward_call *call)
{
    if (call->failed)
        TAILQ_REMOVE(&forward->failed, call, order);
    call->failed = false;
    curl_multi_remove_handle(forward->multi, call->curl);
}

/* Reports the ended transfers to their owners. */
static void take_ended(struct forward *forward)
{
    const struct CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(forward->multi, &left)) != NULL) {
        CURLcode code = message->data.result;
        struct forward_call *call;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) ==
                CURLE_OK)
            call->ended(call, code);
    }
}

static void end_failed(struct forward *forward)
{
    struct forward_call *call;
    while ((call = TAILQ_FIRST(&forward->failed)) != NULL) {
        forward_remove(forward, call);
        call->ended(call, CURLE_OUT_OF_MEMORY);
    }
}

void forward_run(struct forward *forward)
{
    struct forward_socket *socket;
    int running;
    while ((socket = TAILQ_FIRST(&forward->ready)) != NULL) {
        unmark(socket);
        curl_multi_socket_action(forward->multi, socket->source.fd, 0,
                                 &running);
    }
    if (forward->due_ns != 0 && kx_monotonic_ns() >= forward->due_ns) {
        forward->due_ns = 0;
        curl_multi_socket_action(forward->multi, CURL_SOCKET_TIMEOUT, 0,
                                 &running);
    }
    take_ended(forward);
    end_failed(forward);
}

int forward_timeout_ms(const struct forward *forward)
{
    if (!TAILQ_EMPTY(&forward->ready) || !TAILQ_EMPTY(&forward->failed))
        return 0;
    return forward->due_ns == 0 ? -1 : (int)kx_ms_until(forward->due_ns);
}
