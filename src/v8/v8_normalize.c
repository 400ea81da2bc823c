/* Rewrites a V8 value token by token. Objects get new numbers, because a typed
 * array is one object in Node's form and two in V8's. */
#include "v8/v8_normalize.h"

#include "v8/v8_reader.h"
#include "v8/v8_writer.h"

/* A part of the output; `at` counts from the beginning of the value. */
struct stretch {
    size_t at;
    size_t size;
};

enum { LATE_FIELDS = 2 /* message, stack */ };

/* The position of an error's cause, and the fields that follow it. */
struct cause {
    size_t at;
    struct stretch late[LATE_FIELDS];
    size_t late_count;
};

struct normal {
    struct v8_reader reader;
    struct v8_token token;
    struct v8_writer writer;
    struct kx_buffer ids; /* uint32_t, the new number of each object */
    uint32_t next;
    struct kx_buffer causes; /* struct cause, in the order of `at` */
    struct kx_buffer late;   /* struct stretch, of all causes in order */
};

/* ---- Numbers of objects ------------------------------------------------- */

static void add_id(struct normal *normal)
{
    kx_add(&normal->ids, &normal->next, sizeof normal->next);
    normal->next++;
}

static uint32_t new_id(const struct normal *normal, uint32_t id)
{
    uint32_t number = 0;
    if ((id + 1) * sizeof number <= normal->ids.size)
        memcpy(&number, normal->ids.data + id * sizeof number, sizeof number);
    return number;
}

/* ---- Values without children -------------------------------------------- */

static void put_string(struct normal *normal)
{
    const struct v8_string *string = &normal->token.string;
    if (string->charset == V8_LATIN1)
        v8_put_latin1(&normal->writer, string->bytes);
    else if (string->charset == V8_UTF16)
        v8_put_utf16(&normal->writer, string->bytes);
    else
        v8_put_string(&normal->writer, string->bytes);
}

static void write_constant(struct normal *normal)
{
    static const char tags[] = {[V8_UNDEFINED] = '_',
                                [V8_NULL] = '0',
                                [V8_TRUE] = 'T',
                                [V8_FALSE] = 'F',
                                [V8_HOLE] = '-'};
    char tag = tags[normal->token.kind];
    if (normal->token.boxed) {
        add_id(normal);
        tag = tag == 'T' ? 'y' : 'x';
    }
    v8_put_tag(&normal->writer, tag);
}

static void write_number(struct normal *normal)
{
    if (!normal->token.boxed) {
        v8_put_number(&normal->writer, normal->token.number);
        return;
    }
    add_id(normal);
    v8_put_double(&normal->writer, 'n', normal->token.number);
}

static void write_date(struct normal *normal)
{
    add_id(normal);
    v8_put_double(&normal->writer, 'D', normal->token.number);
}

static void write_bigint(struct normal *normal)
{
    size_t at = normal->writer.out->size;
    v8_put_bigint(&normal->writer, normal->token.bytes, normal->token.negative);
    if (!normal->token.boxed)
        return;
    add_id(normal);
    if (!normal->writer.out->failed)
        normal->writer.out->data[at] = 'z';
}

/* Writes a field. A field after the cause is noted as late, so that
 * order_fields moves it before the cause. */
static void write_field(struct normal *normal, char tag)
{
    struct kx_buffer *out = normal->writer.out;
    uint32_t number = v8_top(&normal->reader)->note;
    struct stretch field = {.at = out->size - normal->writer.start};
    v8_put_tag(&normal->writer, tag);
    put_string(normal);
    field.size = out->size - normal->writer.start - field.at;
    if (number == 0 || normal->causes.failed)
        return;
    struct cause *cause = (struct cause *)normal->causes.data + number - 1;
    cause->late[cause->late_count++] = field;
    kx_add(&normal->late, &field, sizeof field);
}

static void write_string(struct normal *normal)
{
    switch ((int)normal->token.role) {
    case V8_MESSAGE:
        write_field(normal, 'm');
        return;
    case V8_STACK:
        write_field(normal, 's');
        return;
    default:
        break;
    }
    if (normal->token.boxed) {
        add_id(normal);
        v8_put_tag(&normal->writer, 's');
    }
    put_string(normal);
}

static void write_regexp(struct normal *normal)
{
    add_id(normal);
    v8_put_tag(&normal->writer, 'R');
    put_string(normal);
    v8_put_varint(&normal->writer, normal->token.flags);
}

static void write_reference(struct normal *normal)
{
    v8_put_tag(&normal->writer, '^');
    v8_put_varint(&normal->writer, new_id(normal, normal->token.id));
}

static void write_buffer(struct normal *normal)
{
    const struct v8_buffer *buffer = &normal->token.buffer;
    add_id(normal);
    v8_put_tag(&normal->writer, buffer->resizable ? '~' : 'B');
    v8_put_varint(&normal->writer, (uint32_t)buffer->bytes.size);
    if (buffer->resizable)
        v8_put_varint(&normal->writer, buffer->most);
    kx_add_slice(normal->writer.out, buffer->bytes);
}

static void write_view(struct normal *normal)
{
    const struct v8_view *view = &normal->token.view;
    struct v8_writer *writer = &normal->writer;
    if (view->host) {
        normal->next++; /* the buffer */
        add_id(normal);
        v8_put_view(writer, view->type, normal->token.bytes);
        return;
    }
    if (view->repeated) {
        v8_put_tag(writer, '^');
        v8_put_varint(writer, new_id(normal, normal->token.buffer.id));
    } else {
        write_buffer(normal);
    }
    add_id(normal);
    v8_put_tag(writer, 'V');
    v8_put_varint(writer, view->type);
    v8_put_varint(writer, view->offset);
    v8_put_varint(writer, view->size);
    v8_put_varint(writer, view->flags);
}

/* ---- Containers --------------------------------------------------------- */

static void write_open(struct normal *normal)
{
    static const char tags[V8_KINDS] = {
        [V8_OBJECT] = 'o', [V8_ARRAY] = 'A', [V8_SPARSE] = 'a', [V8_MAP] = ';',
        [V8_SET] = '\'',   [V8_ERROR] = 'r', [V8_HOST] = '\\'};
    struct v8_writer *writer = &normal->writer;
    enum v8_kind kind = normal->token.kind;
    add_id(normal);
    v8_put_tag(writer, tags[kind]);
    if (kind == V8_ARRAY || kind == V8_SPARSE)
        v8_put_varint(writer, normal->token.length);
    if (kind == V8_ERROR && normal->token.letter != 0)
        v8_put_tag(writer, (char)normal->token.letter);
    if (kind == V8_HOST)
        v8_put_varint(writer, UINT32_MAX);
}

/* The closed container's frame is still valid, one above the top. */
static void write_end(struct normal *normal)
{
    struct v8_writer *writer = &normal->writer;
    const struct v8_frame *frame =
        &normal->reader.frames[normal->reader.depth + 1];
    switch ((int)frame->kind) {
    case V8_OBJECT:
        v8_put_tag(writer, '{');
        v8_put_varint(writer, frame->count / 2);
        break;
    case V8_ARRAY:
        v8_put_tag(writer, '$');
        v8_put_varint(writer, (frame->count - frame->length) / 2);
        v8_put_varint(writer, frame->length);
        break;
    case V8_SPARSE:
        v8_put_tag(writer, '@');
        v8_put_varint(writer, frame->count / 2);
        v8_put_varint(writer, frame->length);
        break;
    case V8_MAP:
    case V8_SET:
        v8_put_tag(writer, frame->kind == V8_MAP ? ':' : ',');
        v8_put_varint(writer, frame->count);
        break;
    case V8_ERROR:
        v8_put_tag(writer, '.');
        break;
    default:
        break;
    }
}

typedef void write_fn(struct normal *normal);

static write_fn *const WRITE[V8_KINDS] = {
    [V8_UNDEFINED] = write_constant,
    [V8_NULL] = write_constant,
    [V8_TRUE] = write_constant,
    [V8_FALSE] = write_constant,
    [V8_HOLE] = write_constant,
    [V8_NUMBER] = write_number,
    [V8_BIGINT] = write_bigint,
    [V8_STRING] = write_string,
    [V8_DATE] = write_date,
    [V8_REGEXP] = write_regexp,
    [V8_BUFFER] = write_buffer,
    [V8_VIEW] = write_view,
    [V8_REFERENCE] = write_reference,
    [V8_OBJECT] = write_open,
    [V8_ARRAY] = write_open,
    [V8_SPARSE] = write_open,
    [V8_MAP] = write_open,
    [V8_SET] = write_open,
    [V8_ERROR] = write_open,
    [V8_HOST] = write_open,
    [V8_END] = write_end,
};

/* ---- The whole ---------------------------------------------------------- */

/* Notes the number of a cause in the frame of its error. If the cause is a
 * container, its own frame is the top, and the error's is below it. */
static void note_cause(struct normal *normal)
{
    size_t depth = normal->reader.depth;
    struct cause cause = {.at =
                              normal->writer.out->size - normal->writer.start};
    if (normal->reader.frames[depth].kind != V8_ERROR ||
        normal->reader.frames[depth].count == 0)
        depth--;
    kx_add(&normal->causes, &cause, sizeof cause);
    normal->reader.frames[depth].note =
        (uint32_t)(normal->causes.size / sizeof cause);
    v8_put_tag(&normal->writer, 'c');
}

static enum kx_status write_tokens(struct normal *normal)
{
    enum kx_status status;
    while ((status = v8_next(&normal->reader, &normal->token)) == KX_OK) {
        if (normal->token.role == V8_CAUSE)
            note_cause(normal);
        WRITE[normal->token.kind](normal);
        if (normal->ids.failed || normal->causes.failed ||
            normal->late.failed || normal->writer.out->failed)
            return KX_NO_MEMORY;
    }
    return status == KX_END ? KX_OK : status;
}

static void add_late(const struct cause *cause, const uint8_t *written,
                     struct kx_buffer *whole)
{
    for (size_t i = 0; i < cause->late_count; i++)
        kx_add(whole, written + cause->late[i].at, cause->late[i].size);
}

/* Puts the fields of errors in the order message, stack, cause. All late fields
 * are moved in one pass, since causes may be nested a thousand deep. */
static enum kx_status order_fields(struct normal *normal)
{
    const struct cause *cause = (const struct cause *)normal->causes.data;
    const struct cause *last = cause + normal->causes.size / sizeof *cause;
    const struct stretch *late = (const struct stretch *)normal->late.data;
    const struct stretch *end = late + normal->late.size / sizeof *late;
    struct kx_buffer *out = normal->writer.out;
    uint8_t *written = out->data + normal->writer.start;
    size_t size = out->size - normal->writer.start;
    struct kx_buffer whole;
    if (late == end)
        return KX_OK;
    kx_buffer_init(&whole, out->owner);
    kx_buffer_reserve(&whole, size);
    for (size_t at = 0; at < size;) {
        size_t next = size;
        if (late < end)
            next = late->at;
        if (cause < last && cause->at < next)
            next = cause->at;
        kx_add(&whole, written + at, next - at);
        at = next;
        if (cause < last && cause->at == at)
            add_late(cause++, written, &whole);
        else if (late < end)
            at += late++->size;
    }
    bool done = !whole.failed;
    if (done)
        memcpy(written, whole.data, size);
    kx_buffer_free(&whole);
    return done ? KX_OK : KX_NO_MEMORY;
}

enum kx_status v8_normalize(struct kx_slice bytes, struct kx_buffer *out)
{
    struct normal normal;
    size_t start = out->size;
    normal.next = 0;
    kx_buffer_init(&normal.ids, out->owner);
    kx_buffer_init(&normal.causes, out->owner);
    kx_buffer_init(&normal.late, out->owner);
    enum kx_status status = v8_open(&normal.reader, bytes, out->owner);
    if (status == KX_OK) {
        v8_begin(&normal.writer, out);
        status = write_tokens(&normal);
    }
    if (status == KX_OK)
        status = order_fields(&normal);
    if (status != KX_OK)
        out->size = start;
    kx_buffer_free(&normal.ids);
    kx_buffer_free(&normal.causes);
    kx_buffer_free(&normal.late);
    v8_close(&normal.reader);
    return status;
}

/* True for a message or stack that follows the cause. */
static bool is_late(const struct v8_reader *reader,
                    const struct v8_token *token)
{
    enum { CAUSE_BIT = 1 << 2 };
    return (token->role == V8_MESSAGE || token->role == V8_STACK) &&
           (reader->frames[reader->depth].length & CAUSE_BIT) != 0;
}

/* False if there cannot be a host object or an error. A host object begins with
 * a backslash; an error that has a prototype or fields, with an r, perhaps
 * padding, and one of these tags. */
static bool may_be_foreign(struct kx_slice bytes)
{
    static const char inner[] = "EFRSTUmsc"; /* and NUL, the padding */
    const uint8_t *end = bytes.data + bytes.size;
    const uint8_t *at = bytes.data;
    if (memchr(at, '\\', bytes.size) != NULL)
        return true;
    while ((at = memchr(at, 'r', (size_t)(end - at))) != NULL) {
        at++;
        if (at < end && memchr(inner, *at, sizeof inner) != NULL)
            return true;
    }
    return false;
}

enum kx_status v8_is_foreign(struct kx_slice bytes, const void *memory,
                             bool *foreign_out)
{
    struct v8_reader reader;
    struct v8_token token;
    bool foreign = false;
    *foreign_out = false;
    if (!may_be_foreign(bytes))
        return KX_OK;
    enum kx_status status = v8_open(&reader, bytes, memory);
    while (status == KX_OK && !foreign) {
        status = v8_next(&reader, &token);
        if (status == KX_OK)
            foreign = (token.kind == V8_VIEW && token.view.host) ||
                      is_late(&reader, &token);
    }
    v8_close(&reader);
    *foreign_out = foreign;
    return status == KX_END ? KX_OK : status;
}
