/* Accepts connections and passes each one to its door when its first bytes have
 * arrived. All functions belong to the thread of the event loop. */
#ifndef API_LISTENER_H
#define API_LISTENER_H

#include "http1/http1.h"
#include "http2/http2.h"
#include "server/listen_sockets.h"
#include "net/event_source.h"

struct listener;

/* Watches the listening sockets in epoll_fd; accepted connections go to http2
 * when they begin with its preface, else to http1. Takes over the sockets, also
 * on failure: NULL when memory ran out. */
struct listener *listener_open(const struct socket_set *sockets, int epoll_fd,
                               struct http1 *http1, struct http2 *http2,
                               struct service *service);
/* Accepts no more and closes the connections that have sent nothing yet. */
void listener_close(struct listener *listener);

/* Milliseconds until listener_expire has something to do; -1: none. */
int listener_timeout_ms(const struct listener *listener);
/* Closes connections that stayed silent for too long, and resumes accepting
 * after descriptors had run out. */
void listener_expire(struct listener *listener);

#endif
