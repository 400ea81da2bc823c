/* The answer to a fault of framing. It is written straight to the socket, past
 * handlers and HTTP library, so it is a whole HTTP/1.1 message. Its body has
 * the form of every other problem. */
#include "http1/framing.h"

#include <stdio.h>

#include "net/httpdate.h"
#include "http/problem.h"

/* The details hold nothing that JSON would escape. */
static const struct {
    enum problem_code code;
    const char *detail;
} FAULTS[FRAMING_FAULT_COUNT] = {
    [FRAMING_BAD_METHOD] = {PROBLEM_BAD_REQUEST,
                            "The request does not begin with a method of at "
                            "most 32 token characters and a space."},
    [FRAMING_BAD_TARGET] =
        {PROBLEM_BAD_REQUEST,
         "The request target must be a path that begins with a slash (or *) "
         "and contains no spaces or control characters; a complete URL is not "
         "accepted."},
    [FRAMING_BAD_REQUEST_LINE] =
        {PROBLEM_BAD_REQUEST, "The request line must be: method, one space, "
                              "target, one space, HTTP/1.1."},
    [FRAMING_BAD_LINE_END] =
        {PROBLEM_BAD_REQUEST,
         "Every line must end with CR LF; this one has a CR or LF alone."},
    [FRAMING_BAD_HEADER_NAME] = {PROBLEM_BAD_REQUEST,
                                 "A header name must be token characters, with "
                                 "no space before the colon."},
    [FRAMING_BAD_HEADER_VALUE] =
        {PROBLEM_BAD_REQUEST, "A header value contains a control character."},
    [FRAMING_FOLDED_HEADER] = {PROBLEM_BAD_REQUEST,
                               "A header line begins with a space; folded "
                               "headers are not accepted."},
    [FRAMING_NO_HOST] = {PROBLEM_BAD_REQUEST,
                         "An HTTP/1.1 request needs a Host header."},
    [FRAMING_TWO_HOSTS] = {PROBLEM_BAD_REQUEST,
                           "The request has more than one Host header."},
    [FRAMING_BAD_HOST] = {PROBLEM_BAD_REQUEST,
                          "The Host header must be a name or an address, "
                          "with or without a port."},
    [FRAMING_BAD_LENGTH] = {PROBLEM_BAD_REQUEST,
                            "Content-Length must be digits only."},
    [FRAMING_TWO_LENGTHS] = {PROBLEM_BAD_REQUEST,
                             "The request has more than one Content-Length."},
    [FRAMING_LENGTH_AND_ENCODING] =
        {PROBLEM_BAD_REQUEST, "The request has both a Content-Length and a "
                              "Transfer-Encoding."},
    [FRAMING_TWO_ENCODINGS] =
        {PROBLEM_BAD_REQUEST,
         "The request has more than one Transfer-Encoding."},
    [FRAMING_ENCODING_IN_1_0] =
        {PROBLEM_BAD_REQUEST,
         "An HTTP/1.0 request cannot have a Transfer-Encoding."},
    [FRAMING_BAD_CHUNK] =
        {PROBLEM_BAD_REQUEST,
         "A chunk of the body is malformed; a chunk is: size in hex digits, "
         "extensions of at most 256 bytes, CR LF, that many bytes, CR LF."},
    [FRAMING_BAD_TRAILER] = {PROBLEM_BAD_REQUEST,
                             "Host, Content-Length and Transfer-Encoding are "
                             "not allowed after a chunked body."},
    [FRAMING_URI_TOO_LONG] = {PROBLEM_URI_TOO_LONG,
                              "The request target has more bytes than this "
                              "server accepts."},
    [FRAMING_HEADERS_TOO_LARGE] = {PROBLEM_HEADERS_TOO_LARGE,
                                   "The headers have more bytes or more lines "
                                   "than this server accepts."},
    [FRAMING_BODY_TOO_LARGE] = {PROBLEM_PAYLOAD_TOO_LARGE,
                                "The body has more bytes than this server "
                                "accepts for any request."},
    [FRAMING_UNKNOWN_ENCODING] =
        {PROBLEM_TRANSFER_ENCODING_UNSUPPORTED,
         "The only accepted Transfer-Encoding is: chunked."},
    [FRAMING_UNKNOWN_VERSION] =
        {PROBLEM_HTTP_VERSION_UNSUPPORTED,
         "The version of the request is neither HTTP/1.0 nor HTTP/1.1."},
    [FRAMING_SLOW_HEAD] = {PROBLEM_REQUEST_TIMEOUT,
                           "The headers of the request did not arrive in time "
                           "(--header-timeout)."},
    [FRAMING_SLOW_BODY] =
        {PROBLEM_REQUEST_TIMEOUT,
         "The body of the request did not arrive in time (--body-timeout)."},
    [FRAMING_STALLED_BODY] =
        {PROBLEM_REQUEST_TIMEOUT,
         "The body of the request came at less than 8 KiB a second while other "
         "requests needed what it held (--bodies-max, --requests-max)."},
};

/* The reason phrases (RFC 9110 section 15) of the statuses that FAULTS leads
 * to. */
static const char *phrase(int status)
{
    switch (status) {
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Bad Request";
    }
}

int framing_status(enum framing_fault fault)
{
    return problem_row(FAULTS[fault].code)->status;
}

size_t framing_answer(enum framing_fault fault, const char *id, char *out,
                      size_t size)
{
    char body[FRAMING_ANSWER_MAX];
    char answer[FRAMING_ANSWER_MAX];
    char date[HTTPDATE_MAX];
    if (fault == FRAMING_NO_FAULT)
        return 0;
    const struct problem_row *row = problem_row(FAULTS[fault].code);
    int body_size =
        snprintf(body, sizeof body,
                 "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d,"
                 "\"code\":\"%s\",\"detail\":\"%s\",\"hint\":\"%s\"}",
                 row->code, row->title, row->status, row->code,
                 FAULTS[fault].detail, row->hint);
    httpdate_write(date);
    int answer_size =
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\n"
                 "Content-Type: application/problem+json\r\n"
                 "Cross-Origin-Resource-Policy: same-origin\r\n"
                 "X-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
                 row->status, phrase(row->status), date, id, body_size, body);
    if ((size_t)answer_size > size || (size_t)answer_size >= sizeof answer)
        return 0;
    memcpy(out, answer, (size_t)answer_size);
    return (size_t)answer_size;
}
