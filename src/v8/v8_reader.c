/* Reads V8's serialization: bytes and object numbers, values without children,
 * containers, and references. A frame for each open container says which tokens
 * may follow. */
#include "v8/v8_reader.h"

#include <endian.h>

enum {
    VERSION_MIN = 13,
    VERSION_MAX = 16,
    /* Limits the tokens read through references, which can make a short value
     * very long. */
    STEPS_FACTOR = 4,
    STEPS_LEAST = 16384
};

/* Reads a value without children, after its tag. */
typedef bool read_fn(struct v8_reader *reader, struct v8_token *token,
                     uint8_t tag);

bool v8_wrong(struct v8_reader *reader, const char *sentence)
{
    if (reader->status == KX_OK) {
        reader->status = KX_BAD_VALUE;
        reader->wrong = sentence;
    }
    return false;
}

static bool ends_early(struct v8_reader *reader)
{
    return v8_wrong(reader, "it ends too early");
}

static bool take_bytes(struct v8_reader *reader, size_t size,
                       struct kx_slice *bytes_out)
{
    if (reader->size - reader->at < size)
        return ends_early(reader);
    *bytes_out = kx_slice(reader->data + reader->at, size);
    reader->at += size;
    return true;
}

/* Seven bits in each byte, the lowest first. V8's lengths have at most 32
 * bits. */
static bool take_long_varint(struct v8_reader *reader, uint32_t *number_out)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (reader->at == reader->size)
            return ends_early(reader);
        uint8_t byte = reader->data[reader->at++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number_out = (uint32_t)number;
            return number <= UINT32_MAX ||
                   v8_wrong(reader, "the number has more than 32 bits");
        }
    }
    return v8_wrong(reader, "the number has more than 32 bits");
}

static inline bool take_varint(struct v8_reader *reader, uint32_t *number_out)
{
    if (reader->at == reader->size || reader->data[reader->at] >= 0x80)
        return take_long_varint(reader, number_out);
    *number_out = reader->data[reader->at++];
    return true;
}

/* Skips padding and returns the next tag without taking it; 0 at the end. */
static inline uint8_t peek_tag(struct v8_reader *reader)
{
    while (reader->at < reader->size && reader->data[reader->at] == 0)
        reader->at++;
    return reader->at < reader->size ? reader->data[reader->at] : 0;
}

static inline bool take_tag(struct v8_reader *reader, uint8_t *tag_out)
{
    *tag_out = peek_tag(reader);
    if (*tag_out == 0)
        return ends_early(reader);
    reader->at++;
    return true;
}

static bool take_double(struct v8_reader *reader, double *number_out)
{
    struct kx_slice bytes = {0};
    uint64_t bits;
    if (!take_bytes(reader, sizeof bits, &bytes))
        return false;
    memcpy(&bits, bytes.data, sizeof bits); /* NOLINT: they are there */
    bits = le64toh(bits);
    memcpy(number_out, &bits, sizeof bits);
    return true;
}

/* ---- Objects ------------------------------------------------------------ */

static struct v8_object object_at(const struct v8_reader *reader, uint32_t id)
{
    struct v8_object object;
    if (reader->objects.size == 0)
        return reader->few[id];
    memcpy(&object, reader->objects.data + id * sizeof object, sizeof object);
    return object;
}

/* Objects that are read through a reference were numbered before. */
static bool add_object(struct v8_reader *reader, struct v8_token *token,
                       size_t at, uint32_t buffer)
{
    struct v8_object object = {.at = (uint32_t)at, .buffer = buffer};
    token->id = (uint32_t)reader->object_count;
    if (reader->entered > 0)
        return true;
    if (reader->object_count < V8_OBJECTS_FEW) {
        reader->few[reader->object_count++] = object;
        return true;
    }
    if (reader->object_count == V8_OBJECTS_FEW)
        kx_add(&reader->objects, reader->few, sizeof reader->few);
    kx_add(&reader->objects, &object, sizeof object);
    if (reader->objects.failed) {
        reader->status = KX_NO_MEMORY;
        return false;
    }
    reader->object_count++;
    return true;
}

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
    if (!take_varint(reader, &number))
        return false;
    uint32_t zigzag = number >> 1 ^ (0 - (number & 1));
    token->number = tag == 'U' ? number : (double)(int32_t)zigzag;
    return true;
}

static bool read_double(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    token->kind = tag == 'N' ? V8_NUMBER : V8_DATE;
    if (!take_double(reader, &token->number))
        return false;
    return tag == 'N' ||
           add_object(reader, token, reader->at - 9, V8_NO_BUFFER);
}

/* The lowest bit of the field is the sign, the others are the number of
 * bytes. */
static bool read_bigint(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    uint32_t field;
    (void)tag;
    token->kind = V8_BIGINT;
    if (!take_varint(reader, &field) ||
        !take_bytes(reader, field >> 1, &token->bytes))
        return false;
    token->negative = (field & 1) != 0;
    return (field >> 1) % 8 == 0 ||
           v8_wrong(reader, "a bigint has a multiple of 8 bytes");
}

static bool is_string_tag(uint8_t tag)
{
    return tag == '"' || tag == 'c' || tag == 'S';
}

static bool read_string(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    uint32_t size;
    struct v8_string *string = &token->string;
    token->kind = V8_STRING;
    string->charset = tag == '"' ? V8_LATIN1 : tag == 'c' ? V8_UTF16 : V8_UTF8;
    if (!take_varint(reader, &size) ||
        !take_bytes(reader, size, &string->bytes))
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
    if (!add_object(reader, token, reader->at - 1, V8_NO_BUFFER))
        return false;
    switch (tag) {
    case 'n':
        return read_double(reader, token, 'N');
    case 'z':
        return read_bigint(reader, token, 'Z');
    case 's':
        if (!take_tag(reader, &inner))
            return false;
        return is_string_tag(inner)
                   ? read_string(reader, token, inner)
                   : v8_wrong(reader, "a String object holds a string");
    default:
        return read_constant(reader, token, tag == 'y' ? 'T' : 'F');
    }
}

static bool read_regexp(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    if (!add_object(reader, token, reader->at - 1, V8_NO_BUFFER) ||
        !take_tag(reader, &tag))
        return false;
    if (!is_string_tag(tag) || !read_string(reader, token, tag))
        return v8_wrong(reader, "the source of a RegExp is a string");
    token->kind = V8_REGEXP;
    return take_varint(reader, &token->flags) &&
           (token->flags < 1u << 9 ||
            v8_wrong(reader, "unknown flags of a RegExp"));
}

/* ---- Buffers and views -------------------------------------------------- */

static bool take_buffer(struct v8_reader *reader, uint8_t tag,
                        struct v8_buffer *out)
{
    uint32_t size;
    out->resizable = tag == '~';
    if (!take_varint(reader, &size))
        return false;
    out->most = size;
    if (out->resizable && !take_varint(reader, &out->most))
        return false;
    if (out->most < size)
        return v8_wrong(reader, "an ArrayBuffer is larger than it can be");
    return take_bytes(reader, size, &out->bytes);
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
    if (!take_varint(reader, &type) || !take_varint(reader, &view->offset) ||
        !take_varint(reader, &view->size))
        return false;
    if (reader->version > 13 && !take_varint(reader, &view->flags))
        return false;
    view->type = type < 0x80 ? (uint8_t)type : 0;
    return check_view(reader, token) &&
           add_object(reader, token, start, token->buffer.id);
}

/* Reads a buffer, and a view that follows it. A buffer that is read through a
 * reference is read without the view. */
static bool read_buffer(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag)
{
    token->kind = V8_BUFFER;
    if (!add_object(reader, token, reader->at - 1, V8_NO_BUFFER) ||
        !take_buffer(reader, tag, &token->buffer))
        return false;
    token->buffer.id = token->id;
    token->view.repeated = false;
    if ((v8_top(reader)->kind == V8_REFERENCE && reader->depth > 0) ||
        peek_tag(reader) != 'V')
        return true;
    return take_tag(reader, &tag) && take_view(reader, token);
}

/* Reads the buffer with this number again, where it appeared. */
static bool reload_buffer(struct v8_reader *reader, uint32_t id,
                          struct v8_buffer *out)
{
    size_t resume = reader->at;
    reader->at = object_at(reader, id).at;
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
    if (!take_varint(reader, &view->size) ||
        !take_bytes(reader, view->size, &token->buffer.bytes))
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
    if (!add_object(reader, token, reader->at - 1, V8_NO_BUFFER) ||
        !take_varint(reader, &number))
        return false;
    token->kind = V8_HOST;
    return number == UINT32_MAX || take_node_view(reader, token, number);
}

/* ---- References --------------------------------------------------------- */

static bool is_buffer(const struct v8_reader *reader, uint32_t id)
{
    struct v8_object object = object_at(reader, id);
    uint8_t tag = reader->data[object.at];
    return object.buffer == V8_NO_BUFFER && (tag == 'B' || tag == '~');
}

/* A reference to a buffer may be followed by another view of it. */
static bool read_reference(struct v8_reader *reader, struct v8_token *token,
                           uint8_t tag)
{
    token->kind = V8_REFERENCE;
    if (!take_varint(reader, &token->id))
        return false;
    if (token->id >= reader->object_count)
        return v8_wrong(reader,
                        "a reference to an object that does not precede it");
    if (!is_buffer(reader, token->id) || peek_tag(reader) != 'V')
        return true;
    token->view.repeated = true;
    return reload_buffer(reader, token->id, &token->buffer) &&
           take_tag(reader, &tag) && take_view(reader, token);
}

/* The function that reads values with this tag; NULL for containers and unknown
 * tags. */
static read_fn *scalar_of(uint8_t tag)
{
    static read_fn *const readers[128] = {
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

enum kx_status v8_fault(const struct v8_reader *reader, struct kx_fault *fault)
{
    if (reader->status != KX_BAD_VALUE)
        return kx_fail(fault, reader->status, "%s",
                       kx_status_title(reader->status));
    kx_fail(fault, KX_BAD_VALUE, "the V8 value is not valid at byte %zu: %s",
            reader->at, reader->wrong);
    if (fault != NULL)
        fault->offset = reader->at;
    return KX_BAD_VALUE;
}

/* ---- Containers --------------------------------------------------------- */

static bool push(struct v8_reader *reader, struct v8_frame frame)
{
    if (reader->depth == KX_V8_DEPTH_MAX)
        return v8_wrong(reader, "more objects inside each other than the limit "
                                "v8-depth-max of 1000 allows");
    reader->frames[++reader->depth] = frame;
    return true;
}

_Static_assert(KX_V8_DEPTH_MAX == 1000, "the sentence says 1000");

static const struct opening {
    uint8_t tag;
    enum v8_kind kind;
    bool sized; /* the length follows */
} OPENINGS[] = {
    {'o', V8_OBJECT, false}, {'A', V8_ARRAY, true}, {'a', V8_SPARSE, true},
    {';', V8_MAP, false},    {'\'', V8_SET, false}, {'r', V8_ERROR, false},
};

static bool is_prototype(uint8_t tag)
{
    return tag != 0 && strchr("EFRSTU", tag) != NULL;
}

/* The letter of an error's prototype comes before its fields. */
static bool open_error(struct v8_reader *reader, struct v8_token *token)
{
    token->letter = peek_tag(reader);
    if (!is_prototype(token->letter)) {
        token->letter = 0;
        return true;
    }
    return take_tag(reader, &token->letter);
}

static bool open_container(struct v8_reader *reader, struct v8_token *token,
                           size_t start, const struct opening *opening)
{
    token->kind = opening->kind;
    if (!add_object(reader, token, start, V8_NO_BUFFER))
        return false;
    if (opening->sized && !take_varint(reader, &token->length))
        return false;
    if (token->kind == V8_ERROR && !open_error(reader, token))
        return false;
    if (token->kind == V8_ARRAY && token->length > reader->size - reader->at)
        return v8_wrong(reader, "an array has more elements than bytes follow");
    return push(reader, (struct v8_frame){.kind = token->kind,
                                          .start = (uint32_t)start,
                                          .length = token->length});
}

static bool open_host(struct v8_reader *reader, struct v8_token *token,
                      size_t start)
{
    token->kind = V8_HOST;
    return push(reader,
                (struct v8_frame){.kind = V8_HOST, .start = (uint32_t)start});
}

/* Reads any value in the innermost container. */
static bool read_value(struct v8_reader *reader, struct v8_token *token,
                       enum v8_role role)
{
    struct v8_frame *frame = v8_top(reader);
    uint8_t tag;
    token->role = role;
    token->index = frame->kind == V8_REFERENCE ? frame->index : frame->count;
    frame->count++;
    if (!take_tag(reader, &tag))
        return false;
    size_t start = reader->at - 1;
    read_fn *read = scalar_of(tag);
    if (read != NULL) {
        if (!read(reader, token, tag))
            return false;
        return token->kind != V8_HOST || open_host(reader, token, start);
    }
    for (size_t i = 0; i < sizeof OPENINGS / sizeof *OPENINGS; i++)
        if (OPENINGS[i].tag == tag)
            return open_container(reader, token, start, &OPENINGS[i]);
    reader->at--;
    return v8_wrong(reader, "no value begins with this byte");
}

static bool close_container(struct v8_reader *reader, struct v8_token *token)
{
    token->kind = V8_END;
    token->role = V8_CLOSING;
    token->closes = v8_top(reader)->kind;
    token->index = v8_top(reader)->count;
    reader->depth--;
    return true;
}

/* Takes the tag that ends a container, and the number that must follow it. */
static bool take_end(struct v8_reader *reader, uint32_t expected)
{
    uint8_t tag;
    uint32_t count;
    if (!take_tag(reader, &tag) || !take_varint(reader, &count))
        return false;
    return count == expected ||
           v8_wrong(reader, "the number at the end is not that of the members");
}

/* ---- What follows in each kind of container ----------------------------- */

static bool is_string(const struct v8_token *token)
{
    return !token->boxed && token->kind == V8_STRING;
}

static bool is_name(const struct v8_token *token)
{
    return is_string(token) || (!token->boxed && token->kind == V8_NUMBER);
}

static bool end_members(struct v8_reader *reader, struct v8_token *token,
                        uint32_t members)
{
    const struct v8_frame *frame = v8_top(reader);
    uint32_t length;
    if (!take_end(reader, members))
        return false;
    if (frame->kind != V8_OBJECT) {
        if (!take_varint(reader, &length))
            return false;
        if (length != frame->length)
            return v8_wrong(reader, "the length of an array changes");
    }
    return close_container(reader, token);
}

static uint8_t closing_tag(enum v8_kind kind)
{
    return kind == V8_OBJECT ? '{' : kind == V8_ARRAY ? '$' : '@';
}

/* Reads a name or member; in a dense array, its elements come first. */
static bool step_members(struct v8_reader *reader, struct v8_token *token)
{
    const struct v8_frame *frame = v8_top(reader);
    uint32_t elements = frame->kind == V8_ARRAY ? frame->length : 0;
    if (frame->count < elements)
        return read_value(reader, token, V8_ELEMENT);
    uint32_t count = frame->count - elements;
    if (count % 2 == 1)
        return read_value(reader, token, V8_MEMBER);
    if (peek_tag(reader) == closing_tag(frame->kind))
        return end_members(reader, token, count / 2);
    return read_value(reader, token, V8_NAME) &&
           (is_name(token) ||
            v8_wrong(reader, "a member's name is a string or a number"));
}

static bool step_map(struct v8_reader *reader, struct v8_token *token)
{
    uint32_t count = v8_top(reader)->count;
    if (count % 2 == 1)
        return read_value(reader, token, V8_MAPPED);
    if (peek_tag(reader) != ':')
        return read_value(reader, token, V8_KEY);
    return take_end(reader, count) && close_container(reader, token);
}

static bool step_set(struct v8_reader *reader, struct v8_token *token)
{
    if (peek_tag(reader) != ',')
        return read_value(reader, token, V8_ELEMENT);
    return take_end(reader, v8_top(reader)->count) &&
           close_container(reader, token);
}

/* Each field may occur once, in any order. The frame's `length` has a bit for
 * each field that was read. */
static bool step_error(struct v8_reader *reader, struct v8_token *token)
{
    static const struct {
        uint8_t tag;
        enum v8_role role;
    } fields[] = {{'m', V8_MESSAGE}, {'s', V8_STACK}, {'c', V8_CAUSE}};
    struct v8_frame *frame = v8_top(reader);
    uint8_t tag;
    if (!take_tag(reader, &tag))
        return false;
    if (tag == '.')
        return close_container(reader, token);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].tag != tag || (frame->length & 1u << i) != 0)
            continue;
        frame->length |= 1u << i;
        return read_value(reader, token, fields[i].role) &&
               (fields[i].role == V8_CAUSE || is_string(token) ||
                v8_wrong(reader, "message and stack are strings"));
    }
    return v8_wrong(reader, "no field of an error begins with this byte");
}

static bool step_host(struct v8_reader *reader, struct v8_token *token)
{
    if (v8_top(reader)->count == 1)
        return close_container(reader, token);
    return read_value(reader, token, V8_CONTENT) &&
           (token->kind == V8_OBJECT ||
            v8_wrong(reader, "a host object is described by an object"));
}

static bool step_reference(struct v8_reader *reader, struct v8_token *token)
{
    return read_value(reader, token, v8_top(reader)->role);
}

typedef bool step_fn(struct v8_reader *reader, struct v8_token *token);

static step_fn *const STEPS[V8_KINDS] = {
    [V8_OBJECT] = step_members, [V8_ARRAY] = step_members,
    [V8_SPARSE] = step_members, [V8_MAP] = step_map,
    [V8_SET] = step_set,        [V8_ERROR] = step_error,
    [V8_HOST] = step_host,      [V8_REFERENCE] = step_reference,
};

/* ---- The whole ---------------------------------------------------------- */

enum kx_status v8_open(struct v8_reader *reader, struct kx_slice bytes,
                       const void *memory)
{
    reader->data = bytes.data;
    reader->size = bytes.size;
    reader->at = 0;
    reader->status = KX_OK;
    reader->depth = 0;
    reader->entered = 0;
    reader->object_count = 0;
    reader->steps_left = (uint64_t)bytes.size * STEPS_FACTOR + STEPS_LEAST;
    reader->frames[0] = (struct v8_frame){.kind = V8_REFERENCE};
    kx_buffer_init(&reader->objects, memory);
    if (bytes.size > KX_V8_SIZE_MAX)
        v8_wrong(reader, "it has more bytes than the limit v8-size-max of 1 "
                         "GiB allows");
    else if (bytes.size < 3 || bytes.data[0] != 0xff)
        v8_wrong(reader, "it begins with ff, the version and a value");
    else if (bytes.data[1] < VERSION_MIN || bytes.data[1] > VERSION_MAX)
        v8_wrong(reader, "the version is 13 to 16");
    else
        reader->at = 2;
    reader->version = bytes.size < 2 ? 0 : bytes.data[1];
    return reader->status;
}

_Static_assert(KX_V8_SIZE_MAX == 1073741824, "the sentence says 1 GiB");

void v8_close(struct v8_reader *reader)
{
    kx_buffer_free(&reader->objects);
}

/* Leaves the references whose object has been read completely. */
static struct v8_frame *leave_references(struct v8_reader *reader)
{
    struct v8_frame *frame = v8_top(reader);
    while (reader->depth > 0 && frame->kind == V8_REFERENCE &&
           frame->count == 1) {
        reader->at = frame->resume;
        reader->entered--;
        reader->depth--;
        frame = v8_top(reader);
    }
    return frame;
}

enum kx_status v8_next(struct v8_reader *reader, struct v8_token *token_out)
{
    const struct v8_frame *frame = leave_references(reader);
    if (reader->status != KX_OK)
        return reader->status;
    if (reader->depth == 0 && frame->count == 1) {
        if (reader->at == reader->size)
            return KX_END;
        v8_wrong(reader, "data follow the value");
        return reader->status;
    }
    if (reader->entered > 0 && reader->steps_left-- == 0) {
        reader->steps_left = 0;
        v8_wrong(reader, "references make it too long");
        return reader->status;
    }
    token_out->boxed = false;
    token_out->length = 0;
    return STEPS[frame->kind](reader, token_out) ? KX_OK : reader->status;
}

/* True if the object at this position is open, directly or through a reference.
 * It contains itself then, and entering it would never end. */
static bool is_open(const struct v8_reader *reader, uint32_t at)
{
    for (size_t i = 1; i <= reader->depth; i++)
        if (reader->frames[i].kind != V8_REFERENCE &&
            reader->frames[i].start == at)
            return true;
    return false;
}

bool v8_enter(struct v8_reader *reader, const struct v8_token *reference)
{
    struct v8_object object = object_at(reader, reference->id);
    if (is_open(reader, object.at) || reader->depth == KX_V8_DEPTH_MAX)
        return false;
    /* The cost of is_open. */
    reader->steps_left -=
        reader->depth < reader->steps_left ? reader->depth : reader->steps_left;
    reader->frames[++reader->depth] =
        (struct v8_frame){.kind = V8_REFERENCE,
                          .role = reference->role,
                          .index = reference->index,
                          .resume = (uint32_t)reader->at};
    reader->entered++;
    reader->at = object.at;
    reader->view_buffer = object.buffer;
    return true;
}

enum v8_role v8_abandon(struct v8_reader *reader)
{
    size_t outermost = 1;
    while (reader->frames[outermost].kind != V8_REFERENCE)
        outermost++;
    const struct v8_frame *frame = &reader->frames[outermost];
    reader->depth = outermost - 1;
    reader->at = frame->resume;
    reader->entered = 0;
    reader->status = KX_OK;
    return frame->role;
}

bool v8_skip(struct v8_reader *reader)
{
    size_t depth = reader->depth;
    struct v8_token token;
    while (reader->depth >= depth)
        if (v8_next(reader, &token) != KX_OK)
            return false;
    return true;
}
