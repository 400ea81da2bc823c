/* Converts keys to JSON and back. Strings, finite numbers and booleans are
 * written as such. Parts that JSON cannot express are objects with type and
 * value, as in Deno's kv-utils. A key that is written as JSON is read back as
 * the same key. */
#include "kindex/key.h"

#include <math.h>
#include <stdio.h>

#include "kindex/json.h"
#include "kindex/text.h"
#include "v8/v8_bigint.h"

/* ---- Numbers ------------------------------------------------------------
 * A number in a value may lose digits when it becomes a double, as in any JSON
 * program. A number in a key must not: it would become the key of another
 * entry. */

/* The largest integer that a double can hold has 309 digits. */
enum { EXACT_DIGITS = 15, DIGITS_MAX = 320 };

static bool all_digits(struct kx_slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.size > 0;
}

/* True if these digits are a way to write the double: with all its digits, or,
 * above 2^53, as JavaScript and kx_number_text write it, with zeros after the
 * digits that distinguish it from its neighbours. */
static bool has_digits(double number, struct kx_slice digits)
{
    char text[DIGITS_MAX];
    int size = snprintf(text, sizeof text, "%.0f", fabs(number));
    if (size > 0 && (size_t)size < sizeof text &&
        kx_equal(digits, kx_slice(text, (size_t)size)))
        return true;
    return kx_equal(digits, kx_slice(text, kx_number_text(fabs(number), text)));
}

/* With `inexact`, a caller can suggest a bigint or a string instead. */
static enum kx_status inexact(struct kx_fault *fault, struct kx_slice token)
{
    kx_fail(fault, KX_BAD_KEY, "%.*s%s is not exact as a double.",
            kx_excerpt_size(token), (const char *)token.data,
            token.size <= KX_EXCERPT_MAX ? "" : "...");
    if (fault != NULL)
        fault->inexact = true;
    return KX_BAD_KEY;
}

/* Fractions become the nearest double, as 0.1 does everywhere. Integers of at
 * most EXACT_DIGITS digits are always exact. */
enum kx_status kx_key_number_parse(struct kx_slice token, double *number_out,
                                   struct kx_fault *fault)
{
    struct kx_slice digits = token;
    if (digits.size > 0 && digits.data[0] == '-')
        digits = kx_slice(digits.data + 1, digits.size - 1);
    bool integer = all_digits(digits);
    double number;
    if (!kx_number_parse(token, &number)) {
        if (integer && digits.data[0] != '0')
            return inexact(fault, token);
        return kx_fail(fault, KX_BAD_KEY,
                       "\"%.*s\" is not a finite JSON number.",
                       kx_excerpt_size(token), (const char *)token.data);
    }
    if (integer && digits.size > EXACT_DIGITS && !has_digits(number, digits))
        return inexact(fault, token);
    *number_out = number;
    return KX_OK;
}

/* Reads "NaN", "Infinity", "-Infinity" or "-0"; false for other texts. */
static bool parse_special(struct kx_slice name, double *number_out)
{
    if (kx_equal(name, kx_text("NaN")))
        *number_out = NAN;
    else if (kx_equal(name, kx_text("Infinity")))
        *number_out = INFINITY;
    else if (kx_equal(name, kx_text("-Infinity")))
        *number_out = -INFINITY;
    else if (kx_equal(name, kx_text("-0")))
        *number_out = -0.0;
    else
        return false;
    return true;
}

const char *kx_number_special_name(double number)
{
    if (isnan(number))
        return "NaN";
    if (isinf(number))
        return number > 0 ? "Infinity" : "-Infinity";
    return number == 0 && signbit(number) ? "-0" : NULL;
}

#define NEGATIVE_NAN "-NaN"

bool kx_key_number_special(struct kx_slice name, double *number_out)
{
    if (!kx_equal(name, kx_text(NEGATIVE_NAN)))
        return parse_special(name, number_out);
    *number_out = copysign(NAN, -1);
    return true;
}

const char *kx_key_number_special_name(double number)
{
    return isnan(number) && signbit(number) ? NEGATIVE_NAN
                                            : kx_number_special_name(number);
}

/* ---- Bigints ------------------------------------------------------------
 * V8 has the bytes of a magnitude in the opposite order. */

static void reverse(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        uint8_t byte = bytes[i];
        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = byte;
    }
}

enum kx_status kx_key_add_bigint(struct kx_buffer *key, struct kx_slice decimal)
{
    struct kx_part part = {.type = KX_BIGINT};
    struct v8_bigint number;
    struct kx_buffer bytes;
    enum kx_status status = KX_BAD_KEY;
    kx_buffer_init(&bytes, key->owner);
    if (v8_bigint_read(decimal, &bytes, &number)) {
        reverse(bytes.data, bytes.size);
        part.bytes = kx_buffer_slice(&bytes);
        part.negative = number.negative;
        status = bytes.failed ? KX_NO_MEMORY : kx_key_add(key, &part);
    }
    kx_buffer_free(&bytes);
    return status;
}

/* A magnitude of more bytes than a key can have is written as 0. */
void kx_bigint_decimal(const struct kx_part *part, struct kx_buffer *out)
{
    uint8_t bytes[KX_BIGINT_MAX + 1] = {0}; /* whole words of 8 bytes */
    const uint8_t *first = part->bytes.data;
    size_t size = part->bytes.size;
    for (; size > 0 && *first == 0; size--)
        first++;
    if (size > KX_BIGINT_MAX)
        size = 0;
    if (size > 0)
        memcpy(bytes, first, size);
    reverse(bytes, size);
    struct v8_bigint number = {.bytes = kx_slice(bytes, (size + 7) / 8 * 8),
                               .negative = part->negative};
    v8_bigint_write(number, out);
}

_Static_assert((KX_BIGINT_MAX + 1) % 8 == 0, "a magnitude fits whole words");

/* ---- From JSON ---------------------------------------------------------- */

static enum kx_status bad(struct kx_fault *fault, const char *detail)
{
    return kx_fail(fault, KX_BAD_KEY, "%s", detail);
}

/* The members of a part that is an object, as raw values; size 0 if absent. */
struct tagged {
    struct kx_slice type;
    struct kx_slice value;
    struct kx_slice length;
};

/* Names are compared with their escapes, so a name with an escape is
 * refused. */
static enum kx_status read_tagged(struct kx_slice object, struct tagged *out,
                                  struct kx_fault *fault)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    *out = (struct tagged){0};
    kx_json_iterate(object, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        if (kx_equal(name, kx_text("\"type\"")))
            out->type = value;
        else if (kx_equal(name, kx_text("\"value\"")))
            out->value = value;
        else if (kx_equal(name, kx_text("\"byteLength\"")))
            out->length = value;
        else
            return bad(fault, "An object in a key has the members type, value "
                              "and byteLength only.");
    }
    if (out->type.size == 0 || out->value.size == 0 ||
        kx_json_type(out->value) != KX_JSON_STRING)
        return bad(fault, "An object in a key is {\"type\":...,\"value\":"
                          "\"...\"} with type bigint, Uint8Array or number.");
    return KX_OK;
}

/* byteLength is optional, but must be correct. */
static enum kx_status add_bytes(const struct tagged *tagged,
                                struct kx_slice text, struct kx_buffer *key,
                                struct kx_fault *fault)
{
    struct kx_buffer bytes;
    double length;
    enum kx_status status = KX_OK;
    kx_buffer_init(&bytes, key->owner);
    if (!kx_base64_read(text, &bytes))
        status = bad(fault, "The value of a Uint8Array is base64url without "
                            "padding.");
    else if (bytes.failed)
        status = KX_NO_MEMORY;
    else if (tagged->length.size != 0 &&
             (!kx_number_parse(tagged->length, &length) ||
              length != (double)bytes.size))
        status = bad(fault, "byteLength is not the number of bytes in value.");
    else
        status = kx_key_add_bytes(key, kx_buffer_slice(&bytes));
    kx_buffer_free(&bytes);
    return status;
}

/* Adds a number: one of the special names, or a JSON number. */
static enum kx_status add_number(struct kx_slice text, struct kx_buffer *key,
                                 struct kx_fault *fault)
{
    double number;
    if (!kx_key_number_special(text, &number)) {
        enum kx_status status = kx_key_number_parse(text, &number, fault);
        if (status != KX_OK)
            return status;
    }
    return kx_key_add_number(key, number);
}

static enum kx_status add_bigint(struct kx_slice text, struct kx_buffer *key,
                                 struct kx_fault *fault)
{
    enum kx_status status = kx_key_add_bigint(key, text);
    if (status != KX_BAD_KEY)
        return status;
    return bad(fault, "The value of a bigint is an optional '-' and decimal "
                      "digits, for at most 255 bytes.");
}

enum kx_status kx_key_add_typed(struct kx_buffer *key, struct kx_slice object,
                                struct kx_fault *fault)
{
    struct tagged tagged;
    struct kx_buffer text;
    enum kx_status status = read_tagged(object, &tagged, fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&text, key->owner);
    kx_json_unescape(tagged.value, &text);
    struct kx_slice plain = kx_buffer_slice(&text);
    if (text.failed)
        status = KX_NO_MEMORY;
    else if (kx_equal(tagged.type, kx_text("\"bigint\"")))
        status = add_bigint(plain, key, fault);
    else if (kx_equal(tagged.type, kx_text("\"Uint8Array\"")))
        status = add_bytes(&tagged, plain, key, fault);
    else if (kx_equal(tagged.type, kx_text("\"number\"")))
        status = add_number(plain, key, fault);
    else
        status = bad(fault, "The type of an object in a key is bigint, "
                            "Uint8Array or number.");
    kx_buffer_free(&text);
    return status;
}

/* Most strings have no escapes and are added without a copy. */
static enum kx_status add_string(struct kx_slice token, struct kx_buffer *key)
{
    struct kx_slice inside = kx_slice(token.data + 1, token.size - 2);
    if (inside.size == 0 || memchr(inside.data, '\\', inside.size) == NULL)
        return kx_key_add_string(key, inside);
    struct kx_buffer text;
    kx_buffer_init(&text, key->owner);
    kx_json_unescape(token, &text);
    enum kx_status status =
        text.failed ? KX_NO_MEMORY
                    : kx_key_add_string(key, kx_buffer_slice(&text));
    kx_buffer_free(&text);
    return status;
}

static enum kx_status add_part(struct kx_slice value, struct kx_buffer *key,
                               struct kx_fault *fault)
{
    switch (kx_json_type(value)) {
    case KX_JSON_STRING:
        return add_string(value, key);
    case KX_JSON_NUMBER:
        return add_number(value, key, fault);
    case KX_JSON_FALSE:
        return kx_key_add_boolean(key, false);
    case KX_JSON_TRUE:
        return kx_key_add_boolean(key, true);
    case KX_JSON_OBJECT:
        return kx_key_add_typed(key, value, fault);
    case KX_JSON_NULL:
    case KX_JSON_ARRAY:
        break;
    }
    return bad(fault, "A key part is a string, a number, a boolean, or an "
                      "object for a bigint or bytes.");
}

enum kx_status kx_key_from_json(struct kx_slice json, struct kx_buffer *key,
                                struct kx_fault *fault)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (!kx_json_iterate(json, &iter) || iter.object)
        return bad(fault, "A key is a JSON array of parts.");
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++) {
        enum kx_status status = add_part(value, key, fault);
        if (status == KX_OK)
            continue;
        if (fault != NULL)
            snprintf(fault->pointer, sizeof fault->pointer, "/%zu", i);
        return status;
    }
    return key->failed ? KX_NO_MEMORY : KX_OK;
}

/* ---- To JSON ------------------------------------------------------------ */

static void write_number(double number, struct kx_buffer *out)
{
    char text[32];
    const char *special = kx_key_number_special_name(number);
    if (special == NULL) {
        kx_add(out, text, kx_number_text(number, text));
        return;
    }
    kx_add_text(out, "{\"type\":\"number\",\"value\":\"");
    kx_add_text(out, special);
    kx_add_text(out, "\"}");
}

static void write_bytes(struct kx_slice bytes, struct kx_buffer *out)
{
    char length[24];
    snprintf(length, sizeof length, "%zu", bytes.size);
    kx_add_text(out, "{\"type\":\"Uint8Array\",\"value\":\"");
    kx_base64_write(bytes, out);
    kx_add_text(out, "\",\"byteLength\":");
    kx_add_text(out, length);
    kx_add_byte(out, '}');
}

void kx_part_to_json(const struct kx_part *part, struct kx_buffer *out)
{
    switch (part->type) {
    case KX_BYTES_PART:
        write_bytes(part->bytes, out);
        break;
    case KX_STRING:
        kx_json_escape(part->bytes, out);
        break;
    case KX_BIGINT:
        kx_add_text(out, "{\"type\":\"bigint\",\"value\":\"");
        kx_bigint_decimal(part, out);
        kx_add_text(out, "\"}");
        break;
    case KX_NUMBER:
        write_number(part->number, out);
        break;
    case KX_BOOLEAN:
        kx_add_text(out, part->boolean ? "true" : "false");
        break;
    }
}

/* Stops at the first part that is not valid. */
void kx_key_to_json(struct kx_slice key, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, key);
    kx_add_byte(out, '[');
    for (bool first = true; kx_key_next(&reader, &part) == KX_OK;
         first = false) {
        if (!first)
            kx_add_byte(out, ',');
        kx_part_to_json(&part, out);
    }
    kx_add_byte(out, ']');
}
