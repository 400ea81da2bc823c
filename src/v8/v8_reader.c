/* The containers of V8's serialization: the open frames, the tokens that may
 * follow in each, and the end of a value. */
#include "v8/v8_input.h"
#include "v8/v8_scalar.h"

enum {
    VERSION_MIN = 13,
    VERSION_MAX = 16,
    /* Limits the tokens read through references, which can make a short value
     * very long. */
    STEPS_FACTOR = 4,
    STEPS_LEAST = 16384
};

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
    token->letter = v8_peek_tag(reader);
    if (!is_prototype(token->letter)) {
        token->letter = 0;
        return true;
    }
    return v8_take_tag(reader, &token->letter);
}

static bool open_container(struct v8_reader *reader, struct v8_token *token,
                           size_t start, const struct opening *opening)
{
    token->kind = opening->kind;
    if (!v8_add_object(reader, token, start, V8_NO_BUFFER))
        return false;
    if (opening->sized && !v8_take_varint(reader, &token->length))
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
    if (!v8_take_tag(reader, &tag))
        return false;
    size_t start = reader->at - 1;
    v8_read_fn *read = v8_scalar(tag);
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
    if (!v8_take_tag(reader, &tag) || !v8_take_varint(reader, &count))
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
        if (!v8_take_varint(reader, &length))
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
    if (v8_peek_tag(reader) == closing_tag(frame->kind))
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
    if (v8_peek_tag(reader) != ':')
        return read_value(reader, token, V8_KEY);
    return take_end(reader, count) && close_container(reader, token);
}

static bool step_set(struct v8_reader *reader, struct v8_token *token)
{
    if (v8_peek_tag(reader) != ',')
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
    if (!v8_take_tag(reader, &tag))
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
    struct v8_object object = v8_object_at(reader, reference->id);
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
