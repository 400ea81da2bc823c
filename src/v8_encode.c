/* JSON text as V8 serializes what JSON.parse makes of it. The recursion is as
 * deep as the text, at most KX_JSON_DEPTH_MAX. */
#include "v8_encode.h"

#include "json_string.h"

typedef void put_fn(struct v8_writer *writer, struct kx_slice utf8);

/* Most strings have no escapes. */
static void put_token(struct v8_writer *writer, struct kx_slice token,
                      put_fn *put)
{
    struct kx_slice body = json_string_body(token);
    if (body.size == 0 || memchr(body.data, '\\', body.size) == NULL) {
        put(writer, body);
        return;
    }
    struct kx_buffer plain;
    kx_buffer_init(&plain, writer->out->owner);
    kx_json_unescape(token, &plain);
    put(writer, kx_buffer_slice(&plain));
    if (plain.failed)
        writer->out->failed = true;
    kx_buffer_free(&plain);
}

void v8_encode_string(struct v8_writer *writer, struct kx_slice token)
{
    put_token(writer, token, v8_put_string);
}

void v8_encode_name(struct v8_writer *writer, struct kx_slice token)
{
    put_token(writer, token, v8_put_name);
}

uint32_t v8_count(struct kx_slice json)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    uint32_t count = 0;
    if (kx_json_iterate(json, &iter))
        while (kx_json_next(&iter, &name, &value))
            count++;
    return count;
}

/* An array's length comes first, the number of an object's members last. */
static void encode_children(struct v8_writer *writer, struct kx_slice json)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    uint32_t count = 0;
    if (!kx_json_iterate(json, &iter))
        return;
    v8_put_tag(writer, iter.object ? 'o' : 'A');
    if (!iter.object)
        v8_put_varint(writer, v8_count(json));
    for (; kx_json_next(&iter, &name, &value); count++) {
        if (iter.object)
            v8_encode_name(writer, name);
        v8_encode(writer, value);
    }
    v8_put_tag(writer, iter.object ? '{' : '$');
    if (!iter.object)
        v8_put_varint(writer, 0);
    v8_put_varint(writer, count);
}

void v8_encode(struct v8_writer *writer, struct kx_slice json)
{
    double number = 0;
    switch (kx_json_type(json)) {
    case KX_JSON_NULL:
        v8_put_tag(writer, '0');
        break;
    case KX_JSON_TRUE:
        v8_put_tag(writer, 'T');
        break;
    case KX_JSON_FALSE:
        v8_put_tag(writer, 'F');
        break;
    case KX_JSON_NUMBER:
        kx_number_parse(json, &number);
        v8_put_number(writer, number);
        break;
    case KX_JSON_STRING:
        v8_encode_string(writer, json);
        break;
    case KX_JSON_ARRAY:
    case KX_JSON_OBJECT:
        encode_children(writer, json);
        break;
    }
}

/* White space around the whole is not part of its value. */
void kx_v8_from_json(struct kx_slice json, struct kx_buffer *out)
{
    struct v8_writer writer;
    v8_begin(&writer, out);
    if (kx_json_find(json, kx_text(""), &json))
        v8_encode(&writer, json);
}
