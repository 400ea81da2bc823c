/* The check that every JSON value passes on its way in: one pass, without a
 * tree or recursion. An array of levels holds the open objects and arrays.
 *
 * The functions that check a token take the position where it starts. They
 * return the position after it, or NULL after noting the error.
 *
 * Outside strings, nothing tests for the end of the text: there is always a
 * `stop` byte that the scan passes only by closing a level. It is the last
 * bracket of the text, or the NUL after a copy of the text. */
#include "kindex/json.h"

#include <talloc.h>
#include <utf8proc.h>

#include "json/json_names.h"
#include "json/json_scan.h"

struct level {
    struct json_object names; /* of an object */
    uint8_t close;            /* the bracket that ends it */
};

struct scan {
    struct json_text text;
    bool escaped; /* set by a string that has an escape */
    enum kx_status status;
    const uint8_t *wrong; /* the first wrong byte */
    const char *sentence; /* description of the error */
    const uint8_t *stop;
    const uint8_t *done; /* the end of the outermost array or object */
    struct level *top;   /* the level opened last */
    struct json_names names;
    const struct level *deepest;
    struct level levels[1 + KX_JSON_DOCUMENT_DEPTH_MAX]; /* [0]: outside */
};

/* Notes a KX_BAD_JSON. Always NULL. */
static const uint8_t *fail(struct scan *scan, const uint8_t *wrong,
                           const char *sentence)
{
    scan->status = KX_BAD_JSON;
    scan->wrong = wrong;
    scan->sentence = sentence;
    return NULL;
}

/* ---- Strings ------------------------------------------------------------ */

/* Checks a run of characters outside ASCII. */
static const uint8_t *check_utf8(struct scan *scan, const uint8_t *at)
{
    const uint8_t *end = scan->text.end;
    while (at < end && *at >= 0x80) {
        int32_t point;
        utf8proc_ssize_t size = utf8proc_iterate(at, end - at, &point);
        if (size < 0)
            return fail(scan, at, "the text is not valid UTF-8");
        at += size;
    }
    return at;
}

static const uint8_t *check_hex4(struct scan *scan, const uint8_t *at,
                                 uint32_t *unit_out)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++, at++) {
        int digit = kx_hex_value(json_peek(at, scan->text.end));
        if (digit < 0)
            return fail(scan, at, "expected four hexadecimal digits after \\u");
        unit = unit << 4 | (uint32_t)digit;
    }
    *unit_out = unit;
    return at;
}

enum { HIGH_HALF = 0xd800 >> 10, LOW_HALF = 0xdc00 >> 10 };

static const uint8_t *lone_half(struct scan *scan, const uint8_t *escape)
{
    return fail(scan, escape, "a surrogate escape needs its second half");
}

/* After the escape of a high half. */
static const uint8_t *check_low_half(struct scan *scan, const uint8_t *at,
                                     const uint8_t *escape)
{
    const uint8_t *end = scan->text.end;
    uint32_t unit = 0;
    if (json_peek(at, end) == '\\' && json_peek(at + 1, end) == 'u')
        at = check_hex4(scan, at + 2, &unit);
    if (at == NULL || unit >> 10 == LOW_HALF)
        return at;
    return lone_half(scan, escape);
}

/* At the backslash of "\u". */
static const uint8_t *check_unicode(struct scan *scan, const uint8_t *escape)
{
    uint32_t unit = 0;
    const uint8_t *at = check_hex4(scan, escape + 2, &unit);
    if (at == NULL)
        return NULL;
    if (unit >> 10 == HIGH_HALF)
        return check_low_half(scan, at, escape);
    return unit >> 10 == LOW_HALF ? lone_half(scan, escape) : at;
}

static const uint8_t *check_escape(struct scan *scan, const uint8_t *at)
{
    scan->escaped = true;
    switch (json_peek(at + 1, scan->text.end)) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return at + 2;
    case 'u':
        return check_unicode(scan, at);
    default:
        return fail(scan, at + 1, "expected one of \"\\/bfnrtu after \\");
    }
}

/* Goes from stop to stop; the plain bytes between them are skipped. */
static const uint8_t *check_special(struct scan *scan, const uint8_t *at)
{
    while (at != NULL && *at != '"') {
        if (*at < ' ')
            return fail(scan, at, "a control character must be escaped");
        at = *at == '\\' ? check_escape(scan, at) : check_utf8(scan, at);
        if (at == NULL)
            return NULL;
        at = json_skip_plain(at, scan->text);
    }
    if (at == NULL)
        return fail(scan, scan->text.end,
                    "expected a quote at the end of the string");
    return at + 1;
}

/* Checks a string from its opening quote. */
static inline const uint8_t *check_string(struct scan *scan, const uint8_t *at)
{
    at = json_skip_plain(at + 1, scan->text);
    if (at != NULL && *at == '"')
        return at + 1;
    return check_special(scan, at);
}

/* ---- Numbers and literals ----------------------------------------------- */

enum { DOUBLE_DIGITS = 308 /* a number of this many digits fits a double */ };

static const uint8_t *check_digits(struct scan *scan, const uint8_t *at)
{
    if (!json_is_digit(*at))
        return fail(scan, at, "expected a digit");
    while (json_is_digit(*at))
        at++;
    return at;
}

static const uint8_t *check_exponent(struct scan *scan, const uint8_t *at)
{
    bool is_signed = at[1] == '+' || at[1] == '-';
    return check_digits(scan, at + (is_signed ? 2 : 1));
}

static const uint8_t *check_whole(struct scan *scan, const uint8_t *at)
{
    if (*at == '0' && json_is_digit(at[1]))
        return fail(scan, at + 1, "a number has no leading zeros");
    return check_digits(scan, at);
}

/* Only a number with many digits or an exponent can be too large, so only those
 * are converted. */
static const uint8_t *check_number(struct scan *scan, const uint8_t *at)
{
    const uint8_t *start = at;
    double number;
    at = check_whole(scan, at + (*at == '-'));
    if (at == NULL)
        return NULL;
    bool large = at - start > DOUBLE_DIGITS;
    if (*at == '.')
        at = check_digits(scan, at + 1);
    if (at != NULL && (*at | 0x20) == 'e') {
        at = check_exponent(scan, at);
        large = true;
    }
    if (at != NULL && large &&
        !kx_number_parse(kx_slice(start, (size_t)(at - start)), &number))
        return fail(scan, start, "the number is too large for a double");
    return at;
}

static const uint8_t *check_literal(struct scan *scan, const uint8_t *at,
                                    const char *literal)
{
    for (; *literal != '\0'; literal++, at++)
        if (*at != (uint8_t)*literal)
            return fail(scan, at, "expected true, false or null");
    return at;
}

/* Checks a number or literal. It must be followed, at the end of the text at
 * the latest, by a readable byte that is not part of a number: a bracket or
 * NUL. */
static const uint8_t *check_plain(struct scan *scan, const uint8_t *at)
{
    switch (*at) {
    case 't':
        return check_literal(scan, at, "true");
    case 'f':
        return check_literal(scan, at, "false");
    case 'n':
        return check_literal(scan, at, "null");
    case '-':
    case '0' ... '9':
        return check_number(scan, at);
    default:
        return fail(scan, at, "expected a value");
    }
}

static const char too_deep[] =
    "more than 64 arrays and objects inside each other";
_Static_assert(KX_JSON_DEPTH_MAX == 64, "the sentence says 64");
static const char far_too_deep[] =
    "more than 136 arrays and objects inside each other";
_Static_assert(KX_JSON_DOCUMENT_DEPTH_MAX == 136, "the sentence says 136");

static const char trailing[] =
    "remove the ',' before this bracket: JSON has no trailing commas";
static const char twice[] = "the object already has a member of this name";

static inline const uint8_t *skip_space(const uint8_t *at)
{
    while (*at <= ' ' && json_is_space(*at))
        at++;
    return at;
}

/* ---- Names -------------------------------------------------------------- */

static inline const uint8_t *add_name(struct scan *scan, const uint8_t *start,
                                      const uint8_t *end)
{
    scan->names.next->token = kx_slice(start, (size_t)(end - start));
    enum kx_status status = json_names_add(&scan->names, &scan->top->names);
    if (status == KX_OK)
        return end;
    fail(scan, start, twice);
    scan->status = status;
    return NULL;
}

/* Scans a name with characters outside ASCII or with escapes. */
static __attribute__((noinline)) const uint8_t *
scan_special_name(struct scan *scan, const uint8_t *at)
{
    struct json_name *name = scan->names.next;
    const uint8_t *start = at;
    scan->escaped = false;
    at = check_string(scan, at);
    if (at == NULL)
        return NULL;
    struct kx_slice token = kx_slice(start, (size_t)(at - start));
    if (!scan->escaped) {
        name->hash = json_name_hash(start + 1, at - 1, scan->text.end);
    } else if (!json_name_hash_escaped(token, &name->hash)) {
        scan->status = KX_NO_MEMORY;
        return NULL;
    }
    return add_name(scan, start, at);
}

static inline const uint8_t *scan_name(struct scan *scan, const uint8_t *at)
{
    const uint8_t *quote = json_skip_plain(at + 1, scan->text);
    if (quote == NULL || *quote != '"')
        return scan_special_name(scan, at);
    scan->names.next->hash = json_name_hash(at + 1, quote, scan->text.end);
    return add_name(scan, at, quote + 1);
}

/* ---- Objects and arrays ------------------------------------------------- */

/* Notes what was expected at the open level. */
static const uint8_t *expected_close(struct scan *scan, const uint8_t *at)
{
    return fail(scan, at,
                scan->top->close == '}'
                    ? "expected ',' or '}' after a member"
                    : "expected ',' or ']' after an element");
}

/* Opens a level at a bracket; returns the position of the next token. */
static inline const uint8_t *open_level(struct scan *scan, const uint8_t *at)
{
    if (scan->top == scan->deepest) {
        fail(scan, at,
             scan->top == scan->levels + KX_JSON_DEPTH_MAX ? too_deep
                                                           : far_too_deep);
        scan->status = KX_JSON_TOO_DEEP;
        return NULL;
    }
    scan->top++;
    scan->top->names = json_names_open(&scan->names);
    scan->top->close = *at == '{' ? '}' : ']';
    return skip_space(at + 1);
}

static inline const uint8_t *close_level(struct scan *scan, const uint8_t *at)
{
    const struct json_object *names = &scan->top->names;
    if (*at != scan->top->close)
        return expected_close(scan, at);
    size_t end = json_names_count(&scan->names);
    if (end - names->first > JSON_NAMES_COMPARED) {
        const uint8_t *wrong = json_names_twice(&scan->names, names, end);
        if (wrong != NULL)
            return fail(scan, wrong, twice);
    }
    json_names_close(&scan->names, names);
    scan->top--;
    if (at == scan->stop && scan->top > scan->levels)
        return expected_close(scan, scan->text.end);
    return at + 1;
}

/* Empty objects and arrays were handled before, so a bracket here follows a
 * ','. */
static const uint8_t *expected_name(struct scan *scan, const uint8_t *at)
{
    return fail(scan, at,
                *at == '}' ? trailing : "expected a member's name in quotes");
}

/* Scans a number or literal. */
static inline const uint8_t *scan_plain(struct scan *scan, const uint8_t *at)
{
    const uint8_t *end = check_plain(scan, at);
    if (end == NULL && *at == ']' && scan->top > scan->levels &&
        scan->top->close == ']')
        scan->sentence = trailing;
    return end;
}

/* From the start of a member or element to its value. */
static inline const uint8_t *scan_to_value(struct scan *scan, const uint8_t *at)
{
    if (scan->top->close == ']')
        return at;
    if (*at != '"')
        return expected_name(scan, at);
    at = scan_name(scan, at);
    if (at == NULL)
        return NULL;
    at = skip_space(at);
    if (*at != ':')
        return fail(scan, at, "expected ':' after a member's name");
    return skip_space(at + 1);
}

/* After a value: closes the levels that end here and returns the next member or
 * element. Returns NULL after the outermost value, whose end it notes in
 * `done`. */
static inline const uint8_t *scan_after(struct scan *scan, const uint8_t *at)
{
    at = skip_space(at);
    while (*at != ',') {
        at = close_level(scan, at);
        if (at == NULL)
            return NULL;
        if (scan->top == scan->levels) {
            scan->done = at;
            return NULL;
        }
        at = skip_space(at);
    }
    return skip_space(at + 1);
}

/* From a member or element to the next one, or to the first one inside it. */
static inline const uint8_t *scan_next(struct scan *scan, const uint8_t *at)
{
    at = scan_to_value(scan, at);
    if (at == NULL)
        return NULL;
    if (*at == '"') {
        at = check_string(scan, at);
    } else if (*at == '{' || *at == '[') {
        at = open_level(scan, at);
        if (at != NULL && *at != scan->top->close)
            return at;
    } else {
        at = scan_plain(scan, at);
    }
    return at == NULL ? NULL : scan_after(scan, at);
}

static const uint8_t *scan_container(struct scan *scan, const uint8_t *at)
{
    scan->top->close = ']'; /* Treat the outermost level like an array. */
    scan->done = NULL;
    while (at != NULL)
        at = scan_next(scan, at);
    return scan->done;
}

static const uint8_t *scan_value(struct scan *scan, const uint8_t *at)
{
    switch (*at) {
    case '"':
        return check_string(scan, at);
    case '{':
    case '[':
        return scan_container(scan, at);
    default:
        return check_plain(scan, at);
    }
}

/* ---- Whole texts -------------------------------------------------------- */

/* Large objects are searched for repeated names only at their end. So an object
 * that is still open may have one before the error found. */
static void find_earlier(struct scan *scan)
{
    size_t end = json_names_count(&scan->names);
    for (; scan->top > scan->levels; scan->top--) {
        const struct json_object *names = &scan->top->names;
        const uint8_t *wrong = json_names_twice(&scan->names, names, end);
        if (wrong != NULL && wrong < scan->wrong)
            fail(scan, wrong, twice);
        end = names->first;
    }
}

/* Scans from `start` to the end of the text; scan->stop must lie between
 * them. */
static enum kx_status scan_text(struct scan *scan, const uint8_t *start)
{
    scan->text.start = start;
    scan->status = KX_OK;
    scan->top = scan->levels;
    json_names_init(&scan->names);
    const uint8_t *at = scan_value(scan, skip_space(start));
    if (at != NULL)
        at = json_skip_space(at, scan->text.end);
    if (at != NULL && at != scan->text.end)
        fail(scan, at, "expected nothing after the value");
    if (scan->status != KX_OK && scan->status != KX_NO_MEMORY)
        find_earlier(scan);
    json_names_free(&scan->names);
    return scan->status;
}

/* Scans a copy of a text that does not end with a bracket. */
static enum kx_status scan_copy(struct scan *scan, struct kx_slice text)
{
    uint8_t few[64];
    uint8_t *copy = few;
    if (text.size >= sizeof(few))
        copy = talloc_size(NULL, text.size + 1);
    if (copy == NULL)
        return KX_NO_MEMORY;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    scan->text.end = copy + text.size;
    scan->stop = scan->text.end;
    enum kx_status status = scan_text(scan, copy);
    if (status != KX_OK && status != KX_NO_MEMORY)
        scan->wrong = text.data + (scan->wrong - copy);
    if (copy != few)
        talloc_free(copy);
    return status;
}

struct text_position {
    size_t line;
    size_t column; /* in characters, from 1 */
};

/* The line and column of the byte after this text, as editors count them. */
static struct text_position locate(struct kx_slice before)
{
    struct text_position position = {.line = 1, .column = 1};
    for (size_t i = 0; i < before.size; i++) {
        position.column += (before.data[i] & 0xc0) != 0x80;
        if (before.data[i] == '\n')
            position =
                (struct text_position){.line = position.line + 1, .column = 1};
    }
    return position;
}

static enum kx_status describe(const struct scan *scan, struct kx_slice text,
                               struct kx_fault *fault)
{
    size_t offset = (size_t)(scan->wrong - text.data);
    struct text_position position = locate(kx_slice(text.data, offset));
    const char *sentence = scan->sentence;
    if (offset == 0 && kx_starts_with(text, kx_text("\xef\xbb\xbf")))
        sentence = "the text begins with a byte order mark";
    kx_fail(fault, scan->status, "line %zu, column %zu: %s%s", position.line,
            position.column, sentence,
            offset == text.size ? ", but the text ends" : "");
    if (fault != NULL)
        fault->offset = offset;
    return scan->status;
}

/* Scans a text in place if it ends with a bracket, otherwise a copy of it. */
static enum kx_status scan_any(struct scan *scan, struct kx_slice text)
{
    const uint8_t *last = text.data + text.size - 1;
    scan->text.end = last + 1;
    while (last > text.data && json_is_space(*last))
        last--;
    scan->stop = last;
    return *last == '}' || *last == ']' ? scan_text(scan, text.data)
                                        : scan_copy(scan, text);
}

static enum kx_status check(struct kx_slice text, size_t depth,
                            struct kx_fault *fault)
{
    struct scan scan;
    scan.deepest = scan.levels + depth;
    if (text.size == 0)
        return kx_fail(fault, KX_BAD_JSON,
                       "line 1, column 1: expected a value, but the text ends");
    enum kx_status status = scan_any(&scan, text);
    if (status == KX_OK)
        return KX_OK;
    if (status == KX_NO_MEMORY)
        return kx_fail(fault, KX_NO_MEMORY, "no memory to check the text");
    return describe(&scan, text, fault);
}

enum kx_status kx_json_check(struct kx_slice text, struct kx_fault *fault)
{
    return check(text, KX_JSON_DEPTH_MAX, fault);
}

enum kx_status kx_json_check_document(struct kx_slice text,
                                      struct kx_fault *fault)
{
    return check(text, KX_JSON_DOCUMENT_DEPTH_MAX, fault);
}
