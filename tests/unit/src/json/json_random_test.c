/* Jansson as a second opinion on random JSON texts and on damaged ones. */
#include "all_memory.h"
#include "json_second.h"
#include "random_json.h"

enum { TEXTS = 3000, CHANGES_MAX = 3 };

/* Changes a text at random places, with pieces that matter in JSON. */
static void change(uint64_t *seed, const struct kx_buffer *text,
                   struct kx_buffer *out)
{
    static const char *const pieces[] = {"\"",
                                         "\\",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "0",
                                         "-",
                                         ".",
                                         "e",
                                         "1",
                                         "\\u",
                                         "\\ud",
                                         "\\ud800",
                                         "\n",
                                         "\x01",
                                         "\x7f",
                                         "é",
                                         "\xc3",
                                         "\x80",
                                         "\xed\xa0\x80",
                                         "t",
                                         "null",
                                         "\"a\":",
                                         "1e5",
                                         " ",
                                         "\\udc00",
                                         "1e400",
                                         "\\",
                                         "\"b\"",
                                         "12345678901234567890",
                                         "\"\\u0000\":1,"};
    size_t at = random_below(seed, text->size + 1);
    size_t cut = random_below(seed, 3);
    if (cut > text->size - at)
        cut = text->size - at;
    out->size = 0;
    kx_add(out, text->data, at);
    if (random_below(seed, 3) != 0)
        kx_add_text(
            out, random_of(seed, pieces, sizeof(pieces) / sizeof(pieces[0])));
    kx_add(out, text->data + at + cut, text->size - at - cut);
}

static void compare(struct kx_slice text)
{
    json_decref(second_compare(text));
}

TEST_WITH(jansson_takes_and_refuses_the_same_texts, all_memory_open,
          all_memory_close)
{
    uint64_t seed = random_seed("json_random");
    struct kx_buffer text[2];
    kx_buffer_init(&text[0], *state);
    kx_buffer_init(&text[1], *state);
    kx_add_text(&text[1], "{}");
    for (int i = 0; i < TEXTS; i++) {
        text[0].size = 0;
        random_json(&seed, 5, &text[0]);
        assert_int_equal(kx_json_check(kx_buffer_slice(&text[0]), NULL), KX_OK);
        compare(kx_buffer_slice(&text[0]));
        for (int n = 0; n < 2 * CHANGES_MAX; n++) {
            change(&seed, &text[n % 2], &text[(n + 1) % 2]);
            compare(kx_buffer_slice(&text[(n + 1) % 2]));
        }
    }
    kx_buffer_free(&text[0]);
    kx_buffer_free(&text[1]);
}
