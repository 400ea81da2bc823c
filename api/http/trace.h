/* Identifies a request here and in the logs of other programs: by an
 * identifier, which the client sends (X-Request-Id) or the server makes, and by
 * its trace (traceparent, W3C Trace Context). A malformed header is ignored: it
 * is neither logged nor sent back. */
#ifndef API_TRACE_H
#define API_TRACE_H

#include "kindex.h"

enum {
    TRACE_REQUEST_ID_MAX = 64, /* characters of an X-Request-Id */
    TRACE_NEW_ID_SIZE =
        KX_HEX_NUMBER + 1, /* bytes of the server's own, with its NUL */
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
    bool timing; /* the client wants the header Server-Timing */
};

/* Fills request->trace from its headers. `timing` is set for a sampled trace
 * and for Prefer: server-timing. */
void trace_read(struct request *request);

/* Returns the identifier, which is stored in the request: the client's, or the
 * id of its trace, or a new one. */
const char *trace_request_id(struct request *request);

/* Writes a new identifier (TRACE_NEW_ID_SIZE bytes). Any thread. */
void trace_new_id(struct service *service, char *out);

/* True for 1 to TRACE_REQUEST_ID_MAX letters, digits and . _ - */
bool trace_is_request_id(const char *text);

/* Reads a traceparent and its sampled flag. Returns false if it is malformed;
 * the trace is then unchanged. */
bool trace_parse(const char *text, struct trace *trace, bool *sampled_out);

#endif
