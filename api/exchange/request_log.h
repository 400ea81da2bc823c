/* What is noted of every request: its time in the counters when the reply is
 * ready; a line of the log and a place among the slow ones when it is over, if
 * it was slow or --access-log asks for all. The loop's thread. */
#ifndef API_JOURNAL_H
#define API_JOURNAL_H

struct exchange;
struct service;

/* The reply is ready, its headers are not sent: counts it, and adds
 * X-Request-Id and Server-Timing where somebody may look for them. */
void request_log_reply(struct exchange *exchange);

/* The exchange is over. */
void request_log_end(struct exchange *exchange);

/* A request is refused past the exchanges, with this status: counts it, and
 * with --access-log writes its line. Writes the identifier for its answer
 * (TRACE_NEW_ID_SIZE bytes). Any thread. */
void request_log_refusal(struct service *service, int status, char *id_out);

#endif
