/* Keys in JSON, both ways. */
#include "keyjson.h"

#include "base64.h"
#include "keynumber.h"

#include <stdio.h>

static bool bad(struct flaw *flaw, const char *detail)
{
    return flaw_set(flaw, PROBLEM_BAD_KEY, "%s", detail);
}

/* The members of a tagged part, as raw values; size 0 when absent. */
struct tagged {
    struct kx_slice type;
    struct kx_slice value;
    struct kx_slice length;
};

static bool read_tagged(struct kx_slice object, struct tagged *out,
                        struct flaw *flaw)
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
            return bad(flaw, "An object in a key has the members type, value "
                             "and byteLength only.");
    }
    if (out->type.size == 0 || out->value.size == 0 ||
        kx_json_type(out->value) != KX_JSON_STRING)
        return bad(flaw, "An object in a key is {\"type\":...,\"value\":"
                         "\"...\"} with type bigint, Uint8Array or number.");
    return true;
}

static bool add_bytes(const struct tagged *tagged, struct kx_slice text,
                      struct kx_buffer *key, struct flaw *flaw)
{
    struct kx_buffer bytes;
    double length;
    kx_buffer_init(&bytes, key->owner);
    bool done = base64_read(text, &bytes);
    if (!done)
        bad(flaw, "The value of a Uint8Array is base64url without padding.");
    else if (bytes.failed)
        done = flaw_no_memory(flaw);
    else if (tagged->length.size != 0 &&
             (!kx_number_parse(tagged->length, &length) ||
              length != (double)bytes.size))
        done = bad(flaw, "byteLength is not the number of bytes in value.");
    else
        kx_key_add_bytes(key, kx_buffer_slice(&bytes));
    kx_buffer_free(&bytes);
    return done;
}

static bool add_number(struct kx_slice text, struct kx_buffer *key,
                       struct flaw *flaw)
{
    double number;
    if (!keynumber_special(text, &number) &&
        !keynumber_read(text, &number, flaw))
        return false;
    kx_key_add_number(key, number);
    return true;
}

static bool add_bigint(struct kx_slice text, struct kx_buffer *key,
                       struct flaw *flaw)
{
    return kx_key_add_bigint(key, text) == KX_OK ||
           bad(flaw, "The value of a bigint is an optional '-' and decimal "
                     "digits, for at most 255 bytes.");
}

static bool add_tagged(struct kx_slice object, struct kx_buffer *key,
                       struct flaw *flaw)
{
    struct tagged tagged;
    struct kx_buffer text;
    if (!read_tagged(object, &tagged, flaw))
        return false;
    kx_buffer_init(&text, key->owner);
    kx_json_unescape(tagged.value, &text);
    struct kx_slice plain = kx_buffer_slice(&text);
    bool done;
    if (text.failed)
        done = flaw_no_memory(flaw);
    else if (kx_equal(tagged.type, kx_text("\"bigint\"")))
        done = add_bigint(plain, key, flaw);
    else if (kx_equal(tagged.type, kx_text("\"Uint8Array\"")))
        done = add_bytes(&tagged, plain, key, flaw);
    else if (kx_equal(tagged.type, kx_text("\"number\"")))
        done = add_number(plain, key, flaw);
    else
        done = bad(flaw, "The type of an object in a key is bigint, "
                         "Uint8Array or number.");
    kx_buffer_free(&text);
    return done;
}

static bool add_string(struct kx_slice token, struct kx_buffer *key,
                       struct flaw *flaw)
{
    struct kx_slice inside = kx_slice(token.data + 1, token.size - 2);
    if (inside.size == 0 || memchr(inside.data, '\\', inside.size) == NULL)
        return kx_key_add_string(key, inside) == KX_OK ||
               bad(flaw, "A string part is not valid UTF-8.");
    struct kx_buffer text;
    kx_buffer_init(&text, key->owner);
    kx_json_unescape(token, &text);
    bool done =
        !text.failed && kx_key_add_string(key, kx_buffer_slice(&text)) == KX_OK;
    kx_buffer_free(&text);
    return done || flaw_no_memory(flaw);
}

static bool add_part(struct kx_slice value, struct kx_buffer *key,
                     struct flaw *flaw)
{
    switch (kx_json_type(value)) {
    case KX_JSON_STRING:
        return add_string(value, key, flaw);
    case KX_JSON_NUMBER:
        return add_number(value, key, flaw);
    case KX_JSON_FALSE:
        kx_key_add_boolean(key, false);
        return true;
    case KX_JSON_TRUE:
        kx_key_add_boolean(key, true);
        return true;
    case KX_JSON_OBJECT:
        return add_tagged(value, key, flaw);
    case KX_JSON_NULL:
    case KX_JSON_ARRAY:
        break;
    }
    return bad(flaw, "A key part is a string, a number, a boolean, or an "
                     "object for a bigint or bytes.");
}

bool keyjson_read(struct kx_slice array, struct kx_buffer *key,
                  struct flaw *flaw)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (!kx_json_iterate(array, &iter) || iter.object)
        return bad(flaw, "A key is a JSON array of parts.");
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++)
        if (!add_part(value, key, flaw))
            return flaw_in_element(flaw, i);
    return !key->failed || flaw_no_memory(flaw);
}

bool keyjson_read_text(struct kx_slice text, struct kx_buffer *key,
                       struct flaw *flaw)
{
    struct kx_fault fault = {0};
    if (kx_json_check(text, &fault) != KX_OK)
        return flaw_fault(flaw, &fault);
    return keyjson_read(text, key, flaw);
}

static void write_number(double number, struct kx_buffer *out)
{
    char text[32];
    const char *special = keynumber_special_name(number);
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
    base64_write(bytes, out);
    kx_add_text(out, "\",\"byteLength\":");
    kx_add_text(out, length);
    kx_add_byte(out, '}');
}

void keyjson_write_part(const struct kx_part *part, struct kx_buffer *out)
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

void keyjson_write(struct kx_slice key, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, key);
    kx_add_byte(out, '[');
    for (bool first = true; kx_key_next(&reader, &part) == KX_OK;
         first = false) {
        if (!first)
            kx_add_byte(out, ',');
        keyjson_write_part(&part, out);
    }
    kx_add_byte(out, ']');
}
