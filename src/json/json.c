/* The check that every JSON value passes on its way in: one pass, without a
 * tree or recursion. An array of levels holds the open objects and arrays.
 *
 * Outside strings, nothing tests for the end of the text: there is always a
 * `stop` byte that the scan passes only by closing a level. It is the last
 * bracket of the text, or the NUL after a copy of the text. */
#include "kindex/json.h"

#include <talloc.h>

#include "json/json_names.h"
#include "json/json_scan.h"
#include "json/json_token.h"

struct level {
    struct json_object names; /* of an object */
    uint8_t close;            /* the bracket that ends it */
};

struct scan {
    struct json_check check;
    const uint8_t *stop;
    const uint8_t *done; /* the end of the outermost array or object */
    struct level *top;   /* the level opened last */
    struct json_names names;
    const struct level *deepest;
    struct level levels[1 + KX_JSON_DOCUMENT_DEPTH_MAX]; /* [0]: outside */
};

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
    json_wrong(&scan->check, start, twice);
    scan->check.status = status;
    return NULL;
}

/* Scans a name with characters outside ASCII or with escapes. */
static __attribute__((noinline)) const uint8_t *
scan_special_name(struct scan *scan, const uint8_t *at)
{
    struct json_name *name = scan->names.next;
    const uint8_t *start = at;
    scan->check.escaped = false;
    at = json_check_string(&scan->check, at);
    if (at == NULL)
        return NULL;
    struct kx_slice token = kx_slice(start, (size_t)(at - start));
    if (!scan->check.escaped) {
        name->hash = json_name_hash(start + 1, at - 1, scan->check.text.end);
    } else if (!json_name_hash_escaped(token, &name->hash)) {
        scan->check.status = KX_NO_MEMORY;
        return NULL;
    }
    return add_name(scan, start, at);
}

static inline const uint8_t *scan_name(struct scan *scan, const uint8_t *at)
{
    const uint8_t *quote = json_skip_plain(at + 1, scan->check.text);
    if (quote == NULL || *quote != '"')
        return scan_special_name(scan, at);
    scan->names.next->hash =
        json_name_hash(at + 1, quote, scan->check.text.end);
    return add_name(scan, at, quote + 1);
}

/* ---- Objects and arrays ------------------------------------------------- */

/* Notes what was expected at the open level. */
static const uint8_t *expected_close(struct scan *scan, const uint8_t *at)
{
    return json_wrong(&scan->check, at,
                      scan->top->close == '}'
                          ? "expected ',' or '}' after a member"
                          : "expected ',' or ']' after an element");
}

/* Opens a level at a bracket; returns the position of the next token. */
static inline const uint8_t *open_level(struct scan *scan, const uint8_t *at)
{
    if (scan->top == scan->deepest) {
        json_wrong(&scan->check, at,
                   scan->top == scan->levels + KX_JSON_DEPTH_MAX
                       ? too_deep
                       : far_too_deep);
        scan->check.status = KX_JSON_TOO_DEEP;
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
            return json_wrong(&scan->check, wrong, twice);
    }
    json_names_close(&scan->names, names);
    scan->top--;
    if (at == scan->stop && scan->top > scan->levels)
        return expected_close(scan, scan->check.text.end);
    return at + 1;
}

/* Empty objects and arrays were handled before, so a bracket here follows a
 * ','. */
static const uint8_t *expected_name(struct scan *scan, const uint8_t *at)
{
    return json_wrong(&scan->check, at,
                      *at == '}' ? trailing
                                 : "expected a member's name in quotes");
}

/* Scans a number or literal. */
static inline const uint8_t *scan_plain(struct scan *scan, const uint8_t *at)
{
    const uint8_t *end = json_check_plain(&scan->check, at);
    if (end == NULL && *at == ']' && scan->top > scan->levels &&
        scan->top->close == ']')
        scan->check.sentence = trailing;
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
        return json_wrong(&scan->check, at,
                          "expected ':' after a member's name");
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
        at = json_check_string(&scan->check, at);
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
    scan->top->close = ']'; /* The outside is like an array. */
    scan->done = NULL;
    while (at != NULL)
        at = scan_next(scan, at);
    return scan->done;
}

static const uint8_t *scan_value(struct scan *scan, const uint8_t *at)
{
    switch (*at) {
    case '"':
        return json_check_string(&scan->check, at);
    case '{':
    case '[':
        return scan_container(scan, at);
    default:
        return json_check_plain(&scan->check, at);
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
        if (wrong != NULL && wrong < scan->check.wrong)
            json_wrong(&scan->check, wrong, twice);
        end = names->first;
    }
}

/* Scans from `start` to the end of the text; scan->stop must lie between
 * them. */
static enum kx_status scan_text(struct scan *scan, const uint8_t *start)
{
    struct json_check *check = &scan->check;
    check->text.start = start;
    check->status = KX_OK;
    scan->top = scan->levels;
    json_names_init(&scan->names);
    const uint8_t *at = scan_value(scan, skip_space(start));
    if (at != NULL)
        at = json_skip_space(at, check->text.end);
    if (at != NULL && at != check->text.end)
        json_wrong(check, at, "expected nothing after the value");
    if (check->status != KX_OK && check->status != KX_NO_MEMORY)
        find_earlier(scan);
    json_names_free(&scan->names);
    return check->status;
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
    scan->check.text.end = copy + text.size;
    scan->stop = scan->check.text.end;
    enum kx_status status = scan_text(scan, copy);
    if (status != KX_OK && status != KX_NO_MEMORY)
        scan->check.wrong = text.data + (scan->check.wrong - copy);
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

static enum kx_status describe(const struct json_check *check,
                               struct kx_slice text, struct kx_fault *fault)
{
    size_t offset = (size_t)(check->wrong - text.data);
    struct text_position position = locate(kx_slice(text.data, offset));
    const char *sentence = check->sentence;
    if (offset == 0 && kx_starts_with(text, kx_text("\xef\xbb\xbf")))
        sentence = "the text begins with a byte order mark";
    kx_fail(fault, check->status, "line %zu, column %zu: %s%s", position.line,
            position.column, sentence,
            offset == text.size ? ", but the text ends" : "");
    if (fault != NULL)
        fault->offset = offset;
    return check->status;
}

/* Scans a text in place if it ends with a bracket, otherwise a copy of it. */
static enum kx_status scan_any(struct scan *scan, struct kx_slice text)
{
    const uint8_t *last = text.data + text.size - 1;
    scan->check.text.end = last + 1;
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
    return describe(&scan.check, text, fault);
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
