/* What tells a request from all others, here and in other programs' logs: an
 * identifier, the client's own (X-Request-Id) or one of ours, and the trace
 * that it is part of (traceparent, W3C Trace Context). A header that is not
 * well formed is as good as none: it is neither logged nor sent back. */
#ifndef API_TRACE_H
#define API_TRACE_H

#include <stdbool.h>

enum {
    TRACE_REQUEST_ID_MAX = 64, /* characters of an X-Request-Id */
    TRACE_NEW_ID_SIZE = 17,    /* bytes of one of ours, with its NUL */
    TRACE_ID_DIGITS = 32,
    TRACE_SPAN_DIGITS = 16
};

struct request;
struct service;

struct trace {
    char request_id[TRACE_REQUEST_ID_MAX + 1]; /* "": none yet */
    char trace_id[TRACE_ID_DIGITS + 1];        /* "": none */
    char parent[TRACE_SPAN_DIGITS + 1];        /* the client's span */
    bool named;  /* the client sent an identifier or a trace */
    bool timing; /* and wants to know where the time goes */
};

/* Fills request->trace from its headers. Timing is wanted by a trace that is
 * sampled, and with Prefer: server-timing. */
void trace_read(struct request *request);

/* The request's identifier: the client's, else the id of its trace, else a new
 * one. It lies in the request. */
const char *trace_request_id(struct request *request);

/* Writes a new identifier (TRACE_NEW_ID_SIZE bytes). Any thread. */
void trace_new_id(struct service *service, char *out);

/* Is it 1 to TRACE_REQUEST_ID_MAX letters, digits and . _ - ? */
bool trace_is_request_id(const char *text);

/* Reads a traceparent; *sampled_out is its flag. False: it is not well formed,
 * and trace is as it was. */
bool trace_parse(const char *text, struct trace *trace, bool *sampled_out);

#endif
