/* Framing: a table of streams and the verdict on each, whatever the pieces in
 * which they arrive. */
#include "unit.h"

#include "framing.h"
#include "problem.h"

#define GET "GET /kv/a HTTP/1.1\r\nHost: h\r\n\r\n"
#define PUT "PUT /kv/a HTTP/1.1\r\nHost: h\r\n"
#define CHUNKS PUT "Transfer-Encoding: chunked\r\n\r\n"
#define TEN "0123456789"

enum {
    TARGET_MAX = 40,
    HEADERS_MAX = 220,
    COUNT_MAX = 6,
    BODY_MAX = 50,
    SPLITS = 60,
    MUTATIONS = 60000
};

static const struct framing_limits LIMITS = {
    .body_max = BODY_MAX,
    .target_max = TARGET_MAX,
    .headers_max = HEADERS_MAX,
    .header_count_max = COUNT_MAX,
};

struct test_case {
    const char *name;
    const char *stream;
    enum framing_fault fault;
    size_t good; /* bytes of whole requests before the fault; 0 with none:
                  * the whole stream */
};

static const struct test_case CASES[] = {
    /* What must pass. */
    {"nothing", "", FRAMING_NO_FAULT, 0},
    {"a plain request", GET, FRAMING_NO_FAULT, 0},
    {"two requests", GET GET, FRAMING_NO_FAULT, 0},
    {"the beginning of a request", "GET /kv/a HT", FRAMING_NO_FAULT, 0},
    {"HTTP/1.0 without a Host", "GET / HTTP/1.0\r\n\r\n", FRAMING_NO_FAULT, 0},
    {"no space after the colon", "GET / HTTP/1.1\r\nHost:h\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"spaces and tabs around a value",
     "GET / HTTP/1.1\r\nHost: \t h\r\nA:\t b\tc \t\r\nB:\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"bytes over 127", "GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\nA: \xff\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"a host with a port", "GET / HTTP/1.1\r\nHOST: a-b.c:4512\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"an IPv6 host", "GET / HTTP/1.1\r\nhost: [::1]:4512\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"an IPv6 host without a port", "GET / HTTP/1.1\r\nhost: [::1]\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"asterisk target", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"any token is a method", "!#$%&'*+-.^_`|~ / HTTP/1.1\r\nHost: h\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"one empty line before a request", GET "\r\n" GET, FRAMING_NO_FAULT, 0},
    {"other names of four, fourteen and seventeen letters",
     "GET / HTTP/1.1\r\nHosu: h\r\nContent-Lengti: x\r\n"
     "Transfer-Encodinh: x\r\nA-name-of-twenty-one-: x\r\nHost: h\r\n\r\n",
     FRAMING_NO_FAULT, 0},
    {"a body", PUT "Content-Length: 5\r\n\r\nhello" GET, FRAMING_NO_FAULT, 0},
    {"an empty body", PUT "Content-Length: 0\r\n\r\n" GET, FRAMING_NO_FAULT, 0},
    {"a length with leading zeros",
     PUT "Content-Length: 000000000000000005\r\n\r\nhello" GET,
     FRAMING_NO_FAULT, 0},
    {"the longest body",
     PUT "content-length: 50\r\n\r\n" TEN TEN TEN TEN TEN GET, FRAMING_NO_FAULT,
     0},
    {"chunks", CHUNKS "5\r\nhello\r\na\r\n" TEN "\r\n0\r\n\r\n" GET,
     FRAMING_NO_FAULT, 0},
    {"no chunks", CHUNKS "0\r\n\r\n" GET, FRAMING_NO_FAULT, 0},
    {"coding in capitals",
     PUT "transfer-encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n" GET,
     FRAMING_NO_FAULT, 0},
    {"a chunk extension", CHUNKS "5;a=\"b\t\"\r\nhello\r\n0;c\r\n\r\n" GET,
     FRAMING_NO_FAULT, 0},
    {"trailers", CHUNKS "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n" GET,
     FRAMING_NO_FAULT, 0},
    {"a chunk size with leading zeros",
     CHUNKS "0000000000000001\r\nx\r\n0\r\n\r\n" GET, FRAMING_NO_FAULT, 0},
    {"the most chunks hold",
     CHUNKS "32\r\n" TEN TEN TEN TEN TEN "\r\n0\r\n\r\n" GET, FRAMING_NO_FAULT,
     0},
    {"the longest target",
     "GET /" TEN TEN TEN "012345678 HTTP/1.1\r\nHost: h\r\n\r\n" GET,
     FRAMING_NO_FAULT, 0},
    {"the most headers", PUT "a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\n\r\n" GET,
     FRAMING_NO_FAULT, 0},

    /* The request line. */
    {"a bad method", GET "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
     FRAMING_BAD_METHOD, sizeof GET - 1},
    {"no method", " / HTTP/1.1\r\n", FRAMING_BAD_METHOD, 0},
    {"a TLS hello", "\x16\x03\x01\x02", FRAMING_BAD_METHOD, 0},
    {"a long method", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n",
     FRAMING_BAD_METHOD, 0},
    {"two empty lines", GET "\r\n\r\n" GET, FRAMING_BAD_LINE_END,
     sizeof GET - 1},
    {"an empty line of LF", "\n" GET, FRAMING_BAD_LINE_END, 0},
    {"two spaces", "GET  / HTTP/1.1\r\n", FRAMING_BAD_REQUEST_LINE, 0},
    {"a tab", "GET\t/ HTTP/1.1\r\n", FRAMING_BAD_METHOD, 0},
    {"two spaces before the version", "GET /  HTTP/1.1\r\n",
     FRAMING_BAD_REQUEST_LINE, 0},
    {"a space in the target", "GET /a b HTTP/1.1\r\n", FRAMING_BAD_REQUEST_LINE,
     0},
    {"a space after the version", "GET / HTTP/1.1 \r\n",
     FRAMING_BAD_REQUEST_LINE, 0},
    {"a tab in the target", "GET /a\tb HTTP/1.1\r\n", FRAMING_BAD_TARGET, 0},
    {"DEL in the target", "GET /a\x7f HTTP/1.1\r\n", FRAMING_BAD_TARGET, 0},
    {"a whole URL", "GET http://h/kv/a HTTP/1.1\r\nHost: h\r\n\r\n",
     FRAMING_BAD_TARGET, 0},
    {"an authority", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n",
     FRAMING_BAD_TARGET, 0},
    {"more than an asterisk", "OPTIONS *x HTTP/1.1\r\n", FRAMING_BAD_TARGET, 0},
    {"HTTP/0.9", "GET /\r\n", FRAMING_BAD_REQUEST_LINE, 0},
    {"HTTP/0.9 with LF", "GET /\n", FRAMING_BAD_REQUEST_LINE, 0},
    {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", FRAMING_UNKNOWN_VERSION,
     0},
    {"HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FRAMING_UNKNOWN_VERSION,
     0},
    {"HTTP/1.10", "GET / HTTP/1.10\r\n", FRAMING_BAD_REQUEST_LINE, 0},
    {"http/1.1", "GET / http/1.1\r\n", FRAMING_BAD_REQUEST_LINE, 0},
    {"a longer target", "GET /" TEN TEN TEN TEN " HTTP/1.1\r\nHost: h\r\n\r\n",
     FRAMING_URI_TOO_LONG, 0},
    {"a far longer target", "GET /" TEN TEN TEN TEN TEN TEN "\x01",
     FRAMING_URI_TOO_LONG, 0},

    /* Line ends. */
    {"LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"CR after the request line", "GET / HTTP/1.1\rHost: h\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"LF after a header", "GET / HTTP/1.1\r\nHost: h\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"LF in a value", "GET / HTTP/1.1\r\nA: b\nHost: h\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"CR in a value", "GET / HTTP/1.1\r\nA: b\rc\r\nHost: h\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"LF for the empty line", "GET / HTTP/1.1\r\nHost: h\r\n\n",
     FRAMING_BAD_LINE_END, 0},
    {"CR CR LF", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", FRAMING_BAD_LINE_END,
     0},

    /* Headers. */
    {"space before the colon", PUT "Content-Length : 3\r\n\r\nabc",
     FRAMING_BAD_HEADER_NAME, 0},
    {"tab before the colon", PUT "Transfer-Encoding\t: chunked\r\n\r\n",
     FRAMING_BAD_HEADER_NAME, 0},
    {"no colon", PUT "abc\r\n\r\n", FRAMING_BAD_HEADER_NAME, 0},
    {"no name", PUT ": abc\r\n\r\n", FRAMING_BAD_HEADER_NAME, 0},
    {"a name in quotes", PUT "\"a\": abc\r\n\r\n", FRAMING_BAD_HEADER_NAME, 0},
    {"a byte over 127 in a name", PUT "\xc3\xa9: a\r\n\r\n",
     FRAMING_BAD_HEADER_NAME, 0},
    {"a folded header", PUT "A: b\r\n c\r\n\r\n", FRAMING_FOLDED_HEADER, 0},
    {"a header folded with a tab", PUT "A: b\r\n\tc\r\n\r\n",
     FRAMING_FOLDED_HEADER, 0},
    {"a first line with a space", "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
     FRAMING_FOLDED_HEADER, 0},
    {"a control character in a value", PUT "A: b\x01\r\n\r\n",
     FRAMING_BAD_HEADER_VALUE, 0},
    {"DEL in a value", PUT "A: b\x7f\r\n\r\n", FRAMING_BAD_HEADER_VALUE, 0},
    {"no Host", GET "GET / HTTP/1.1\r\nA: b\r\n\r\n", FRAMING_NO_HOST,
     sizeof GET - 1},
    {"no headers", "GET / HTTP/1.1\r\n\r\n", FRAMING_NO_HOST, 0},
    {"two Hosts", PUT "A: b\r\nhOST: h\r\n\r\n", FRAMING_TWO_HOSTS, 0},
    {"two Hosts in 1.0", "GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n",
     FRAMING_TWO_HOSTS, 0},
    {"an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", FRAMING_BAD_HOST, 0},
    {"a Host of spaces", "GET / HTTP/1.1\r\nHost:  \r\n\r\n", FRAMING_BAD_HOST,
     0},
    {"a Host with a path", "GET / HTTP/1.1\r\nHost: h/a\r\n\r\n",
     FRAMING_BAD_HOST, 0},
    {"a Host with a user", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n",
     FRAMING_BAD_HOST, 0},
    {"a list of Hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
     FRAMING_BAD_HOST, 0},
    {"a Host with a space at its end", "GET / HTTP/1.1\r\nHost: h \r\n\r\n",
     FRAMING_BAD_HOST, 0},
    {"a port alone", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", FRAMING_BAD_HOST,
     0},
    {"a port that is none", "GET / HTTP/1.1\r\nHost: h:8a\r\n\r\n",
     FRAMING_BAD_HOST, 0},
    {"an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"empty brackets", "GET / HTTP/1.1\r\nHost: []\r\n\r\n", FRAMING_BAD_HOST,
     0},
    {"text after brackets", "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n",
     FRAMING_BAD_HOST, 0},
    {"one header too many",
     PUT "a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\nf: 6\r\n\r\n",
     FRAMING_HEADERS_TOO_LARGE, 0},
    {"headers that are too long",
     GET PUT "a: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
         TEN TEN TEN TEN "\r\n\r\n",
     FRAMING_HEADERS_TOO_LARGE, sizeof GET - 1},

    /* Content-Length and Transfer-Encoding. */
    {"two equal lengths",
     PUT "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
     FRAMING_TWO_LENGTHS, 0},
    {"two lengths", PUT "Content-Length: 3\r\ncontent-length: 30\r\n\r\nabc",
     FRAMING_TWO_LENGTHS, 0},
    {"a list of lengths", PUT "Content-Length: 3, 3\r\n\r\nabc",
     FRAMING_BAD_LENGTH, 0},
    {"+3", PUT "Content-Length: +3\r\n\r\nabc", FRAMING_BAD_LENGTH, 0},
    {"-1", PUT "Content-Length: -1\r\n\r\nabc", FRAMING_BAD_LENGTH, 0},
    {"0x3", PUT "Content-Length: 0x3\r\n\r\nabc", FRAMING_BAD_LENGTH, 0},
    {"an empty length", PUT "Content-Length: \r\n\r\nabc", FRAMING_BAD_LENGTH,
     0},
    {"a length and a space", PUT "Content-Length: 3 \r\n\r\nabc",
     FRAMING_BAD_LENGTH, 0},
    {"a length and LF", PUT "Content-Length: 3\n\r\n\r\nabc",
     FRAMING_BAD_LENGTH, 0},
    {"a length over the limit", PUT "Content-Length: 51\r\n\r\n",
     FRAMING_BODY_TOO_LARGE, 0},
    {"a length of 23 digits",
     PUT "Content-Length: 12345678901234567890123\r\n\r\n",
     FRAMING_BODY_TOO_LARGE, 0},
    {"2^64", PUT "Content-Length: 18446744073709551616\r\n\r\n",
     FRAMING_BODY_TOO_LARGE, 0},
    {"a length, then an encoding",
     PUT "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
     FRAMING_LENGTH_AND_ENCODING, 0},
    {"an encoding, then a length",
     PUT "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
     FRAMING_LENGTH_AND_ENCODING, 0},
    {"two encodings",
     PUT "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
     FRAMING_TWO_ENCODINGS, 0},
    {"identity", PUT "Transfer-Encoding: identity\r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"xchunked", PUT "Transfer-Encoding: xchunked\r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"chunkedx", PUT "Transfer-Encoding: chunkedx\r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"chunke", PUT "Transfer-Encoding: chunke\r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"chunked and a space", PUT "Transfer-Encoding: chunked \r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"gzip, chunked", PUT "Transfer-Encoding: gzip, chunked\r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"chunked, chunked", PUT "Transfer-Encoding: chunked, chunked\r\n\r\n",
     FRAMING_UNKNOWN_ENCODING, 0},
    {"no encoding", PUT "Transfer-Encoding:\r\n\r\n", FRAMING_UNKNOWN_ENCODING,
     0},
    {"a vertical tab before chunked",
     PUT "Transfer-Encoding: \vchunked\r\n\r\n", FRAMING_BAD_HEADER_VALUE, 0},
    {"an encoding in 1.0",
     "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
     FRAMING_ENCODING_IN_1_0, 0},

    /* Chunks. */
    {"chunk size -3", CHUNKS "-3\r\nabc\r\n0\r\n\r\n", FRAMING_BAD_CHUNK, 0},
    {"chunk size 0x3", CHUNKS "0x3\r\nabc\r\n0\r\n\r\n", FRAMING_BAD_CHUNK, 0},
    {"chunk size after a space", CHUNKS " 3\r\nabc\r\n0\r\n\r\n",
     FRAMING_BAD_CHUNK, 0},
    {"chunk size before a space", CHUNKS "3 \r\nabc\r\n0\r\n\r\n",
     FRAMING_BAD_CHUNK, 0},
    {"no chunk size", CHUNKS ";a\r\nabc\r\n0\r\n\r\n", FRAMING_BAD_CHUNK, 0},
    {"no chunk line", CHUNKS "\r\nabc\r\n0\r\n\r\n", FRAMING_BAD_LINE_END, 0},
    {"LF after a chunk size", CHUNKS "3\nabc\r\n0\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"LF after a chunk", CHUNKS "3\r\nabc\n0\r\n\r\n", FRAMING_BAD_LINE_END, 0},
    {"LF in a chunk extension", CHUNKS "3;a\nabc\r\n0\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"CR in a chunk extension", CHUNKS "3;a\rb\r\nabc\r\n0\r\n\r\n",
     FRAMING_BAD_LINE_END, 0},
    {"a control character in an extension", CHUNKS "3;\x01\r\nabc\r\n",
     FRAMING_BAD_CHUNK, 0},
    {"a chunk that is longer", CHUNKS "3\r\nabcd\r\n0\r\n\r\n",
     FRAMING_BAD_CHUNK, 0},
    {"a chunk over the limit", CHUNKS "33\r\n", FRAMING_BODY_TOO_LARGE, 0},
    {"chunks over the limit", CHUNKS "a\r\n" TEN "\r\n29\r\n",
     FRAMING_BODY_TOO_LARGE, 0},
    {"a chunk size of 2^64", GET CHUNKS "10000000000000000\r\n",
     FRAMING_BODY_TOO_LARGE, sizeof GET - 1},
    {"a chunk size of 2^64 - 1", CHUNKS "ffffffffffffffff\r\n",
     FRAMING_BODY_TOO_LARGE, 0},
    {"a chunk size of 17 zeros", CHUNKS "00000000000000000\r\n",
     FRAMING_BAD_CHUNK, 0},
    {"LF after the last chunk", CHUNKS "0\r\n\n", FRAMING_BAD_LINE_END, 0},
    {"a length in the trailers", CHUNKS "0\r\nContent-Length: 3\r\n\r\n",
     FRAMING_BAD_TRAILER, 0},
    {"a Host in the trailers", CHUNKS "0\r\nHost: h\r\n\r\n",
     FRAMING_BAD_TRAILER, 0},
    {"an encoding in the trailers",
     CHUNKS "0\r\nTransfer-Encoding: chunked\r\n\r\n", FRAMING_BAD_TRAILER, 0},
    {"a folded trailer", CHUNKS "0\r\nA: b\r\n c\r\n\r\n",
     FRAMING_FOLDED_HEADER, 0},
    {"too many trailers",
     CHUNKS "0\r\na:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\n\r\n",
     FRAMING_HEADERS_TOO_LARGE, 0},
};

/* What became of a stream. */
struct outcome {
    enum framing_fault fault;
    size_t passed; /* bytes that were passed on */
    size_t shown;  /* bytes up to the end of the piece with the fault */
};

static uint64_t seed;

static size_t draw(size_t limit)
{
    return random_below(&seed, limit);
}

/* Feeds a stream in pieces of 1..piece_max bytes of a random size; exactly one
 * byte with 1, the whole with 0. Each piece is copied into memory of just its
 * size, so that a read past its end is found. */
static struct outcome feed(const uint8_t *stream, size_t size, size_t piece_max)
{
    struct framing framing;
    struct outcome outcome = {FRAMING_NO_FAULT, 0, 0};
    framing_init(&framing, &LIMITS);
    while (outcome.shown < size && outcome.fault == FRAMING_NO_FAULT) {
        size_t left = size - outcome.shown;
        size_t piece = left;
        if (piece_max != 0 && (piece = 1 + draw(piece_max)) > left)
            piece = left;
        uint8_t *copy = malloc(piece);
        memcpy(copy, stream + outcome.shown, piece);
        size_t passed = framing_feed(&framing, copy, piece, &outcome.fault);
        free(copy);
        assert_true(passed <= piece);
        outcome.passed += passed;
        outcome.shown += piece;
        if (outcome.fault == FRAMING_NO_FAULT)
            assert_int_equal(passed, piece);
    }
    return outcome;
}

static void every_stream_has_its_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct test_case *c = &CASES[i];
        size_t size = strlen(c->stream);
        size_t good = c->fault == FRAMING_NO_FAULT ? size : c->good;
        struct outcome whole = feed((const uint8_t *)c->stream, size, 0);
        if (whole.fault != c->fault || whole.passed != good)
            fail_msg("%s: fault %d, passed %zu", c->name, whole.fault,
                     whole.passed);
    }
}

/* However a stream is split, the verdict is the same; at least the good
 * requests pass, and at most what is before the first wrong byte. */
static void check_splits(const char *name, const uint8_t *stream, size_t size,
                         unsigned splits)
{
    struct outcome whole = feed(stream, size, 0);
    struct outcome single = feed(stream, size, 1);
    if (single.fault != whole.fault || single.passed < whole.passed)
        fail_msg("%s: fault %d whole, %d byte by byte", name, whole.fault,
                 single.fault);
    for (unsigned i = 0; i < splits; i++) {
        struct outcome split = feed(stream, size, 2 + draw(60));
        if (split.fault != whole.fault || split.passed < whole.passed ||
            split.passed > single.passed)
            fail_msg("%s: fault %d whole, %d split", name, whole.fault,
                     split.fault);
    }
}

static void a_split_never_changes_the_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        check_splits(CASES[i].name, (const uint8_t *)CASES[i].stream,
                     strlen(CASES[i].stream), SPLITS);
}

/* NUL, the other control characters and DEL are nowhere in a head. */
static void no_control_character_passes_in_a_head(void **state)
{
    static const char HEAD[] =
        "PUT /kv/a HTTP/1.1\r\nHost: h:1\r\nUser-Agent: curl\r\n"
        "Content-Length: 3\r\n\r\n";
    char stream[sizeof HEAD];
    (void)state;
    for (size_t i = 0; i < sizeof HEAD - 1; i++)
        for (int byte = 0; byte < 128; byte = byte == 31 ? 127 : byte + 1) {
            memcpy(stream, HEAD, sizeof HEAD);
            if (byte == '\t' || stream[i] == byte)
                continue;
            stream[i] = (char)byte;
            struct outcome outcome =
                feed((const uint8_t *)stream, sizeof HEAD - 1, 0);
            if (outcome.fault == FRAMING_NO_FAULT)
                fail_msg("byte %d at %zu passes", byte, i);
        }
}

static void limits_are_exact(void **state)
{
    char stream[1024];
    struct framing framing;
    enum framing_fault fault;
    (void)state;
    for (int more = 0; more <= 1; more++) {
        int size = snprintf(stream, sizeof stream,
                            "GET / HTTP/1.1\r\nHost: h\r\nA: %0*d\r\n\r\n",
                            HEADERS_MAX - 32 + more, 0);
        assert_int_equal(size, HEADERS_MAX + more);
        struct outcome outcome = feed((const uint8_t *)stream, (size_t)size, 0);
        assert_int_equal(outcome.fault, more == 0 ? FRAMING_NO_FAULT
                                                  : FRAMING_HEADERS_TOO_LARGE);
        check_splits("headers", (const uint8_t *)stream, (size_t)size, SPLITS);
        framing_init(&framing, &LIMITS);
        size = snprintf(stream, sizeof stream, CHUNKS "0;%0*d\r\n\r\n",
                        FRAMING_CHUNK_LINE_MAX + more, 0);
        framing_feed(&framing, (uint8_t *)stream, (size_t)size, &fault);
        assert_int_equal(fault,
                         more == 0 ? FRAMING_NO_FAULT : FRAMING_BAD_CHUNK);
    }
}

static void a_fault_stays(void **state)
{
    struct framing framing;
    enum framing_fault fault;
    (void)state;
    framing_init(&framing, &LIMITS);
    framing_feed(&framing, (const uint8_t *)"\n", 1, &fault);
    assert_int_equal(fault, FRAMING_BAD_LINE_END);
    assert_int_equal(
        framing_feed(&framing, (const uint8_t *)GET, sizeof GET - 1, &fault),
        0);
    assert_int_equal(fault, FRAMING_BAD_LINE_END);
}

/* Replaces, removes, doubles or inserts a byte of a stream of at most 1000. */
static size_t mutate(uint8_t *stream, size_t size)
{
    static const char BYTES[] = "\r\n\t :;/a0,\x7f\x01\xff";
    size_t at = draw(size);
    uint8_t byte = (uint8_t)BYTES[draw(sizeof BYTES)];
    switch (draw(4)) {
    case 0:
        stream[at] = byte;
        return size;
    case 1:
        memmove(stream + at, stream + at + 1, size - at - 1);
        return size - 1;
    case 2:
        byte = stream[at];
        break;
    default:
        break;
    }
    memmove(stream + at + 1, stream + at, size - at);
    stream[at] = byte;
    return size + 1;
}

/* Also compares the short way for usual requests, which is taken for a whole
 * head, with the state machine, which takes a byte at a time. */
static void mutated_streams_have_one_verdict(void **state)
{
    uint8_t stream[1100];
    (void)state;
    for (unsigned i = 0; i < MUTATIONS; i++) {
        const char *text = CASES[draw(sizeof CASES / sizeof *CASES)].stream;
        size_t size = strlen(text);
        memcpy(stream, text, size);
        for (size_t n = 1 + draw(3); n > 0 && size > 1; n--)
            size = mutate(stream, size);
        check_splits("mutated", stream, size, 1);
    }
}

/* The answer holds the same document as every other error. */
static void an_answer_is_a_problem_document(void **state)
{
    char answer[FRAMING_ANSWER_MAX];
    (void)state;
    assert_int_equal(
        framing_answer(FRAMING_NO_FAULT, "id", answer, sizeof answer), 0);
    for (int fault = 1; fault < FRAMING_FAULT_COUNT; fault++) {
        void *memory = talloc_new(NULL);
        struct kx_buffer expected;
        enum problem_code code;
        size_t size = framing_answer((enum framing_fault)fault,
                                     "0123456789abcdef", answer, sizeof answer);
        assert_true(size > 0 && size < sizeof answer);
        assert_int_equal(framing_answer((enum framing_fault)fault,
                                        "0123456789abcdef", answer, size - 1),
                         0);
        answer[size] = '\0';
        assert_non_null(
            strstr(answer, "\r\nX-Request-Id: 0123456789abcdef\r\n"));
        const char *body = strstr(answer, "\r\n\r\n");
        const char *name = strstr(answer, "\"code\":\"");
        const char *detail = strstr(answer, "\"detail\":\"");
        assert_true(body != NULL && name != NULL && detail != NULL);
        name += 8;
        detail += 10;
        assert_true(problem_find(kx_slice(name, strcspn(name, "\"")), &code));
        kx_buffer_init(&expected, memory);
        problem_write(&expected, code,
                      talloc_strndup(memory, detail, strcspn(detail, "\"")));
        assert_int_equal(strlen(body + 4), expected.size);
        assert_memory_equal(body + 4, expected.data, expected.size);
        assert_non_null(
            strstr(answer, talloc_asprintf(memory, "HTTP/1.1 %d ",
                                           problem_row(code)->status)));
        assert_non_null(
            strstr(answer, talloc_asprintf(memory, "Content-Length: %zu\r\n",
                                           expected.size)));
        talloc_free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stream_has_its_verdict),
        cmocka_unit_test(a_split_never_changes_the_verdict),
        cmocka_unit_test(no_control_character_passes_in_a_head),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(a_fault_stays),
        cmocka_unit_test(mutated_streams_have_one_verdict),
        cmocka_unit_test(an_answer_is_a_problem_document),
    };
    seed = random_seed("framing");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
