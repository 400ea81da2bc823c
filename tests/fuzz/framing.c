/* Streams of HTTP/1.1: one verdict, regardless of the pieces that they arrive
 * in, and never less of a good request than all of it. The first byte says how
 * large the pieces are. */
#include "http1/framing.h"
#include "fuzz.h"

/* Small, so that a short input can reach them. */
static const struct framing_limits LIMITS = {
    .body_max = 50,
    .target_max = 40,
    .headers_max = 220,
    .header_count_max = 6,
};

struct outcome {
    enum framing_fault fault;
    uint64_t requests;
    size_t passed;
};

static struct outcome feed(struct kx_slice stream, size_t piece, void *memory)
{
    struct framing framing;
    struct outcome outcome = {.fault = FRAMING_NO_FAULT};
    framing_init(&framing, &LIMITS);
    while (stream.size > 0 && outcome.fault == FRAMING_NO_FAULT) {
        struct kx_slice copy = fuzz_alone(fuzz_take(&stream, piece), memory);
        size_t passed =
            framing_feed(&framing, copy.data, copy.size, &outcome.fault);
        assert_true(passed <= copy.size);
        if (outcome.fault == FRAMING_NO_FAULT)
            assert_int_equal(passed, copy.size);
        outcome.passed += passed;
        talloc_free((void *)(uintptr_t)copy.data);
    }
    outcome.requests = framing.requests;
    return outcome;
}

void fuzz(struct kx_slice input, void *memory)
{
    char answer[FRAMING_ANSWER_MAX];
    size_t piece = 2 + fuzz_byte(&input) % 60;
    struct outcome whole = feed(input, input.size, memory);
    struct outcome single = feed(input, 1, memory);
    struct outcome split = feed(input, piece, memory);
    assert_int_equal(single.fault, whole.fault);
    assert_int_equal(split.fault, whole.fault);
    assert_int_equal(single.requests, whole.requests);
    assert_int_equal(split.requests, whole.requests);
    assert_true(whole.passed <= split.passed && split.passed <= single.passed);
    if (whole.fault != FRAMING_NO_FAULT)
        assert_true(framing_answer(whole.fault, "0123456789abcdef", answer,
                                   sizeof answer) > 0);
}
