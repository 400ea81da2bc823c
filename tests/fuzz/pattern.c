/* A pattern and a text, a line each: refused with a reason, or the verdict is
 * that of other patterns with the same meaning, which other code matches. */
#include "fuzz.h"
#include "rules/pattern.h"

enum verdict { REFUSED, DIFFERS, MATCHES, COSTLY };

/* The verdict of a pattern between two others. */
static enum verdict judge(const char *before, struct kx_slice pattern,
                          const char *after, struct kx_slice text, void *memory)
{
    struct kx_buffer whole;
    struct kx_buffer token;
    struct kx_buffer subject;
    struct pattern *compiled;
    struct kx_fault fault = {.detail = ""};
    struct charge charge = {.most = 20000 + text.size * 100};
    kx_buffer_init(&whole, memory);
    kx_buffer_init(&token, memory);
    kx_buffer_init(&subject, memory);
    kx_add_text(&whole, before);
    kx_add_slice(&whole, pattern);
    kx_add_text(&whole, after);
    kx_json_escape(kx_buffer_slice(&whole), &token);
    kx_json_escape(text, &subject);
    enum kx_status status =
        pattern_compile(kx_buffer_slice(&token), memory, &compiled, &fault);
    if (status != KX_OK) {
        assert_int_equal(status, KX_BAD_VALUE);
        assert_true(fault.detail[0] != '\0');
        return REFUSED;
    }
    bool matches =
        pattern_matches(compiled, kx_buffer_slice(&subject), &charge);
    if (charge_passed(&charge))
        return COSTLY;
    return matches ? MATCHES : DIFFERS;
}

void fuzz(struct kx_slice input, void *memory)
{
    static const char *const same[][2] = {
        {"(?:", ")"},    {"(?:", ")(?:\\b|)"},
        {"(?:", "){1}"}, {"^[^]*(?:", ")[^]*$"},
        {"[]|", ""},     {"(?:\\p{Any}{0}|\\p{Cs})(?:", ")"},
    };
    struct kx_slice pattern = fuzz_until(&input, '\n');
    if (!kx_utf8_valid(pattern) || !kx_utf8_valid(input))
        return;
    enum verdict verdict = judge("", pattern, "", input, memory);
    if (verdict == REFUSED || verdict == COSTLY)
        return;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        enum verdict other =
            judge(same[i][0], pattern, same[i][1], input, memory);
        if (other != REFUSED && other != COSTLY)
            assert_int_equal(other, verdict);
    }
}
