/* Framing: the verdict on a stream of requests, whatever the pieces in which it
 * arrives. */
#include <string.h>

#include "framing_cases.h"
#include "unit.h"

enum { SPLITS = 60, MUTATIONS = 60000 };

/* The verdict on a stream. */
struct outcome {
    enum framing_fault fault;
    size_t passed; /* bytes that were passed on */
    size_t shown;  /* bytes up to the end of the piece with the fault */
};

static uint64_t seed;

static int begin_draws(void **state)
{
    (void)state;
    seed = random_seed("framing");
    return 0;
}

TESTS_SHARE(begin_draws, NULL)

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

TEST(framing_gives_expected_verdict_for_each_case)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
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

TEST(splitting_a_stream_never_changes_its_verdict)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++)
        check_splits(CASES[i].name, (const uint8_t *)CASES[i].stream,
                     strlen(CASES[i].stream), SPLITS);
}

/* NUL, the other control characters and DEL are nowhere in a head. */
TEST(framing_refuses_control_characters_in_heads)
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

TEST(framing_enforces_limits_exactly)
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

TEST(framing_fault_is_final)
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

/* The framing reports where the name of a Cookie header ends, but none within
 * a body or split over two pieces. */
TEST(framing_finds_names_of_cookie_headers)
{
    static const struct {
        const char *stream;
        const char *value; /* after the name; NULL: not found */
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: h\r\nCookie: a\r\n\r\n", ": a"},
        {"GET / HTTP/1.1\r\ncOOKIE:b\r\nHost: h\r\n\r\n", ":b"},
        {"GET / HTTP/1.1\r\nHost: h\r\nCookie2: a\r\n\r\n", NULL},
        {"GET / HTTP/1.1\r\nHost: h\r\nAccept: Cookie: a\r\n\r\n", NULL},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n"
         "\r\nCookie: a\r",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct framing framing;
        enum framing_fault fault;
        const uint8_t *stream = (const uint8_t *)cases[i].stream;
        size_t size = strlen(cases[i].stream);
        framing_init(&framing, &LIMITS);
        framing_feed(&framing, stream, size, &fault);
        assert_int_equal(fault, FRAMING_NO_FAULT);
        if (cases[i].value == NULL)
            assert_null(framing.cookie);
        else
            assert_ptr_equal(framing.cookie + 1,
                             strstr(cases[i].stream, cases[i].value));
        framing_init(&framing, &LIMITS);
        for (size_t k = 0; k < size; k++) {
            framing_feed(&framing, stream + k, 1, &fault);
            assert_null(framing.cookie);
        }
    }
}

/* Replaces, removes, doubles or inserts a byte of a stream of at most 1000. */
static size_t plan_mutate(uint8_t *stream, size_t size)
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

/* A whole head takes the fast path for usual requests, single bytes take the
 * state machine: both must agree. */
TEST(mutated_streams_get_same_verdict_in_any_split)
{
    uint8_t stream[1100];
    (void)state;
    for (unsigned i = 0; i < MUTATIONS; i++) {
        const char *text = CASES[draw(CASE_COUNT)].stream;
        size_t size = strlen(text);
        memcpy(stream, text, size);
        for (size_t n = 1 + draw(3); n > 0 && size > 1; n--)
            size = plan_mutate(stream, size);
        check_splits("mutated", stream, size, 1);
    }
}
