/* Streams of requests and the verdict on each, for tests of framing. */
#ifndef FRAMING_CASES_H
#define FRAMING_CASES_H

#include "http1/framing.h"

#define GET "GET /kv/a HTTP/1.1\r\nHost: h\r\n\r\n"
#define PUT "PUT /kv/a HTTP/1.1\r\nHost: h\r\n"
#define CHUNKS PUT "Transfer-Encoding: chunked\r\n\r\n"

/* Small ones, so that a case can reach each of them. */
enum { TARGET_MAX = 40, HEADERS_MAX = 220, COUNT_MAX = 6, BODY_MAX = 50 };

extern const struct framing_limits LIMITS;

/* A stream and the verdict on it. */
struct test_case {
    const char *name;
    const char *stream;
    enum framing_fault fault;
    size_t good; /* bytes of whole requests before the fault; 0 with none:
                  * the whole stream */
};

extern const struct test_case CASES[];
extern const size_t CASE_COUNT;

#endif
