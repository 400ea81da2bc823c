/* The loop over the tokens of a V8 value, and the parts of JSON that the forms
 * share. */
#include "v8/v8_text.h"

#include <math.h>

#include <utf8proc.h>

#include "json/json_scan.h"

enum {
    TEXT_FACTOR = 32, /* bytes of text for a byte of the value */
    TEXT_SLACK = 65536,
    HOLES_MAX = 4096 /* in a row */
};

/* The limit is reached only through references and holes, never by the text of
 * a single token. */
static bool is_too_long(const struct v8_text *text, size_t more)
{
    return text->out->size - text->start + more >
           text->reader.size * TEXT_FACTOR + TEXT_SLACK;
}

/* ---- Brackets ----------------------------------------------------------- */

bool v8_text_open(struct v8_text *text, const char *brackets, unsigned levels)
{
    text->levels += levels;
    kx_add_text(text->out, brackets);
    return text->levels <= KX_JSON_DEPTH_MAX;
}

bool v8_text_close(struct v8_text *text, const char *brackets, unsigned levels)
{
    text->levels -= levels;
    kx_add_text(text->out, brackets);
    return true;
}

void v8_text_comma(struct v8_text *text)
{
    struct kx_buffer *out = text->out;
    if (out->size == text->start)
        return;
    uint8_t last = out->data[out->size - 1];
    if (last != '[' && last != '{' && last != ':')
        kx_add_byte(out, ',');
}

void v8_text_begin(struct v8_text *text)
{
    if (text->token.role == V8_ELEMENT)
        v8_text_comma(text);
}

void v8_text_null(struct v8_text *text)
{
    v8_text_begin(text);
    kx_add_text(text->out, "null");
}

/* ---- Strings and numbers ------------------------------------------------ */

static void add_point(struct kx_buffer *out, uint32_t point)
{
    uint8_t utf8[4];
    kx_add(out, utf8,
           (size_t)utf8proc_encode_char((utf8proc_int32_t)point, utf8));
}

static void from_latin1(struct kx_slice bytes, struct kx_buffer *utf8)
{
    if (!kx_buffer_reserve(utf8, bytes.size * 2))
        return;
    uint8_t *out = utf8->data + utf8->size;
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t byte = bytes.data[i];
        if (byte >= 0x80) {
            *out++ = (uint8_t)(0xc0 | byte >> 6);
            byte = 0x80 | (byte & 0x3f);
        }
        *out++ = byte;
    }
    utf8->size = (size_t)(out - utf8->data);
}

static uint32_t unit_at(struct kx_slice bytes, size_t i)
{
    if (i + 1 >= bytes.size)
        return 0;
    return bytes.data[i] | (uint32_t)bytes.data[i + 1] << 8;
}

/* False if a lone surrogate was replaced. */
static bool from_utf16(struct kx_slice bytes, struct kx_buffer *utf8)
{
    bool whole = true;
    for (size_t i = 0; i < bytes.size; i += 2) {
        uint32_t unit = unit_at(bytes, i);
        if (unit >> 11 == 0xd800 >> 11) {
            uint32_t low = unit_at(bytes, i + 2);
            if (unit < 0xdc00 && low >> 10 == 0xdc00 >> 10) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            } else {
                unit = 0xfffd;
                whole = false;
            }
        }
        add_point(utf8, unit);
    }
    return whole;
}

/* True for ASCII without characters to escape, as most strings are. */
static bool is_simple(const struct v8_text *text,
                      const struct v8_string *string)
{
    const uint8_t *start = string->bytes.data;
    struct json_text bytes = {.start = text->reader.data,
                              .end = start + string->bytes.size};
    return string->charset != V8_UTF16 && json_skip_plain(start, bytes) == NULL;
}

static void add_simple(struct kx_buffer *out, struct kx_slice bytes)
{
    if (!kx_buffer_reserve(out, bytes.size + 2))
        return;
    uint8_t *at = out->data + out->size;
    *at = '"';
    memcpy(at + 1, bytes.data, bytes.size);
    at[bytes.size + 1] = '"';
    out->size += bytes.size + 2;
}

bool v8_text_string(struct v8_text *text, const struct v8_string *string)
{
    struct kx_buffer *scratch = &text->scratch;
    bool whole = true;
    if (is_simple(text, string)) {
        add_simple(text->out, string->bytes);
        return true;
    }
    if (string->charset == V8_UTF8) {
        kx_json_escape(string->bytes, text->out);
        return true;
    }
    scratch->size = 0;
    if (string->charset == V8_LATIN1)
        from_latin1(string->bytes, scratch);
    else
        whole = from_utf16(string->bytes, scratch);
    kx_json_escape(kx_buffer_slice(scratch), text->out);
    return whole;
}

bool v8_text_number(struct v8_text *text, double number)
{
    char digits[32];
    if (!isfinite(number) || (number == 0 && signbit(number)))
        return false;
    kx_add(text->out, digits, kx_number_text(number, digits));
    return true;
}

/* A name that is a number is written in quotes, as JavaScript does. */
bool v8_text_name(struct v8_text *text)
{
    bool whole = true;
    text->name_at = text->out->size;
    v8_text_comma(text);
    if (text->token.kind == V8_STRING) {
        whole = v8_text_string(text, &text->token.string);
    } else {
        char digits[32];
        double number = text->token.number == 0 ? 0 : text->token.number;
        kx_add_byte(text->out, '"');
        kx_add(text->out, digits, kx_number_text(number, digits));
        kx_add_byte(text->out, '"');
    }
    kx_add_byte(text->out, ':');
    return whole;
}

/* ---- Sparse arrays ------------------------------------------------------ */

/* `note` of the array's frame is the index of the next element. */
static bool add_holes(struct v8_text *text, struct v8_frame *frame, uint32_t to,
                      const char *hole)
{
    uint32_t holes = to - frame->note;
    if (holes == 0)
        return true;
    if (hole == NULL || holes > HOLES_MAX ||
        is_too_long(text, holes * (strlen(hole) + 1)))
        return false;
    for (; frame->note < to; frame->note++) {
        v8_text_comma(text);
        kx_add_text(text->out, hole);
    }
    return true;
}

bool v8_text_index(struct v8_text *text, const char *hole)
{
    struct v8_frame *frame = v8_top(&text->reader);
    double index = text->token.number;
    if (text->token.kind != V8_NUMBER || !(index >= frame->note) ||
        index >= frame->length || index != (double)(uint32_t)index ||
        !add_holes(text, frame, (uint32_t)index, hole))
        return false;
    frame->note++;
    v8_text_comma(text);
    return true;
}

/* The closed array's frame is still valid, one above the top. */
bool v8_text_last(struct v8_text *text, const char *hole)
{
    struct v8_frame *frame = &text->reader.frames[text->reader.depth + 1];
    return add_holes(text, frame, frame->length, hole);
}

/* ---- References --------------------------------------------------------- */

bool v8_text_enter(struct v8_text *text)
{
    return v8_enter(&text->reader, &text->token);
}

bool v8_text_try_enter(struct v8_text *text)
{
    if (text->abandoned)
        return false;
    if (text->reader.entered == 0) {
        text->tried = true;
        text->entered_at = text->out->size;
        text->entered_levels = text->levels;
    }
    return v8_text_enter(text);
}

/* Replaces the text of the outermost reference by null. False if no reference
 * was tried, or if memory has run out. */
static bool abandon(struct v8_text *text)
{
    struct v8_reader *reader = &text->reader;
    if (!text->tried || reader->entered == 0 || reader->status == KX_NO_MEMORY)
        return false;
    text->token.role = v8_abandon(reader);
    text->abandoned = true;
    text->changed = true;
    text->levels = text->entered_levels;
    text->out->size = text->entered_at;
    v8_text_null(text);
    return true;
}

/* ---- The whole ---------------------------------------------------------- */

static bool write_token(struct v8_text *text, v8_write_fn *const *form)
{
    v8_write_fn *write = form[text->token.kind];
    return write != NULL && write(text) &&
           (text->reader.entered == 0 || !is_too_long(text, 0));
}

static enum kx_status write_tokens(struct v8_text *text,
                                   v8_write_fn *const *form)
{
    for (;;) {
        enum kx_status status = v8_next(&text->reader, &text->token);
        if (status == KX_END)
            return KX_OK;
        if (status == KX_OK && write_token(text, form))
            continue;
        if (!abandon(text))
            return text->reader.status == KX_OK ? KX_ABSENT
                                                : text->reader.status;
    }
}

enum kx_status v8_text_write(struct kx_slice bytes, v8_write_fn *const *form,
                             struct kx_buffer *out, bool *changed_out)
{
    struct v8_text text;
    text.out = out;
    text.start = out->size;
    text.levels = 0;
    text.name_at = 0;
    text.changed = false;
    text.tried = false;
    text.abandoned = false;
    kx_buffer_init(&text.scratch, out->owner);
    enum kx_status status = v8_open(&text.reader, bytes, out->owner);
    if (status == KX_OK)
        status = write_tokens(&text, form);
    if (out->failed || text.scratch.failed)
        status = KX_NO_MEMORY;
    if (status != KX_OK)
        out->size = text.start;
    if (changed_out != NULL)
        *changed_out = text.changed;
    kx_buffer_free(&text.scratch);
    v8_close(&text.reader);
    return status;
}
