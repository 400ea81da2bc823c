/* The values of V8's serialization that have no children. */
#include "v8/v8_scalar.h"
#include "v8/v8_input.h"

/* ---- Primitive values --------------------------------------------------- */

static bool read_constant(struct v8_reader *reader, struct v8_token *token,
                          uint8_t tag)
{
    (void)reader;
    token->kind = tag == '_'   ? V8_UNDEFINED
                  : tag == '0' ? V8_NULL
                  : tag == 'T' ? V8_TRUE
                               : V8_FALSE;
    return true;
}

/* A hole is allowed only as an element of a dense array. */
static bool read_hole(struct v8_reader *reader, struct v8_token *token,
                      uint8_t tag)
{
    (void)tag;
    token->kind = V8_HOLE;
    return (token->role == V8_ELEMENT && v8_top(reader)->kind == V8_ARRAY) ||
           v8_wrong(reader, "only an array has holes");
}

static bool read_integer(struct v8_reader *reader, struct v8_token *token,
                         uint8_t tag)
{
    uint32_t number;
    token->kind = V8_NUMBER;
    if (!v8_take_varint(reader, &number))
        return false;
    uint32_t zigzag = number >> 1 ^ (0 - (number & 1));
    token->number = tag == 'U' ? number : (double)(int32_t)zigzag;
    return true;
}

static bool read_double(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    token->kind = tag == 'N' ? V8_NUMBER : V8_DATE;
    if (!v8_take_double(reader, &token->number))
        return false;
    return tag == 'N' ||
           v8_add_object(reader, token, reader->at - 9, V8_NO_BUFFER);
}

/* The lowest bit of the field is the sign, the others are the number of
 * bytes. */
static bool read_bigint(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    uint32_t field;
    (void)tag;
    token->kind = V8_BIGINT;
    if (!v8_take_varint(reader, &field) ||
        !v8_take_bytes(reader, field >> 1, &token->bytes))
        return false;
    token->negative = (field & 1) != 0;
    return (field >> 1) % 8 == 0 ||
           v8_wrong(reader, "a bigint has a multiple of 8 bytes");
}

static bool read_string(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    uint32_t size;
    struct v8_string *string = &token->string;
    token->kind = V8_STRING;
    string->charset = tag == '"' ? V8_LATIN1 : tag == 'c' ? V8_UTF16 : V8_UTF8;
    if (!v8_take_varint(reader, &size) ||
        !v8_take_bytes(reader, size, &string->bytes))
        return false;
    if (string->charset == V8_UTF16 && size % 2 != 0)
        return v8_wrong(reader, "a string of UTF-16 has an even size");
    return string->charset != V8_UTF8 || kx_utf8_valid(string->bytes) ||
           v8_wrong(reader, "the string is not valid UTF-8");
}

/* An object around a primitive value, such as new Number(1), is numbered. */
static bool read_boxed(struct v8_reader *reader, struct v8_token *token,
                       uint8_t tag)
{
    uint8_t inner = tag;
    token->boxed = true;
    if (!v8_add_object(reader, token, reader->at - 1, V8_NO_BUFFER))
        return false;
    switch (tag) {
    case 'n':
        return read_double(reader, token, 'N');
    case 'z':
        return read_bigint(reader, token, 'Z');
    case 's':
        if (!v8_take_tag(reader, &inner))
            return false;
        return v8_scalar(inner) == read_string
                   ? read_string(reader, token, inner)
                   : v8_wrong(reader, "a String object holds a string");
    default:
        return read_constant(reader, token, tag == 'y' ? 'T' : 'F');
    }
}

static bool read_regexp(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    if (!v8_add_object(reader, token, reader->at - 1, V8_NO_BUFFER) ||
        !v8_take_tag(reader, &tag))
        return false;
    if (v8_scalar(tag) != read_string || !read_string(reader, token, tag))
        return v8_wrong(reader, "the source of a RegExp is a string");
    token->kind = V8_REGEXP;
    return v8_take_varint(reader, &token->flags) &&
           (token->flags < 1u << 9 ||
            v8_wrong(reader, "unknown flags of a RegExp"));
}

/* ---- Buffers and views -------------------------------------------------- */

static bool take_buffer(struct v8_reader *reader, uint8_t tag,
                        struct v8_buffer *out)
{
    uint32_t size;
    out->resizable = tag == '~';
    if (!v8_take_varint(reader, &size))
        return false;
    out->most = size;
    if (out->resizable && !v8_take_varint(reader, &out->most))
        return false;
    if (out->most < size)
        return v8_wrong(reader, "an ArrayBuffer is larger than it can be");
    return v8_take_bytes(reader, size, &out->bytes);
}

size_t v8_element_size(uint8_t type)
{
    switch (type) {
    case 'b':
    case 'B':
    case 'C':
    case '?':
        return 1;
    case 'w':
    case 'W':
    case 'h':
        return 2;
    case 'd':
    case 'D':
    case 'f':
        return 4;
    case 'F':
    case 'q':
    case 'Q':
        return 8;
    default:
        return 0;
    }
}

/* Checks a view's type, and its place in the buffer, which was read before. */
static bool check_view(struct v8_reader *reader, struct v8_token *token)
{
    const struct v8_view *view = &token->view;
    size_t whole = token->buffer.bytes.size;
    size_t element = v8_element_size(view->type);
    if (element == 0)
        return v8_wrong(reader, "unknown type of a typed array");
    if (view->size > whole || view->offset > whole - view->size)
        return v8_wrong(reader, "a typed array is larger than its buffer");
    if (view->size % element != 0 || view->offset % element != 0)
        return v8_wrong(reader, "a typed array begins or ends in an element");
    if (view->flags > 3)
        return v8_wrong(reader, "unknown flags of a typed array");
    token->bytes =
        kx_slice(token->buffer.bytes.data + view->offset, view->size);
    return true;
}

/* Takes a view after its tag. */
static bool take_view(struct v8_reader *reader, struct v8_token *token)
{
    uint32_t type;
    struct v8_view *view = &token->view;
    size_t start = reader->at - 1;
    token->kind = V8_VIEW;
    view->host = false;
    view->flags = 0;
    if (!v8_take_varint(reader, &type) ||
        !v8_take_varint(reader, &view->offset) ||
        !v8_take_varint(reader, &view->size))
        return false;
    if (reader->version > 13 && !v8_take_varint(reader, &view->flags))
        return false;
    view->type = type < 0x80 ? (uint8_t)type : 0;
    return check_view(reader, token) &&
           v8_add_object(reader, token, start, token->buffer.id);
}

/* Reads a buffer, and a view that follows it. A buffer that is read through a
 * reference is read without the view. */
static bool read_buffer(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    token->kind = V8_BUFFER;
    if (!v8_add_object(reader, token, reader->at - 1, V8_NO_BUFFER) ||
        !take_buffer(reader, tag, &token->buffer))
        return false;
    token->buffer.id = token->id;
    token->view.repeated = false;
    if ((v8_top(reader)->kind == V8_REFERENCE && reader->depth > 0) ||
        v8_peek_tag(reader) != 'V')
        return true;
    return v8_take_tag(reader, &tag) && take_view(reader, token);
}

/* Reads the buffer with this number again, where it appeared. */
static bool reload_buffer(struct v8_reader *reader, uint32_t id,
                          struct v8_buffer *out)
{
    size_t resume = reader->at;
    reader->at = v8_object_at(reader, id).at;
    uint8_t tag = reader->data[reader->at++];
    bool done = take_buffer(reader, tag, out);
    out->id = id;
    reader->at = resume;
    return done;
}

/* Reads a view without a buffer before it, which only a reference leads to. */
static bool read_view(struct v8_reader *reader, struct v8_token *token,
                      uint8_t tag)
{
    (void)tag;
    if (v8_top(reader)->kind != V8_REFERENCE || reader->depth == 0)
        return v8_wrong(reader, "a typed array follows its buffer");
    token->view.repeated = true;
    return reload_buffer(reader, reader->view_buffer, &token->buffer) &&
           take_view(reader, token);
}

/* The types by Node's numbers for them; 10 is its Buffer, 13 was added last. */
static const char NODE_TYPES[] = "bBCwWdDfF?BqQh";

static bool take_node_view(struct v8_reader *reader, struct v8_token *token,
                           uint32_t number)
{
    struct v8_view *view = &token->view;
    if (number >= sizeof NODE_TYPES - 1)
        return v8_wrong(reader, "unknown host object");
    *view = (struct v8_view){.type = (uint8_t)NODE_TYPES[number], .host = true};
    token->kind = V8_VIEW;
    token->buffer = (struct v8_buffer){.id = token->id};
    if (!v8_take_varint(reader, &view->size) ||
        !v8_take_bytes(reader, view->size, &token->buffer.bytes))
        return false;
    token->buffer.most = view->size;
    return check_view(reader, token);
}

/* Node writes typed arrays as host objects; Deno writes Blob and others so. */
static bool read_host(struct v8_reader *reader, struct v8_token *token,
                      uint8_t tag)
{
    uint32_t number;
    (void)tag;
    if (!v8_add_object(reader, token, reader->at - 1, V8_NO_BUFFER) ||
        !v8_take_varint(reader, &number))
        return false;
    token->kind = V8_HOST;
    return number == UINT32_MAX || take_node_view(reader, token, number);
}

/* ---- References --------------------------------------------------------- */

static bool is_buffer(const struct v8_reader *reader, uint32_t id)
{
    struct v8_object object = v8_object_at(reader, id);
    uint8_t tag = reader->data[object.at];
    return object.buffer == V8_NO_BUFFER && (tag == 'B' || tag == '~');
}

/* A reference to a buffer may be followed by another view of it. */
static bool read_reference(struct v8_reader *reader, struct v8_token *token,
                           uint8_t tag)
{
    token->kind = V8_REFERENCE;
    if (!v8_take_varint(reader, &token->id))
        return false;
    if (token->id >= reader->object_count)
        return v8_wrong(reader,
                        "a reference to an object that does not precede it");
    if (!is_buffer(reader, token->id) || v8_peek_tag(reader) != 'V')
        return true;
    token->view.repeated = true;
    return reload_buffer(reader, token->id, &token->buffer) &&
           v8_take_tag(reader, &tag) && take_view(reader, token);
}

v8_read_fn *v8_scalar(uint8_t tag)
{
    static v8_read_fn *const readers[128] = {
        ['_'] = read_constant, ['0'] = read_constant,  ['T'] = read_constant,
        ['F'] = read_constant, ['-'] = read_hole,      ['I'] = read_integer,
        ['U'] = read_integer,  ['N'] = read_double,    ['D'] = read_double,
        ['Z'] = read_bigint,   ['"'] = read_string,    ['c'] = read_string,
        ['S'] = read_string,   ['R'] = read_regexp,    ['n'] = read_boxed,
        ['s'] = read_boxed,    ['y'] = read_boxed,     ['x'] = read_boxed,
        ['z'] = read_boxed,    ['B'] = read_buffer,    ['~'] = read_buffer,
        ['V'] = read_view,     ['^'] = read_reference, ['\\'] = read_host,
    };
    return tag < 128 ? readers[tag] : NULL;
}
