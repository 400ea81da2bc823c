/* Reading V8's serialization of a value, piece by piece. A value is a tree in
 * prefix order: a container's token is followed by those of its children and
 * by a V8_END. Nothing recurses and every length is checked: what is open is
 * kept in an array, and a damaged value ends the reading with KX_BAD_VALUE.
 *
 * Objects are numbered in the order in which they appear; V8_REFERENCE is one
 * that appeared before. v8_enter reads it once more in its place. */
#ifndef V8_READER_H
#define V8_READER_H

#include "kindex.h"

/* How the characters of a string are written. */
enum v8_charset { V8_LATIN1, V8_UTF16, V8_UTF8 };

struct v8_string {
    struct kx_slice bytes;
    enum v8_charset charset;
};

enum v8_kind {
    V8_UNDEFINED,
    V8_NULL,
    V8_TRUE,
    V8_FALSE,
    V8_NUMBER,    /* number */
    V8_BIGINT,    /* bytes: little endian, negative */
    V8_STRING,    /* string */
    V8_HOLE,      /* no element, in an array */
    V8_DATE,      /* number */
    V8_REGEXP,    /* string: its source; flags */
    V8_BUFFER,    /* buffer */
    V8_VIEW,      /* view */
    V8_REFERENCE, /* id */
    V8_OBJECT,    /* names and members */
    V8_ARRAY,     /* `length` elements, then names and members */
    V8_SPARSE,    /* an array's names (indexes) and members, its length */
    V8_MAP,       /* keys and what they are mapped to */
    V8_SET,       /* elements */
    V8_ERROR,     /* letter; message, stack and cause, if there are */
    V8_HOST,      /* an object of Deno's own: an object that describes it */
    V8_END,       /* of the container that is open */
    V8_KINDS
};

/* The place of a token in its container. */
enum v8_role {
    V8_WHOLE,
    V8_ELEMENT,
    V8_NAME, /* a string, or a number that stands for its digits */
    V8_MEMBER,
    V8_KEY,
    V8_MAPPED,
    V8_MESSAGE,
    V8_STACK,
    V8_CAUSE,
    V8_CONTENT, /* of a V8_HOST */
    V8_CLOSING  /* of V8_END */
};

/* The bytes of an ArrayBuffer. */
struct v8_buffer {
    struct kx_slice bytes;
    uint32_t id;
    uint32_t most; /* of a resizable one */
    bool resizable;
};

/* A typed array or DataView. */
struct v8_view {
    uint8_t type; /* V8's letter; '?' a DataView */
    uint32_t offset;
    uint32_t size;
    uint32_t flags;
    bool host;     /* in the form of Node, without a buffer of its own */
    bool repeated; /* the buffer appeared before */
};

struct v8_token {
    enum v8_kind kind;
    enum v8_role role;
    uint32_t index; /* how many tokens of the container precede, its own only */
    bool boxed;     /* an object around a primitive value: new Number(1) */
    bool negative;
    uint8_t letter; /* of an error: its prototype, 0 for Error */
    uint32_t flags;
    uint32_t length; /* of an array */
    uint32_t id;     /* number of the object, or of the one referred to */
    double number;
    struct v8_string string;
    struct kx_slice bytes;
    struct v8_buffer buffer;
    struct v8_view view;
    enum v8_kind closes; /* of V8_END */
};

/* A container that is open, or a reference that is being followed. */
struct v8_frame {
    enum v8_kind kind;
    enum v8_role role; /* V8_REFERENCE: of what is referred to */
    uint32_t start;    /* where it begins in the bytes */
    uint32_t count;    /* tokens read in it */
    uint32_t length;   /* of an array */
    uint32_t resume;   /* V8_REFERENCE: where to go on */
    uint32_t index;    /* V8_REFERENCE: of what is referred to */
    uint32_t note;     /* the caller's own, 0 at first */
};

/* Where an object begins; of a view, also which buffer is its. */
struct v8_object {
    uint32_t at;
    uint32_t buffer;
};

enum { V8_NO_BUFFER = UINT32_MAX, V8_OBJECTS_FEW = 16 };

struct v8_reader {
    const uint8_t *data;
    size_t size;
    size_t at;
    unsigned version;
    uint64_t steps_left; /* while references are followed */
    enum kx_status status;
    const char *wrong; /* why status is KX_BAD_VALUE */
    size_t depth;      /* of frames; [0] is the outside */
    size_t entered;    /* references that are being followed */
    size_t object_count;
    struct v8_object few[V8_OBJECTS_FEW];
    struct kx_buffer objects; /* all of them, when they are many */
    uint32_t view_buffer;     /* of the view that is referred to */
    struct v8_frame frames[KX_V8_DEPTH_MAX + 1];
};

/* Begins with a value's first byte. memory: a talloc context for what does not
 * fit into the reader. KX_OK, KX_BAD_VALUE. */
enum kx_status v8_open(struct v8_reader *reader, struct kx_slice bytes,
                       const void *memory);
/* Frees what the reader took. */
void v8_close(struct v8_reader *reader);

/* The next token: KX_OK; KX_END when the value is complete and nothing is left;
 * KX_BAD_VALUE; KX_NO_MEMORY. Slices point into the value. */
enum kx_status v8_next(struct v8_reader *reader, struct v8_token *token_out);

/* After a V8_REFERENCE: the next tokens are those of the object referred to,
 * in the role of the reference. Their ids mean nothing. False when that object
 * is still open, or references are nested too deeply. */
bool v8_enter(struct v8_reader *reader, const struct v8_token *reference);

/* While references are followed: goes on behind the outermost of them, whose
 * role it returns, though reading it has failed. From then on no reference may
 * be entered. */
enum v8_role v8_abandon(struct v8_reader *reader);

/* After the token of a container: goes to its end, whose token is not given.
 * False when the value is damaged; v8_next then says so again. */
bool v8_skip(struct v8_reader *reader);

/* The frame of the container opened last. */
static inline struct v8_frame *v8_top(struct v8_reader *reader)
{
    return &reader->frames[reader->depth];
}

/* Fills fault (NULL is allowed) for a reader that has met a damaged value, and
 * returns its status. */
enum kx_status v8_fault(const struct v8_reader *reader, struct kx_fault *fault);

/* ---- Between v8_reader.c and v8_scalar.c -------------------------------- */

/* Notes what is wrong at the present place. Always false. */
bool v8_wrong(struct v8_reader *reader, const char *sentence);
/* The same for a value that is cut off. Always false. */
bool v8_ends_early(struct v8_reader *reader);
/* Takes a number that is not known to be short. False when it is not there. */
bool v8_take_long_varint(struct v8_reader *reader, uint32_t *number_out);

/* Takes a number. */
static inline bool v8_take_varint(struct v8_reader *reader,
                                  uint32_t *number_out)
{
    if (reader->at == reader->size || reader->data[reader->at] >= 0x80)
        return v8_take_long_varint(reader, number_out);
    *number_out = reader->data[reader->at++];
    return true;
}

/* The next tag, which stays, after passing over padding; 0 when there is none.
 */
static inline uint8_t v8_peek_tag(struct v8_reader *reader)
{
    while (reader->at < reader->size && reader->data[reader->at] == 0)
        reader->at++;
    return reader->at < reader->size ? reader->data[reader->at] : 0;
}

/* Takes the next tag. */
static inline bool v8_take_tag(struct v8_reader *reader, uint8_t *tag_out)
{
    *tag_out = v8_peek_tag(reader);
    if (*tag_out == 0)
        return v8_ends_early(reader);
    reader->at++;
    return true;
}

/* Gives the object that begins at `at` the next number. False without memory.
 */
bool v8_add_object(struct v8_reader *reader, struct v8_token *token, size_t at,
                   uint32_t buffer);
/* The object with a number that was given. */
struct v8_object v8_object_at(const struct v8_reader *reader, uint32_t id);

/* Reads what follows the tag of a value that has no children; the tag is known
 * to be one of those. */
typedef bool v8_read_fn(struct v8_reader *reader, struct v8_token *token,
                        uint8_t tag);
/* NULL: no such tag, or a container's. */
v8_read_fn *v8_scalar(uint8_t tag);
/* The size of an element of a view, 0 for an unknown letter. */
size_t v8_element_size(uint8_t type);

#endif
