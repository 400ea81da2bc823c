/* Records every request. When the reply is ready, its time is added to the
 * counters. When the request has ended, a slow one gets a log line and a place
 * in the list of slow requests; with --access-log every request gets a log
 * line. The loop's thread, except request_log_refusal. */
#ifndef API_REQUEST_LOG_H
#define API_REQUEST_LOG_H

struct exchange;
struct service;

/* The reply is ready, and its headers are not sent yet: counts it and adds
 * X-Request-Id and Server-Timing where they are useful. */
void request_log_reply(struct exchange *exchange);

/* The exchange has ended: writes its log line if it needs one. */
void request_log_end(struct exchange *exchange);

/* A request was refused with this status without an exchange: counts it, and
 * writes its log line with --access-log. Writes the identifier for its answer
 * to id_out (TRACE_NEW_ID_SIZE bytes). Any thread. */
void request_log_refusal(struct service *service, int status, char *id_out);

#endif
