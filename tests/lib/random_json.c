#include "random_json.h"

const char *random_of(uint64_t *seed, const char *const *texts, size_t count)
{
    return texts[random_below(seed, count)];
}

static void random_json_space(uint64_t *seed, struct kx_buffer *out)
{
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t \r"};
    kx_add_text(out, random_of(seed, spaces, 7));
}

static void random_json_scalar(uint64_t *seed, struct kx_buffer *out)
{
    static const char *const scalars[] = {
        "0",
        "-1",
        "12.5",
        "1e3",
        "-0.0",
        "1E-7",
        "123456789012",
        "9007199254740993",
        "\"\"",
        "\"a\"",
        "\"\\u0061\"",
        "\"\\n\\\\\\\"\\/\"",
        "\"é漢\"",
        "\"\\ud83d\\ude00\"",
        "true",
        "false",
        "null",
        "\"a plain string of more than sixteen bytes\""};
    kx_add_text(out, random_of(seed, scalars, 18));
}

static void random_json_object(uint64_t *seed, unsigned depth,
                               struct kx_buffer *out)
{
    static const char *const names[] = {
        "\"a\"", "\"\\u0062\"", "\"c/d\"", "\"~\"",
        "\"é\"", "\"\"",        "\"e\"",   "\"a long name, over sixteen\""};
    bool some = false;
    kx_add_text(out, "{");
    for (size_t i = random_below(seed, 8), n = 0; n < 8; n++) {
        i = (i + 3) % 8;
        if (random_below(seed, 2) == 0)
            continue;
        kx_add_text(out, some ? "," : "");
        random_json_space(seed, out);
        kx_add_text(out, names[i]);
        random_json_space(seed, out);
        kx_add_text(out, ":");
        random_json(seed, depth - 1, out);
        some = true;
    }
    random_json_space(seed, out);
    kx_add_text(out, "}");
}

static void random_json_array(uint64_t *seed, unsigned depth,
                              struct kx_buffer *out)
{
    size_t count = random_below(seed, 4);
    kx_add_text(out, "[");
    for (size_t i = 0; i < count; i++) {
        kx_add_text(out, i == 0 ? "" : ",");
        random_json(seed, depth - 1, out);
    }
    random_json_space(seed, out);
    kx_add_text(out, "]");
}

void random_json(uint64_t *seed, unsigned depth, struct kx_buffer *out)
{
    random_json_space(seed, out);
    size_t kind = random_below(seed, 4);
    if (depth == 0 || kind == 0)
        random_json_scalar(seed, out);
    else if (kind == 1)
        random_json_array(seed, depth, out);
    else
        random_json_object(seed, depth, out);
    random_json_space(seed, out);
}
