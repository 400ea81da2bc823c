/* A pull reader for V8's serialization of a value. A value is a tree in prefix
 * order: a container's token is followed by the tokens of its children and by a
 * V8_END. Nothing recurses: an array of frames holds the open containers. Every
 * length is checked, and a damaged value ends the reading with KX_BAD_VALUE.
 *
 * Objects are numbered in the order in which they appear. A V8_REFERENCE refers
 * to an object that appeared before; v8_enter reads that object again in place
 * of the reference. */
#ifndef V8_READER_H
#define V8_READER_H

#include "kindex.h"

/* The encoding of a string's characters. */
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
    V8_HOLE,      /* a missing element of an array */
    V8_DATE,      /* number */
    V8_REGEXP,    /* string: its source; flags */
    V8_BUFFER,    /* buffer */
    V8_VIEW,      /* view */
    V8_REFERENCE, /* id */
    V8_OBJECT,    /* names and members */
    V8_ARRAY,     /* `length` elements, then names and members */
    V8_SPARSE,    /* an array as names (indexes) and members, with its length */
    V8_MAP,       /* keys and mapped values in turn */
    V8_SET,       /* elements */
    V8_ERROR,     /* letter; message, stack and cause, each optional */
    V8_HOST,      /* a host object of Deno, as an object that describes it */
    V8_END,       /* the end of the innermost container */
    V8_KINDS
};

/* The role of a token in its container. */
enum v8_role {
    V8_WHOLE,
    V8_ELEMENT,
    V8_NAME, /* a string, or a number as an array index */
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
    uint32_t most; /* maxByteLength, if resizable */
    bool resizable;
};

/* A typed array or DataView. */
struct v8_view {
    uint8_t type; /* V8's letter; '?' is a DataView */
    uint32_t offset;
    uint32_t size;
    uint32_t flags;
    bool host;     /* Node's host object, without an ArrayBuffer */
    bool repeated; /* the buffer appeared before */
};

struct v8_token {
    enum v8_kind kind;
    enum v8_role role;
    uint32_t index; /* number of the container's own tokens before this one */
    bool boxed;     /* an object around a primitive value: new Number(1) */
    bool negative;
    uint8_t letter; /* of an error: its prototype; 0 is Error */
    uint32_t flags;
    uint32_t length; /* of an array */
    uint32_t id;     /* number of the object, or of the object referred to */
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
    enum v8_role role; /* V8_REFERENCE: its own role */
    uint32_t start;    /* position of its first byte */
    uint32_t count;    /* tokens read in it */
    uint32_t length;   /* of an array */
    uint32_t resume;   /* V8_REFERENCE: the position after it */
    uint32_t index;    /* V8_REFERENCE: its own index */
    uint32_t note;     /* for the caller; initially 0 */
};

/* The position of an object; of a view, also the number of its buffer. */
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
    uint64_t steps_left; /* tokens that may still be read through references */
    enum kx_status status;
    const char *wrong; /* the reason for KX_BAD_VALUE */
    size_t depth;      /* of frames; frames[0] is outside the value */
    size_t entered;    /* number of references being followed */
    size_t object_count;
    struct v8_object few[V8_OBJECTS_FEW];
    struct kx_buffer objects; /* all of them, if more than `few` holds */
    uint32_t view_buffer;     /* the buffer of the view referred to */
    struct v8_frame frames[KX_V8_DEPTH_MAX + 1];
};

/* Opens a value. memory: the talloc context of allocations that do not fit into
 * the reader. KX_OK, KX_BAD_VALUE. */
enum kx_status v8_open(struct v8_reader *reader, struct kx_slice bytes,
                       const void *memory);
/* Frees the memory that the reader allocated. */
void v8_close(struct v8_reader *reader);

/* Reads the next token. KX_OK; KX_END if the value is complete and nothing
 * follows it; KX_BAD_VALUE; KX_NO_MEMORY. Slices point into the value. */
enum kx_status v8_next(struct v8_reader *reader, struct v8_token *token_out);

/* After a V8_REFERENCE: the next tokens are those of the object referred to, in
 * the role of the reference. Their ids have no meaning. False if that object is
 * still open, or if references are nested too deeply. */
bool v8_enter(struct v8_reader *reader, const struct v8_token *reference);

/* While references are followed: continues after the outermost of them, even
 * after an error in it, and returns its role. From then on no reference may be
 * entered. */
enum v8_role v8_abandon(struct v8_reader *reader);

/* After the token of a container: skips to its end, including the V8_END. False
 * if the value is damaged or memory runs out; v8_next then returns the same
 * status. */
bool v8_skip(struct v8_reader *reader);

/* The frame of the container opened last. */
static inline struct v8_frame *v8_top(struct v8_reader *reader)
{
    return &reader->frames[reader->depth];
}

/* Fills fault (NULL is allowed) with the reader's error, and returns its
 * status. */
enum kx_status v8_fault(const struct v8_reader *reader, struct kx_fault *fault);

/* Sets the reader's status to KX_BAD_VALUE at its current position, unless it
 * has failed before. The sentence is a constant. Always false. */
bool v8_wrong(struct v8_reader *reader, const char *sentence);

/* The element size of a view in bytes; 0 for an unknown letter. */
size_t v8_element_size(uint8_t type);

#endif
