/* Kindex: an ordered key-value store whose declared indexes are always right.
 *
 * This is the only header that code outside src/ may include. It names four
 * things: keys (ordered typed parts), entries (key, value, versionstamp),
 * commits (checks and mutations that hold together or not at all) and
 * indexes (entries that the store derives from other entries).
 *
 * Threads: a commit may be submitted from any thread. A reader belongs to one
 * thread. Everything else says so where it is declared.
 *
 * Memory: slices never own what they point to. A buffer owns its bytes and
 * lives in the talloc context it was given.
 */
#ifndef KINDEX_H
#define KINDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KX_VERSION "0.1.0"
#define KX_DATE "2026-11-21" /* of this version */

/* Limits. Each has the same name, with dashes, in openapi.yaml and errors. */
enum kx_limit {
    KX_KEY_MAX = 2048,           /* encoded bytes of a key that is written */
    KX_KEY_BOUND_MAX = 2049,     /* encoded bytes of the end of a range */
    KX_BIGINT_MAX = 255,         /* magnitude bytes of a bigint part */
    KX_JSON_DEPTH_MAX = 64,      /* arrays and objects inside each other */
    KX_MEDIA_TYPE_MAX = 127,     /* bytes of a stored media type */
    KX_CHECKS_MAX = 1000,        /* checks of one commit */
    KX_MUTATIONS_MAX = 1000,     /* mutations of one commit */
    KX_PAGE_MAX = 1000,          /* entries of one page of a list */
    KX_INDEX_NAME_MAX = 128,     /* bytes of an index name */
    KX_INDEXES_MAX = 256,        /* declared indexes of a store */
    KX_V8_DEPTH_MAX = 1000,      /* objects inside each other in a V8 value */
    KX_V8_SIZE_MAX = 1073741824, /* bytes of a V8 value */
    KX_V8_BIGINT_MAX = 4096,     /* bytes of a bigint that is reckoned with */
    KX_FIELDS_MAX = 16,          /* fields of one index */
    KX_PROJECTION_MAX = 16,      /* members that a read asks for */
    KX_STORED_MAX = 16,       /* members that the entries of an index store */
    KX_WHERE_MAX = 16,        /* conditions of one index */
    KX_WHERE_VALUES_MAX = 64, /* values of an `in` */
    KX_POINTER_MAX = 512,     /* bytes of a JSON Pointer */
    KX_INDEX_ENTRIES_MAX = 1000, /* entries of one index for one entry */
    KX_CHANGES_MAX = 300000, /* entries that one commit changes, index entries
                              * included */
    KX_SAMPLES_MAX = 5,      /* keys shown of what a build left out */
    KX_SAMPLE_KEY_MAX = 256, /* encoded bytes of such a key */
    KX_WATCH_KEYS_MAX = 100, /* keys of one watch */
    KX_BACKUPS_MAX = 4,      /* backups being made at a time */
    KX_TOKENS_MAX = 10000,   /* tokens of a store */
    KX_GRANTS_MAX = 32,      /* grants of one token */
    KX_TOKEN_NAME_MAX = 128, /* bytes of a token's name */
    KX_DETAIL_MAX = 512      /* bytes of a fault's detail, with its NUL */
};
#define KX_VALUE_MAX_DEFAULT (1u << 20) /* bytes of one value */

/* Every way a call can end. The text is the fixed title of the case; what is
 * special about one occurrence goes into struct kx_fault. */
#define KX_STATUS_LIST(X)                                                      \
    X(KX_OK, "done")                                                           \
    X(KX_ABSENT, "there is no such entry")                                     \
    X(KX_END, "there are no more entries")                                     \
    X(KX_AGAIN, "there is more to look through")                               \
    X(KX_CHECK_FAILED, "a check failed")                                       \
    X(KX_UNIQUE_VIOLATION, "the value is already used in a unique index")      \
    X(KX_TYPE_MISMATCH, "the stored value has another type")                   \
    X(KX_NUMBER_RANGE, "the number is out of range")                           \
    X(KX_BAD_KEY, "the key is not valid")                                      \
    X(KX_KEY_TOO_LONG, "the key is too long")                                  \
    X(KX_BAD_JSON, "the text is not valid JSON")                               \
    X(KX_BAD_VALUE, "the value is not valid")                                  \
    X(KX_JSON_TOO_DEEP, "the JSON text is nested too deeply")                  \
    X(KX_VALUE_TOO_LARGE, "the value is too large")                            \
    X(KX_COMMIT_TOO_LARGE, "the commit is too large")                          \
    X(KX_BAD_INDEX, "the index declaration is not valid")                      \
    X(KX_INDEX_ABSENT, "there is no such index")                               \
    X(KX_INDEX_EXISTS, "an index with this name is declared differently")      \
    X(KX_INDEX_NAME_USED, "there are entries under the name of the index")     \
    X(KX_INDEX_NOT_READY, "the index is not ready")                            \
    X(KX_INDEX_NOT_UNIQUE, "the index is not unique")                          \
    X(KX_INDEX_BUSY, "the index is being changed")                             \
    X(KX_NO_MIGRATION, "the index does not migrate")                           \
    X(KX_INDEX_OWNED_KEY, "the key belongs to an index")                       \
    X(KX_NOT_INDEXABLE, "the entry cannot be indexed as declared")             \
    X(KX_TOO_MANY_INDEXES, "there are too many indexes")                       \
    X(KX_TOKEN_ABSENT, "there is no such token")                               \
    X(KX_TOKEN_FIXED, "the token was given when the server was started")       \
    X(KX_TOO_MANY_TOKENS, "there are too many tokens")                         \
    X(KX_NO_ADMIN, "no token would be left that may make others")              \
    X(KX_BUSY, "too much work is waiting")                                     \
    X(KX_STOPPING, "the store is stopping")                                    \
    X(KX_UNKNOWN, "it is unknown whether the commit was stored")               \
    X(KX_DISK_FULL, "the disk is full")                                        \
    X(KX_IN_USE, "the data directory is in use by another process")            \
    X(KX_BAD_DIRECTORY, "the data directory cannot be used")                   \
    X(KX_DAMAGED, "the stored data are damaged")                               \
    X(KX_BAD_ARCHIVE, "the backup is damaged or not complete")                 \
    X(KX_NO_MEMORY, "memory is used up")                                       \
    X(KX_FAILED, "the storage engine failed")

enum kx_status {
#define KX_STATUS_NAME(name, text) name,
    KX_STATUS_LIST(KX_STATUS_NAME)
#undef KX_STATUS_NAME
};
enum { KX_STATUS_COUNT = KX_FAILED + 1 };

/* The identifier ("KX_OK") and the title of a status. Never NULL. */
const char *kx_status_name(enum kx_status status);
const char *kx_status_title(enum kx_status status);

/* What was wrong in this case: one sentence with the values concerned. All of
 * it lies in the struct: it can be copied and kept. */
struct kx_fault {
    enum kx_status status;
    char detail[KX_DETAIL_MAX];
    char pointer[128];   /* JSON Pointer into the caller's document, or "" */
    size_t offset;       /* of the first wrong byte of a JSON text */
    bool inexact;        /* KX_BAD_KEY: a number that a double cannot hold */
    char suggestion[32]; /* the name that was probably meant, or "" */
};

/* Fills fault (NULL is allowed) and returns status, for early returns. A
 * sentence that is too long is cut at a whole character. All other members are
 * cleared: set them afterwards. */
enum kx_status kx_fail(struct kx_fault *fault, enum kx_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Bytes ---------------------------------------------------------- */

/* Bytes that lie somewhere else, and live as long as their owner says. data may
 * be NULL when size is 0; there is no NUL behind the last byte. */
struct kx_slice {
    const uint8_t *data;
    size_t size;
};

/* A slice of bytes, and one of a NUL terminated text without its NUL. */
static inline struct kx_slice kx_slice(const void *data, size_t size)
{
    return (struct kx_slice){.data = data, .size = size};
}

static inline struct kx_slice kx_text(const char *text)
{
    return kx_slice(text, strlen(text));
}

/* Unsigned byte order; a prefix sorts first. This is the order of keys. */
int kx_compare(struct kx_slice a, struct kx_slice b);
bool kx_equal(struct kx_slice a, struct kx_slice b);
bool kx_starts_with(struct kx_slice whole, struct kx_slice prefix);

/* A growing byte string. When memory runs out `failed` is set, the contents
 * stay as they were and further additions do nothing, so that a sequence of
 * additions is checked once, at its end. */
struct kx_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    const void *owner; /* talloc context of data */
    bool failed;
};

/* An empty buffer whose bytes will live under owner (a talloc context). */
void kx_buffer_init(struct kx_buffer *buffer, const void *owner);
/* Makes room for `more` bytes after size; false when memory ran out. */
bool kx_buffer_reserve(struct kx_buffer *buffer, size_t more);
/* Frees the bytes before their owner does; the buffer is empty again. */
void kx_buffer_free(struct kx_buffer *buffer);

/* Append bytes, one byte, a slice, a NUL terminated text without its NUL. What
 * is appended must not lie in the buffer itself: its bytes may move. */
static inline void kx_add(struct kx_buffer *buffer, const void *data,
                          size_t size)
{
    if (buffer->capacity - buffer->size < size &&
        !kx_buffer_reserve(buffer, size))
        return;
    if (size != 0)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

static inline void kx_add_byte(struct kx_buffer *buffer, uint8_t byte)
{
    kx_add(buffer, &byte, 1);
}

static inline void kx_add_slice(struct kx_buffer *buffer, struct kx_slice slice)
{
    kx_add(buffer, slice.data, slice.size);
}

static inline void kx_add_text(struct kx_buffer *buffer, const char *text)
{
    kx_add(buffer, text, strlen(text));
}

/* What the buffer holds by now, valid until the next addition. */
static inline struct kx_slice kx_buffer_slice(const struct kx_buffer *buffer)
{
    return kx_slice(buffer->data, buffer->size);
}

/* ---- Keys ----------------------------------------------------------- */

/* In the order of their encodings: bytes < string < bigint < number <
 * false < true. Encoding: Deno KV's, a subset of FoundationDB's tuple layer. */
enum kx_part_type {
    KX_BYTES_PART,
    KX_STRING,
    KX_BIGINT,
    KX_NUMBER,
    KX_BOOLEAN
};

struct kx_part {
    enum kx_part_type type;
    struct kx_slice bytes; /* bytes; UTF-8 of a string; bigint magnitude, big
                            * endian, without leading zeros */
    bool negative;         /* of a bigint */
    bool boolean;
    double number;
};

/* Append the encoding of one part. KX_BAD_KEY when the part cannot be
 * encoded (invalid UTF-8, a magnitude over KX_BIGINT_MAX bytes); the buffer is
 * then unchanged. The length of the whole key is checked by kx_key_check. */
enum kx_status kx_key_add(struct kx_buffer *key, const struct kx_part *part);
enum kx_status kx_key_add_string(struct kx_buffer *key, struct kx_slice utf8);
enum kx_status kx_key_add_bytes(struct kx_buffer *key, struct kx_slice bytes);
enum kx_status kx_key_add_number(struct kx_buffer *key, double number);
enum kx_status kx_key_add_boolean(struct kx_buffer *key, bool boolean);
/* decimal: an optional '-' and digits. */
enum kx_status kx_key_add_bigint(struct kx_buffer *key,
                                 struct kx_slice decimal);

/* Takes the parts out of an encoded key, first to last. The key must stay where
 * it is meanwhile. */
struct kx_key_reader {
    struct kx_slice rest;        /* the parts not taken yet */
    uint8_t scratch[KX_KEY_MAX]; /* holds the last part where it had to be
                                  * unescaped or inverted */
};
/* Starts at the first part. */
void kx_key_read(struct kx_key_reader *reader, struct kx_slice key);
/* KX_OK and the next part (valid until the next call), KX_END after the last,
 * KX_BAD_KEY when the bytes are no key. */
enum kx_status kx_key_next(struct kx_key_reader *reader,
                           struct kx_part *part_out);

/* Number of encoded bytes of the first part of rest; 0 when it is no part. */
size_t kx_part_size(struct kx_slice rest);
/* KX_OK for 1..KX_KEY_MAX bytes that decode as parts; KX_BAD_KEY,
 * KX_KEY_TOO_LONG otherwise. */
enum kx_status kx_key_check(struct kx_slice key, struct kx_fault *fault);
/* Appends the decimal digits of a bigint part, with '-' when it is negative. */
void kx_bigint_decimal(const struct kx_part *part, struct kx_buffer *out);

/* ---- Numbers and text ------------------------------------------------ */

/* Shortest decimal text that reads back as the same finite double, in the
 * form of JavaScript's JSON.stringify (-0 is written "-0"). Returns the length;
 * out holds at least 32 bytes and is NUL terminated. */
size_t kx_number_text(double number, char *out);
/* Reads a whole JSON number token; false when it is not one or not finite. */
bool kx_number_parse(struct kx_slice token, double *number_out);
/* Strict UTF-8 (no overlong forms, surrogates, or code points over 10FFFF). */
bool kx_utf8_valid(struct kx_slice text);

/* Letters to add, drop or change to get from a to b; case does not count. 64
 * for texts that are longer than that. */
size_t kx_distance(struct kx_slice a, struct kx_slice b);
/* Is `name` nearer to the misspelt one than *best edits, which then becomes
 * their number? Begin with KX_NEAR + 1. */
enum { KX_NEAR = 2 };
bool kx_resembles(struct kx_slice given, struct kx_slice name, size_t *best);

/* ---- JSON texts ------------------------------------------------------ */

/* Checks that text is exactly one RFC 8259 value, with white space allowed
 * around it: valid UTF-8, no duplicate member names, depth at most
 * KX_JSON_DEPTH_MAX, no lone surrogate escapes, all numbers finite as doubles.
 * Errors: KX_BAD_JSON, KX_JSON_TOO_DEEP, with offset and detail; KX_NO_MEMORY.
 */
enum kx_status kx_json_check(struct kx_slice text, struct kx_fault *fault);

/* The functions below work on text that kx_json_check accepted. */

enum kx_json_type {
    KX_JSON_NULL,
    KX_JSON_FALSE,
    KX_JSON_TRUE,
    KX_JSON_NUMBER,
    KX_JSON_STRING,
    KX_JSON_ARRAY,
    KX_JSON_OBJECT
};
/* Type of the value that starts text (white space in front is allowed). */
enum kx_json_type kx_json_type(struct kx_slice text);
/* The value at an RFC 6901 pointer ("" is the whole), without white space
 * around it. False when there is none. */
bool kx_json_find(struct kx_slice text, struct kx_slice pointer,
                  struct kx_slice *value_out);
/* Walks the members of an object or the elements of an array. It points into
 * the text and owns nothing: it may be copied, and left at any time. */
struct kx_json_iter {
    struct kx_slice rest;
    bool object;
};
/* False when text is neither an object nor an array. */
bool kx_json_iterate(struct kx_slice text, struct kx_json_iter *iter_out);
/* Next member: name is the raw string token with its quotes (empty for array
 * elements), value the raw value. False after the last. */
bool kx_json_next(struct kx_json_iter *iter, struct kx_slice *name_out,
                  struct kx_slice *value_out);
/* Appends the characters of a string token (with its quotes), unescaped, as
 * UTF-8. */
void kx_json_unescape(struct kx_slice token, struct kx_buffer *out);
/* Appends a string token with quotes for UTF-8 text (NUL allowed). */
void kx_json_escape(struct kx_slice utf8, struct kx_buffer *out);
/* Are both texts the same JSON value? Members in any order; numbers compared
 * as doubles; strings by their characters. */
bool kx_json_equal(struct kx_slice a, struct kx_slice b);
/* RFC 7396: appends target patched by patch; what patch does not touch keeps
 * its very bytes. target.size 0 means there is no target. Without memory
 * out->failed is set. */
void kx_json_merge(struct kx_slice target, struct kx_slice patch,
                   struct kx_buffer *out);

/* Is this a JSON Pointer (RFC 6901) of at most KX_POINTER_MAX bytes? "" is. */
bool kx_pointer_valid(struct kx_slice text);
/* Does `other` lead to the same place as pointer, or further? */
bool kx_pointer_covers(struct kx_slice pointer, struct kx_slice other);
/* Appends an object with what is found at the paths (JSON Pointers, at most
 * KX_PROJECTION_MAX, none empty and none covering another), nested as it is in
 * the text. typed: text is in the typed form (below), and so is the result.
 * What is no object, arrays included, has no members; if text is none, {} is
 * appended, and the function false. */
bool kx_json_project(struct kx_slice text, const struct kx_slice *paths,
                     size_t count, bool typed, struct kx_buffer *out);

/* The kv-utils form of a key part that JSON has no form for, as below: appends
 * its encoding. KX_BAD_KEY when the object (checked text) is none. */
enum kx_status kx_key_add_typed(struct kx_buffer *key, struct kx_slice object,
                                struct kx_fault *fault);

/* Number parts as text. A key is an identity: an integer that no double equals
 * would silently become another key, so it is refused: KX_BAD_KEY with
 * fault->inexact. */
enum kx_status kx_key_number_parse(struct kx_slice token, double *number_out,
                                   struct kx_fault *fault);
/* Reads "NaN", "Infinity", "-Infinity" or "-0"; false for other texts. */
bool kx_number_special(struct kx_slice name, double *number_out);
/* The name of a number that JSON cannot carry ("NaN" ...), else NULL. */
const char *kx_number_special_name(double number);
/* base64url without padding, RFC 4648 section 5, appended to out. read: false
 * when text is not canonical; out may then have some bytes more. */
void kx_base64_write(struct kx_slice bytes, struct kx_buffer *out);
bool kx_base64_read(struct kx_slice text, struct kx_buffer *out);

/* ---- Keys in JSON ----------------------------------------------------- */

/* Appends the encoding of a JSON array of parts (checked text): strings,
 * numbers and booleans as such; {"type":"bigint","value":"12"},
 * {"type":"Uint8Array","value":"<base64url>"} and {"type":"number","value":
 * "NaN" | "Infinity" | "-Infinity" | "-0"} as in Deno's kv-utils. An empty
 * array appends nothing. KX_BAD_KEY, also for an integer that a double cannot
 * hold (fault->inexact). */
enum kx_status kx_key_from_json(struct kx_slice json, struct kx_buffer *key,
                                struct kx_fault *fault);
/* Appends the JSON array of an encoded key; what is no key becomes []. */
void kx_key_to_json(struct kx_slice key, struct kx_buffer *json);
/* Appends one part in the same form. */
void kx_part_to_json(const struct kx_part *part, struct kx_buffer *json);

/* ---- Values and entries ---------------------------------------------- */

enum kx_encoding {
    KX_JSON = 1,   /* JSON text */
    KX_V8 = 2,     /* V8 serialisation, as Deno stores it */
    KX_LE64 = 3,   /* KvU64: 8 bytes, little endian */
    KX_BYTES = 4,  /* bytes with a media type */
    KX_POINTER = 5 /* pointer index entry: data is the encoded parts of the
                    * primary key after the index's prefix. Never written by
                    * clients; a client is shown the part, or the array of
                    * parts when there are several. */
};

/* What an entry holds: bytes exactly as they were given, and how to read them.
 */
struct kx_value {
    enum kx_encoding encoding;
    struct kx_slice data;
    struct kx_slice media_type; /* of KX_BYTES, else empty */
};

struct kx_entry {
    struct kx_slice key;
    struct kx_value value;
    uint64_t stamp;        /* versionstamp, see below; never 0 */
    int64_t expires_at_ms; /* Unix time, or 0 for never */
};

/* ---- Values in JSON and in JavaScript -------------------------------- */

/* What JSON cannot carry is shown typed, in the form of Deno's kv-utils:
 * {"type":"Date","value":"2023-04-23T00:00:00.123Z"}. There are the types
 * string, number, boolean, null, undefined, bigint, Date, RegExp, Map, Set,
 * Array, object, Error and its six kinds, ArrayBuffer, DataView, the typed
 * arrays and KvU64; of our own are hole (of an array), the members byteLength,
 * mediaType, maxByteLength (of an ArrayBuffer) and utf16 (of a string with half
 * surrogates), and V8: the bytes of a value that has none of these forms (one
 * that contains itself, a Blob, new Number(1), or is nested too deeply). */

/* Appends a value as JSON. True: it is plain JSON; false: it is typed, or
 * memory ran out (out->failed). What is written passes kx_json_check and is
 * read back as the same value, except for a pointer. */
bool kx_value_to_json(const struct kx_value *value, struct kx_buffer *out);

/* Reads a typed value, which kx_json_check accepted, into the encoding that
 * fits: KX_LE64, KX_BYTES, KX_JSON when JSON can carry it, else KX_V8. The
 * slices lie in buffers made in memory. KX_BAD_VALUE, KX_NO_MEMORY. */
enum kx_status kx_value_from_typed(struct kx_slice json, const void *memory,
                                   struct kx_value *value_out,
                                   struct kx_fault *fault);

/* Can the value be the operand of a sum: a JSON number, a KvU64, a number or a
 * bigint (of at most KX_V8_BIGINT_MAX bytes) of V8? memory: for scratch. */
bool kx_value_is_number(const struct kx_value *value, const void *memory);

/* Is this exactly one value as V8 serializes it (versions 13 to 16), with every
 * length right and nothing behind it? KX_BAD_VALUE says where and why not;
 * KX_NO_MEMORY. memory: a talloc context for scratch. Every value that comes
 * from outside as KX_V8 passes this once. */
enum kx_status kx_v8_check(struct kx_slice bytes, const void *memory,
                           struct kx_fault *fault);

/* Appends the JSON text of a V8 value. KX_OK; KX_ABSENT: JSON cannot carry the
 * value (nothing is appended); KX_BAD_VALUE; KX_NO_MEMORY. */
enum kx_status kx_v8_to_json(struct kx_slice bytes, struct kx_buffer *out);
/* Appends the V8 serialization (version 15) of a text that kx_json_check
 * accepted, byte for byte what JavaScript makes of JSON.parse(text).
 * Without memory out->failed is set. */
void kx_v8_from_json(struct kx_slice json, struct kx_buffer *out);

/* Who reads a V8 value. */
enum kx_v8_reader {
    KX_V8_FOR_ANY, /* Deno, or unknown: typed arrays in V8's own form */
    KX_V8_FOR_NODE /* Node knows its own host objects, such as Buffer */
};

/* A value as a JavaScript program reads it: *value_out is KX_LE64, KX_BYTES, or
 * KX_V8 in a form that Deno and Node both understand, whoever wrote it: JSON
 * and pointers are transcoded, a newer version is made 15, Node's typed arrays
 * and the order of an error's fields are rewritten where the reader does not
 * know them. The slices point into the value or to what was appended to out.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status kx_value_for_js(const struct kx_value *value,
                               enum kx_v8_reader reader, struct kx_buffer *out,
                               struct kx_value *value_out);

/* A versionstamp is 10 bytes: this counter in big endian, then two zero
 * bytes; shown as 20 lower-case hexadecimal digits. It grows by one with each
 * commit of a store and is never repeated or lowered. 0 stands for "absent". */
enum kx_stamp_size { KX_STAMP_BYTES = 10, KX_STAMP_DIGITS = 20 };
/* Writes KX_STAMP_DIGITS digits, no NUL. */
void kx_stamp_text(uint64_t stamp, char *out);
/* Reads exactly KX_STAMP_DIGITS digits; false for anything else. */
bool kx_stamp_parse(struct kx_slice text, uint64_t *stamp_out);

/* ---- Store ----------------------------------------------------------- */

/* Something that waits for a flush: a commit, or a reply that shows entries
 * which are not on disk yet. It lies in the waiter's memory and must stay
 * there, untouched, until it is answered. */
struct kx_ticket {
    void *owner;            /* the waiter's own; not looked at */
    struct kx_ticket *next; /* the core's while waiting; then the next in the
                             * list given to the answer function */
    uint64_t flush;         /* the core's: number of the flush waited for */
    struct kx_watch *watch; /* the core's: where it was registered */
};

/* Called by the writer thread, once for each flush, with the list of all
 * tickets that it settled, in no certain order. From then on tickets and
 * commits are their owners' again. It must only hand them over; it must not
 * block, for all commits wait meanwhile. */
typedef void kx_answer_fn(void *context, struct kx_ticket *first);

/* How to open a store. The struct is copied; the directory's text is not, and
 * must live as long as the store. */
struct kx_options {
    const char *directory; /* made when missing, mode 0700 */
    uint64_t cache_bytes;  /* Berkeley DB cache */
    size_t value_max;      /* bytes of one value */
    uint32_t queue_max;    /* commits that may wait for the writer */
    uint32_t checkpoint_seconds;
    uint32_t checkpoint_bytes; /* of log */
    /* NULL: none. Else a directory to which the log is copied and backups are
     * put, one after each interval, of which as many are kept; a damaged data
     * directory is restored from there. */
    const char *archive;
    int64_t archive_interval_ms;
    uint32_t archive_keep;
    uint64_t disk_floor; /* bytes: with less than this free on the disk
                          * commits are refused (KX_DISK_FULL), and as
                          * much is kept in a file that is given up when
                          * half of it is gone; 0: neither */
    kx_answer_fn *answer;
    void *answer_context;
};
/* Sensible values for everything but directory and answer, which are NULL. */
void kx_options_default(struct kx_options *options);

struct kx_store;
/* Opens or makes a store, recovers it, starts its threads. One process at a
 * time. KX_IN_USE, KX_BAD_DIRECTORY, KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED; the
 * directory is unchanged when it is in use. */
enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault);
/* Refuses new commits, answers those that wait, writes a checkpoint and frees
 * the store. Readers must be closed before, and no other call be running or
 * come later. Returns when all is done. NULL is allowed. */
void kx_close(struct kx_store *store);

/* The store's own name among all stores: a UUID in lower case, made with it and
 * never changed. Valid until kx_close; any thread. */
const char *kx_store_id(const struct kx_store *store);

/* Has the storage failed for good? Then nothing is accepted any more, and the
 * process should end so that opening the store anew can recover it. Any thread.
 */
bool kx_store_failed(const struct kx_store *store);

/* ---- Commits --------------------------------------------------------- */

enum kx_condition {
    KX_IS_ABSENT,  /* there is no such entry */
    KX_IS_PRESENT, /* there is one */
    KX_IS_ONE_OF,  /* it is present with one of the stamps */
    KX_IS_NONE_OF  /* it is absent or has none of the stamps */
};

/* A condition on an entry, as it is before the commit's own mutations. */
struct kx_check {
    struct kx_slice key;
    enum kx_condition condition;
    const uint64_t *stamps; /* of the last two conditions */
    size_t stamp_count;
};

/* Does the check hold for an entry with this stamp (0: absent)? Any thread. */
bool kx_check_holds(const struct kx_check *check, uint64_t stamp);

enum kx_mutation_type {
    KX_SET,
    KX_DELETE,
    KX_SUM, /* KvU64 (wraps), number (JSON or V8) or bigint; a missing key
             * takes the operand */
    KX_MIN,
    KX_MAX,
    KX_PATCH,       /* RFC 7396 on JSON, or on V8 that JSON can carry (the
                     * result is JSON); a missing key takes the patch */
    KX_DELETE_RANGE /* key is the inclusive start, end the exclusive end;
                     * removes the first `limit` entries in order. Must be the
                     * commit's only mutation. */
};

/* One change. Mutations are carried out in order, each on what those before it
 * have left. A key that belongs to an index may be set or deleted only as the
 * index itself will have it after the commit. */
struct kx_mutation {
    enum kx_mutation_type type;
    struct kx_slice key;
    struct kx_value value;
    int64_t expires_at_ms; /* 0: the entry does not expire */
    bool suffix_stamp;     /* of KX_SET: the key gets one more part, the digits
                            * of the commit's versionstamp as a string */
    /* Of KX_SUM with a V8 operand: limits of the result, V8 of its type, or
     * empty; whether a limit then takes its place instead of KX_NUMBER_RANGE.
     */
    struct kx_slice sum_min;
    struct kx_slice sum_max;
    bool sum_clamp;
    struct kx_slice end; /* of KX_DELETE_RANGE */
    size_t limit;
};

/* One failed check: which, and what the entry's stamp is (0: absent). */
struct kx_failed_check {
    size_t check;
    uint64_t actual;
};

/* Why a commit was refused; which members are set depends on the status. What
 * they point to lies in the commit's memory. */
struct kx_refusal {
    struct kx_fault fault;
    struct kx_failed_check *checks; /* KX_CHECK_FAILED */
    size_t check_count;
    size_t mutation;                   /* number of the mutation concerned */
    char index[KX_INDEX_NAME_MAX + 1]; /* KX_UNIQUE_VIOLATION, _OWNED_KEY,
                                        * KX_NOT_INDEXABLE */
    struct kx_slice field; /* KX_NOT_INDEXABLE: JSON Pointer into the entry's
                            * value, empty when it is about the key */
    struct kx_slice index_value;  /* encoded field parts of the index key */
    struct kx_slice existing_key; /* the primary key that has the value */
    struct kx_slice attempted_key;
    bool held;             /* KX_INDEX_OWNED_KEY: the index will hold */
    struct kx_value holds; /* an entry, and this is its value */
};

/* What an index would be, reckoned from a sample of entries. */
struct kx_preview {
    bool exact;         /* all entries were read, and the numbers are counts */
    uint64_t read;      /* sampled entries with the prefix */
    uint64_t sampled;   /* of these: covered */
    uint64_t covered;   /* entries that the index covers */
    uint64_t skipped;   /* of these: without an indexable value */
    uint64_t entries;   /* index entries */
    uint64_t bytes;     /* on disk */
    uint64_t conflicts; /* index entries more than a unique index can have */
    double seconds;     /* to build it */
    struct kx_slice declaration; /* JSON text, all defaults filled in */
    struct kx_slice warnings;    /* JSON array of sentences */
};

enum kx_commit_kind {
    KX_WRITE,          /* checks and mutations */
    KX_DECLARE_INDEX,  /* `declaration`; pace.paused: not to be built yet */
    KX_DROP_INDEX,     /* `index_name` */
    KX_MIGRATE_INDEX,  /* `index_name`; `declaration` is a merge patch */
    KX_UNDO_MIGRATION, /* `index_name` */
    KX_PACE_INDEX,     /* `index_name`, `pace` */
    KX_VERIFY_INDEX,   /* `index_name`, `repair` */
    KX_ADD_TOKEN,      /* `token` */
    KX_REVOKE_TOKEN    /* `token_id`: watches and waits for news are told */
};

struct kx_token;

/* How fast background work on an index may go. Stored with the index. */
struct kx_pace {
    bool sets_paused;
    bool paused; /* not at all */
    bool sets_limit;
    uint32_t per_second; /* so many entries, 0: as fast as it goes */
};

/* When a commit came how far, by kx_monotonic_ns; 0: it did not. */
struct kx_milestones {
    uint64_t submitted_ns;
    uint64_t begun_ns; /* its batch was */
    uint64_t planned_ns;
    uint64_t applied_ns;
    uint64_t flushed_ns;
};

/* A commit lies in the caller's memory, with everything it points to, from
 * kx_submit to its answer. All that the caller does not set must be zero. */
struct kx_commit {
    /* Set by the caller, unchanged until the answer. */
    enum kx_commit_kind kind;
    const struct kx_check *checks;
    size_t check_count;
    const struct kx_mutation *mutations;
    size_t mutation_count;
    bool dry;                    /* find out the result, change nothing */
    struct kx_slice declaration; /* JSON text */
    struct kx_slice index_name;
    struct kx_pace pace;
    bool repair;                  /* of KX_VERIFY_INDEX: mend what is found */
    const struct kx_token *token; /* is copied */
    struct kx_slice token_id;
    void *memory; /* talloc context for results; no other
                   * thread may use it until the answer */
    struct kx_ticket ticket;
    struct kx_commit *next; /* the core's while waiting */
    /* Result. */
    enum kx_status status;
    uint64_t stamp;            /* of the commit, when KX_OK */
    struct kx_refusal refusal; /* otherwise */
    bool created;              /* the first mutation's key was absent, or
                                * the index was not declared before, or
                                * now migrates */
    struct kx_milestones times;
    size_t deleted;             /* KX_DELETE_RANGE: entries removed */
    bool more;                  /* and some are left */
    struct kx_preview *preview; /* of a dry KX_DECLARE_INDEX, in memory */
};

/* Hands a commit to the writer; never blocks on the disk. Any thread. KX_OK:
 * the answer function will be called with its ticket, once, when its result is
 * set and durable; commits of one thread are carried out in the order of their
 * submission. KX_BUSY (too many wait), KX_STOPPING, KX_DISK_FULL, KX_FAILED: it
 * was not taken and will not be answered. */
enum kx_status kx_submit(struct kx_store *store, struct kx_commit *commit);

/* The same for a thread that has nothing else to do: when the writer is idle
 * the calling thread carries the commit out itself, flush included, and the
 * answer function is called before this returns. Saves waking two threads,
 * which takes as long as the flush. */
enum kx_status kx_submit_alone(struct kx_store *store,
                               struct kx_commit *commit);

/* ---- Reads ----------------------------------------------------------- */

/* Reads of one thread. Between begin and end all calls see one state of the
 * store, and commits wait: keep it to a few milliseconds. open: KX_OK,
 * KX_NO_MEMORY. close: not inside a view; NULL is allowed. */
struct kx_reader;
enum kx_status kx_reader_open(struct kx_store *store,
                              struct kx_reader **reader_out);
void kx_reader_close(struct kx_reader *reader);

/* What a reader has read. */
struct kx_reads {
    uint64_t entries; /* rows looked at, those of indexes included */
    uint64_t bytes;   /* of them, as they are stored */
    char index[KX_INDEX_NAME_MAX + 1]; /* looked into last, or "" */
};
/* From now on what is read is added to *reads, which must stay where it is
 * until the next call; NULL: to nothing of the caller's. */
void kx_reader_count(struct kx_reader *reader, struct kx_reads *reads);

/* Begins a view. May wait a moment for a batch that is being applied, never for
 * the disk's flush. One view per thread at a time. */
void kx_read_begin(struct kx_reader *reader);
/* Ends the view, and a scan in it. Returns 0 when everything seen is on disk,
 * else the number of the flush after which it is: the reply must be kept back
 * until then (kx_wait), since a crash could still take back what it shows. */
uint64_t kx_read_end(struct kx_reader *reader);

/* The entry with this key: KX_OK, KX_ABSENT (of the key without parts always),
 * KX_INDEX_NOT_READY (fault says which index), KX_FAILED, KX_NO_MEMORY. The
 * entry's slices lie in `record`, whose former contents are replaced. */
enum kx_status kx_read(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault);

struct kx_range {
    struct kx_slice start; /* inclusive */
    struct kx_slice end;   /* exclusive */
    struct kx_slice after; /* only what comes behind this in the direction of
                            * the scan: a kx_scan_position, of a scan of any
                            * time; empty: all */
    bool reverse;          /* last to first; the bounds keep their meaning */
    bool yields;           /* kx_scan_next may give up for now: KX_AGAIN */
    bool keys_only;        /* values may be left empty */
    /* JSON Pointers: only these members of the values are needed. An index that
     * holds them is not followed; whatever else the values have may be missing.
     * None: all. They must live until the end of the scan. */
    const struct kx_slice *fields;
    size_t field_count;
    bool count_only; /* all of an entry but its being there may be left
                      * undefined */
};

/* Begins a scan; a reader has at most one. KX_OK, KX_INDEX_NOT_READY when the
 * range lies within the entries of such an index, KX_FAILED. */
enum kx_status kx_scan(struct kx_reader *reader, const struct kx_range *range,
                       struct kx_fault *fault);
/* Begins a scan of an index: start and end are relative to the index's name
 * (encoded parts after it, as kx_index_fold makes them; an empty end means no
 * upper bound); entries come in index order, each with the key, value and stamp
 * of the entry that the index points to. Also KX_INDEX_ABSENT. */
enum kx_status kx_scan_index(struct kx_reader *reader, struct kx_slice name,
                             const struct kx_range *range,
                             struct kx_fault *fault);
/* Next entry, valid until the next call on the reader: KX_OK, KX_END,
 * KX_FAILED. kx_scan_position is then the key to resume after. KX_AGAIN, for a
 * range that yields: many rows were passed over that nobody is to see (expired
 * ones, those of a dropped index). Call again, or end the view and go on behind
 * kx_scan_position in another one, so that others have their turn. */
enum kx_status kx_scan_next(struct kx_reader *reader,
                            struct kx_entry *entry_out);
/* The key in scan order of the entry given last: its own key, or the index
 * entry's key without the name. Valid until the next call on the reader. */
struct kx_slice kx_scan_position(struct kx_reader *reader);
/* Ends the scan; the end of the view does so, too. */
void kx_scan_end(struct kx_reader *reader);

/* Registers a ticket for a flush number given by kx_read_end. KX_OK: the answer
 * function will be called with it. KX_END: that flush is done already, and the
 * ticket is not taken. KX_FAILED: the storage has failed, and what was seen may
 * never be on disk: it must not be shown. After an answer, too, ask
 * kx_store_failed. */
enum kx_status kx_wait(struct kx_store *store, uint64_t flush,
                       struct kx_ticket *ticket);

/* ---- Indexes --------------------------------------------------------- */

enum kx_index_state {
    KX_INDEX_BUILDING,
    KX_INDEX_READY,
    KX_INDEX_CONFLICTED,
    KX_INDEX_MIGRATING,
    KX_INDEX_DROPPING,
    KX_INDEX_FAILED
};
/* The state's name in JSON, such as "building". */
const char *kx_index_state_text(enum kx_index_state state);

/* What becomes of the entries that clients have kept under the name of an index
 * which is declared to adopt them. */
enum kx_adopted {
    KX_KEPT,    /* right: it keeps its versionstamp */
    KX_MENDED,  /* it said something else than the index */
    KX_ADDED,   /* it was missing */
    KX_REMOVED, /* no entry has such an index entry */
    KX_ADOPTED_KINDS
};
/* The name in JSON, such as "kept". */
const char *kx_adopted_text(enum kx_adopted kind);

struct kx_sample {
    uint8_t key[KX_SAMPLE_KEY_MAX];
    size_t size;
};

/* All zero: the index adopts nothing. */
struct kx_adoption {
    bool asked;
    bool gathered; /* all entries have been indexed: what is left is removed */
    bool done;
    uint64_t counts[KX_ADOPTED_KINDS];
    struct kx_sample samples[KX_ADOPTED_KINDS][KX_SAMPLES_MAX];
    size_t sample_counts[KX_ADOPTED_KINDS];
};

/* What a verification finds. */
enum kx_damage {
    KX_MISSING,  /* an entry has no index entry, or another entry has its one */
    KX_DANGLING, /* an index entry leads to no entry */
    KX_STALE,    /* an index entry says something else than its entry */
    KX_DUPLICATE, /* two entries have one value of a unique index */
    KX_DAMAGES
};
/* The name in JSON, such as "missing". */
const char *kx_damage_text(enum kx_damage damage);

/* One place: the key of the index entry, and that of the entry concerned, which
 * may be empty. Keys that are too long are left out. */
struct kx_damaged {
    struct kx_sample index_key;
    struct kx_sample key;
};

/* A comparison of an index with the entries, in both directions. */
struct kx_verification {
    bool running;
    bool repair;    /* what is found is mended */
    bool back;      /* index entries are compared with entries first, then the
                     * entries with index entries */
    uint64_t done;  /* of both, looked at */
    uint64_t total; /* estimated */
    uint64_t counts[KX_DAMAGES];
    struct kx_damaged samples[KX_DAMAGES][KX_SAMPLES_MAX];
    size_t sample_counts[KX_DAMAGES];
    uint64_t mended;
    int64_t started_at_ms;
    int64_t ended_at_ms; /* 0: not yet */
};

struct kx_index_info {
    struct kx_slice name;
    struct kx_slice declaration; /* JSON text, all defaults filled in */
    enum kx_index_state state;
    bool unique;
    struct kx_slice prefix; /* encoded parts */
    size_t field_count;
    /* While it migrates (target is not empty) it is what `declaration` says,
     * and becomes what `target` (JSON text) says when `migration` is over:
     * building, conflicted or failed. */
    struct kx_slice target;
    enum kx_index_state migration;
    /* Progress of a build or a migration. total is an estimate until it is
     * done. */
    uint64_t done;
    uint64_t total;
    uint64_t skipped; /* entries without an indexable value */
    struct kx_slice samples[KX_SAMPLES_MAX]; /* keys of some of these */
    size_t sample_count;
    bool paused;
    uint32_t per_second_max; /* entries; 0: no limit */
    int64_t started_at_ms;
    double per_second;
    bool resumed;                /* after a restart */
    char failure[KX_DETAIL_MAX]; /* of a failed build */
    uint64_t entries;            /* index entries, estimated */
    uint64_t conflicts; /* entries whose unique value another one has */
    /* How much it is used, counted since since_ms: when the store was opened,
     * or the index declared. */
    int64_t since_ms;
    uint64_t reads;       /* scans and look-ups, also of the index entries
                           * themselves */
    int64_t last_read_ms; /* 0: not since then */
    uint64_t writes;      /* index entries that commits put or removed */
    const struct kx_adoption *adoption; /* valid until the end of the view */
    /* The last one, or NULL; valid until the end of the view. */
    const struct kx_verification *verification;
};

/* What a declaration with `adopt` would do to the entries under its name, found
 * out without doing it. kx_rehearse: in talloc context mem; as
 * declaring: KX_BAD_INDEX and so on, KX_NO_MEMORY. next, within a view: looks
 * at about `limit` more entries; KX_OK: there are more, KX_END: that was all,
 * errors of the storage. result: as far as it has come; it belongs to the
 * rehearsal; `done` is false when there were too many entries to tell. One
 * thread. */
struct kx_rehearsal;
enum kx_status kx_rehearse(void *mem, struct kx_slice declaration,
                           struct kx_rehearsal **rehearsal_out,
                           struct kx_fault *fault);
enum kx_status kx_rehearse_next(struct kx_rehearsal *rehearsal,
                                struct kx_reader *reader, size_t limit);
const struct kx_adoption *
kx_rehearsal_result(const struct kx_rehearsal *rehearsal);

/* Where the entries of an index that is declared so would lie, and those that
 * it is made from: its name as an encoded key part, and encoded parts; in
 * talloc context mem. As declaring: KX_OK, KX_BAD_INDEX and so on. */
enum kx_status kx_declaration_keys(void *mem, struct kx_slice declaration,
                                   struct kx_slice *name_key_out,
                                   struct kx_slice *prefix_out);

/* Between begin and end. The strings are valid until the end of the view.
 * KX_OK or KX_INDEX_ABSENT. */
enum kx_status kx_index_find(struct kx_reader *reader, struct kx_slice name,
                             struct kx_index_info *info_out);
/* The n-th index in name order; KX_END after the last. */
enum kx_status kx_index_at(struct kx_reader *reader, size_t n,
                           struct kx_index_info *info_out);
/* Bytes of the keys and values of its entries, estimated from some of them.
 * Between begin and end; ends a scan. KX_OK, KX_INDEX_ABSENT, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status kx_index_bytes(struct kx_reader *reader, struct kx_slice name,
                              uint64_t *bytes_out);

struct kx_estimate {
    uint64_t rows; /* entries that a scan of the range would read */
    bool exact;    /* counted, not estimated: they are few */
};
/* How much is in a range, of an index (start and end as for kx_scan_index) or,
 * with an empty name, of the store. Between begin and end; ends a scan. KX_OK,
 * KX_INDEX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
enum kx_status kx_estimate(struct kx_reader *reader, struct kx_slice index,
                           const struct kx_range *range,
                           struct kx_estimate *estimate_out,
                           struct kx_fault *fault);

/* Replaces out by encoded parts as the entries of an index have them: text is
 * folded as its fields declare, what is folded already stays. For bounds of
 * scans. Not while one is open. KX_OK, KX_INDEX_ABSENT, KX_BAD_KEY,
 * KX_NO_MEMORY. */
enum kx_status kx_index_fold(struct kx_reader *reader, struct kx_slice name,
                             struct kx_slice parts, struct kx_buffer *out);
struct kx_lookup {
    struct kx_slice index;
    struct kx_slice value;         /* encoded parts after the index's name */
    const struct kx_slice *fields; /* as in struct kx_range */
    size_t field_count;
};
/* The entry that a unique index points to from a value: as kx_read;
 * KX_INDEX_NOT_UNIQUE, KX_INDEX_ABSENT, KX_INDEX_NOT_READY. The entry is valid
 * until the next call on the reader. */
enum kx_status kx_index_get(struct kx_reader *reader,
                            const struct kx_lookup *lookup,
                            struct kx_entry *entry_out, struct kx_fault *fault);

/* One of several entries with the same value in a unique index. */
struct kx_conflict {
    struct kx_slice value; /* encoded parts after the index's name */
    struct kx_slice key;   /* of the entry */
    bool first;            /* of its group */
};

/* Begins a list of all groups of such entries, in the order of their values;
 * ends a scan. `after`: goes on behind this kx_conflict_position, with an entry
 * that is the first of its group only if the group is new. KX_OK,
 * KX_INDEX_ABSENT, KX_NO_MEMORY, KX_FAILED. kx_scan_end ends it. */
enum kx_status kx_conflicts(struct kx_reader *reader, struct kx_slice name,
                            struct kx_slice after, struct kx_fault *fault);
/* The next entry, valid until the next call on the reader: KX_OK, KX_END,
 * KX_NO_MEMORY, KX_FAILED. Behind the first of a group comes a second. */
enum kx_status kx_conflict_next(struct kx_reader *reader,
                                struct kx_conflict *conflict_out);
/* What to go on behind, after an entry that is not the first of its group.
 * Valid until the next call on the reader. */
struct kx_slice kx_conflict_position(struct kx_reader *reader);

/* How many times it was told that something about an index has changed: its
 * state, the progress of its build, its pace. Ask before you look. Any
 * thread. */
uint64_t kx_news(struct kx_store *store);
/* Registers a ticket for the next change after `seen` (from kx_news). KX_OK:
 * the answer function will be called with it, not more than some times a
 * second. KX_END: there is one already, and the ticket is not taken. Any
 * thread. */
enum kx_status kx_news_wait(struct kx_store *store, uint64_t seen,
                            struct kx_ticket *ticket);
/* Takes a ticket back: it is not answered any more. False: it is answered or
 * just about to be. All must be back before kx_close. Any thread. */
bool kx_news_cancel(struct kx_store *store, struct kx_ticket *ticket);

/* ---- Watches --------------------------------------------------------- */

/* Waiting until some entries may have changed: until one was written, removed
 * or has expired, or an index, whose entries they may be, can be read or no
 * longer. A watch says that there is a change, not which: whoever is told reads
 * the keys in one view and compares versionstamps with what it has seen. So
 * many commits are one change for who is slow, and nothing is kept for it. */
struct kx_watch;

/* Watches the keys from now on; they are copied. The watch belongs to memory (a
 * talloc context) and is closed when that is freed. KX_OK, KX_NO_MEMORY. Any
 * thread, as all of these; one watch is used by one thread at a time, and gone
 * before kx_close. */
enum kx_status kx_watch_open(struct kx_store *store,
                             const struct kx_slice *keys, size_t count,
                             const void *memory, struct kx_watch **watch_out);
/* Closes it before its memory is freed. No ticket may be registered. */
void kx_watch_close(struct kx_watch *watch);
/* Registers a ticket for the next change after the last call (or since the
 * watch was opened). KX_OK: the answer function will be called with it, when
 * what has changed is on disk. KX_END: there is a change already, and the
 * ticket is not taken: read, and call again. At most one ticket at a time. */
enum kx_status kx_watch_wait(struct kx_watch *watch, struct kx_ticket *ticket);
/* Takes a ticket back: it is not answered any more. False: it is answered or
 * just about to be. */
bool kx_watch_cancel(struct kx_store *store, struct kx_ticket *ticket);

/* ---- Explanations ---------------------------------------------------- */

/* What is asked of entries, as a client writes it: {"prefix":["users"],
 * "where":[{"path":"/email","eq":"x"}],"order":["/age"],"reverse":true,
 * "fields":["/name"]}. */
struct kx_question;
/* Reads one into talloc context memory: KX_OK, KX_BAD_JSON, KX_JSON_TOO_DEEP,
 * KX_BAD_INDEX with pointer and detail, KX_NO_MEMORY. */
enum kx_status kx_question_read(void *memory, struct kx_slice text,
                                struct kx_question **question_out,
                                struct kx_fault *fault);
/* The encoded parts that the keys it asks for begin with. */
struct kx_slice kx_question_prefix(const struct kx_question *question);
/* The members it asks for, JSON Pointers; 0: whole values. */
size_t kx_question_fields(const struct kx_question *question,
                          const struct kx_slice **fields_out);
/* The number of its conditions, and the n-th appended as JSON. */
size_t kx_question_conditions(const struct kx_question *question);
void kx_question_condition(const struct kx_question *question, size_t n,
                           struct kx_buffer *out);

/* Why an index does not answer a question. */
enum kx_misfit {
    KX_MISFIT_NOT_READY,
    KX_MISFIT_OTHER_PREFIX,
    KX_MISFIT_COVERS_MORE, /* the index's prefix begins the one asked for */
    KX_MISFIT_COVERS_LESS, /* and the other way round */
    KX_MISFIT_OTHER_DEPTH,
    KX_MISFIT_PARTIAL,    /* its own conditions leave out what is asked for */
    KX_MISFIT_LEAVES_OUT, /* it has no entries without one of its fields */
    KX_MISFIT_REPEATS,    /* it has an entry for each element of an array */
    KX_MISFIT_FOLDS,      /* a field is folded in another way */
    KX_MISFIT_UNUSED,     /* nothing is asked of its first field */
    KX_MISFIT_CONDITIONS, /* its order does not answer all conditions */
    KX_MISFIT_ORDER,
    KX_MISFIT_COUNT /* of them; none itself */
};
/* The code of a misfit in JSON, such as "other-order", and a sentence for it.
 */
const char *kx_misfit_code(enum kx_misfit misfit);
const char *kx_misfit_text(enum kx_misfit misfit);

/* How an index answers a question. The slices lie in the question's memory. */
struct kx_fit {
    struct kx_slice index; /* its name; empty: the entries themselves */
    unsigned misfits;      /* a bit for each; 0: it answers it */
    uint32_t left; /* conditions, by number, that the client has to check */
    /* Encoded parts for a scan, not folded; empty where there is none. The
     * bounds begin with the prefix. */
    struct kx_slice prefix;
    struct kx_slice start;
    struct kx_slice end;
    bool reverse;
    bool followed; /* the entry is read for each entry of the index */
};
/* The fit of the n-th index in name order, inside a view: KX_OK, KX_END after
 * the last, KX_NO_MEMORY. */
enum kx_status kx_fit_at(struct kx_reader *reader, struct kx_question *question,
                         size_t n, struct kx_fit *fit_out);
/* The fit of the entries themselves. KX_OK, KX_NO_MEMORY. */
enum kx_status kx_fit_entries(struct kx_question *question,
                              struct kx_fit *fit_out);
/* Appends the declaration of an index that would answer the question, with a
 * name that is free, inside a view. KX_OK; KX_ABSENT: there is none;
 * KX_NO_MEMORY. */
enum kx_status kx_advise(struct kx_reader *reader,
                         const struct kx_question *question,
                         struct kx_buffer *out);

/* ---- Backups --------------------------------------------------------- */

/* A backup of the open store, made while it is read and written: all that was
 * committed before its beginning is in it, and perhaps some that came later; it
 * is one state of the store. In bytes it is a tar archive compressed with zstd,
 * whose member SHA256SUMS has the checksums of all others. */
struct kx_backup;

/* Begins one, under talloc context memory; freeing that ends it. Until then no
 * log file is removed, so it should come to its end. KX_OK, KX_BUSY: there are
 * KX_BACKUPS_MAX; KX_NO_MEMORY. One thread; before kx_close. */
enum kx_status kx_backup_begin(struct kx_store *store, void *memory,
                               struct kx_backup **backup_out,
                               struct kx_fault *fault);
/* Appends the next bytes, if any are ready, to out, after at most some 64 KiB
 * of work: KX_OK: there is more; KX_END: that was the last; KX_NO_MEMORY,
 * KX_DAMAGED, KX_FAILED: it cannot be completed. */
enum kx_status kx_backup_next(struct kx_backup *backup, struct kx_buffer *out);

/* About how many bytes it has before they are compressed. */
uint64_t kx_backup_size(const struct kx_backup *backup);

/* Looks whether the bytes of a backup are complete and unchanged, as they
 * come. */
struct kx_backup_check;
/* Begins under talloc context memory; NULL: no memory. */
struct kx_backup_check *kx_backup_check_begin(void *memory);
/* More bytes: KX_OK, KX_BAD_ARCHIVE, KX_NO_MEMORY. */
enum kx_status kx_backup_check_add(struct kx_backup_check *check,
                                   struct kx_slice bytes,
                                   struct kx_fault *fault);
/* How many there were by now, expanded. */
uint64_t kx_backup_check_bytes(const struct kx_backup_check *check);
/* That was all: KX_OK or KX_BAD_ARCHIVE. */
enum kx_status kx_backup_check_end(struct kx_backup_check *check,
                                   struct kx_fault *fault);

/* What is restored from where. */
struct kx_restore {
    const char *source;    /* a backup, or the directory of an archive */
    const char *directory; /* empty, or made */
    /* Of an archive: the last state with no later versionstamp, or time. 0: as
     * far as it goes. */
    uint64_t to_stamp;
    int64_t to_ms;
    /* NULL, or called now and then with how many bytes of the backup are
     * read. */
    void (*progress)(void *context, uint64_t done, uint64_t whole);
    void *context;
    /* Result: the last versionstamp that is in it, and, when it is from an
     * archive and is known, when that was. */
    uint64_t stamp;
    int64_t at_ms;
};
/* Makes a data directory from a backup or an archive: looks at every checksum,
 * replays the log, and raises the versionstamp above all that may have been
 * given. KX_OK; KX_BAD_DIRECTORY: it is not empty, and stays as it is;
 * KX_BAD_ARCHIVE, KX_DAMAGED, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED: what is
 * there can not be opened, and should be removed. */
enum kx_status kx_restore(struct kx_restore *restore, struct kx_fault *fault);

/* ---- Tokens ---------------------------------------------------------- */

/* What can be granted. The core keeps tokens and compares prefixes; what a
 * scope allows is for those to say who let somebody in. */
enum kx_scope {
    KX_MAY_READ = 1 << 0,
    KX_MAY_WRITE = 1 << 1,
    KX_MAY_LIST = 1 << 2,
    KX_MAY_WATCH = 1 << 3,
    KX_MAY_INDEX = 1 << 4,
    KX_MAY_ADMIN = 1 << 5,
    KX_MAY_MONITOR = 1 << 6,
    KX_MAY_ALL = (1 << 7) - 1
};
/* The name of one scope, such as "read", and the scope of a name; 0: none. */
const char *kx_scope_name(enum kx_scope scope);
unsigned kx_scope_find(struct kx_slice name);

struct kx_grant {
    unsigned scopes;        /* a set of enum kx_scope */
    struct kx_slice prefix; /* encoded parts; empty: of all keys */
};

/* Do all keys from start (inclusive) to end (exclusive) begin with the parts of
 * the prefix, or are them? An empty end stands for the key `start` alone. */
bool kx_prefix_covers(struct kx_slice prefix, struct kx_slice start,
                      struct kx_slice end);

enum { KX_TOKEN_ID_SIZE = 16, KX_TOKEN_DIGEST_SIZE = 32, KX_TOKEN_USES = 2 };

/* A token as it is kept. But for the last two members it never changes. */
struct kx_token {
    char id[KX_TOKEN_ID_SIZE + 1];        /* hexadecimal digits */
    uint8_t digest[KX_TOKEN_DIGEST_SIZE]; /* of its secret, which is not kept */
    bool fixed; /* by kx_token_fix: nowhere stored, not to be revoked */
    struct kx_slice name;
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0: never */
    const struct kx_grant *grants;
    size_t grant_count;
    atomic_bool revoked;
    /* Whoever uses the token counts here; 0 at first. */
    atomic_uint_fast64_t uses[KX_TOKEN_USES];
};

/* Has it a grant of the scope for all keys? */
bool kx_token_is_whole(const struct kx_token *token, enum kx_scope scope);

/* Are there any? Any thread, as all of these. */
bool kx_tokens_any(const struct kx_store *store);
/* The token with this id, or the n-th in the order of ids; NULL when there is
 * none. It stays until it is given back by kx_token_release (NULL is allowed),
 * also when it is revoked meanwhile. */
struct kx_token *kx_token_find(struct kx_store *store, struct kx_slice id);
struct kx_token *kx_token_at(struct kx_store *store, size_t n);
void kx_token_release(struct kx_token *token);
/* Takes a copy of a token for as long as the store is open, in the place of a
 * stored one with the same id. KX_OK, KX_TOO_MANY_TOKENS, KX_NO_MEMORY. */
enum kx_status kx_token_fix(struct kx_store *store,
                            const struct kx_token *token);

/* ---- Figures --------------------------------------------------------- */

/* How often something took how much: counts in buckets with fixed upper bounds.
 * All zero is an empty one. It is added to by any thread while others read. */
enum { KX_BUCKETS = 20 };
struct kx_histogram {
    _Atomic uint64_t counts[KX_BUCKETS]; /* each of its bucket alone */
    _Atomic uint64_t sum;
};
enum kx_scale {
    KX_TIMES, /* nanoseconds, from 10 us to 10 s */
    KX_SIZES  /* 1, 2, 4 and so on to 4096 */
};
/* Counts a value. Any thread. */
void kx_histogram_add(struct kx_histogram *histogram, enum kx_scale scale,
                      uint64_t value);
/* The inclusive upper bound of a bucket; UINT64_MAX for the last one in use. */
uint64_t kx_bucket_bound(enum kx_scale scale, size_t bucket);

struct kx_figures {
    uint64_t watches;                   /* open now */
    uint64_t outcomes[KX_STATUS_COUNT]; /* commits by how they ended */
    uint64_t flushes;
    uint64_t batch_max;  /* most commits in one flush */
    uint64_t queued;     /* commits waiting now */
    uint64_t queue_max;  /* of them: how many may */
    uint64_t entries;    /* of clients, without those of indexes */
    uint64_t expired;    /* entries removed because their time was over */
    uint64_t backfilled; /* entries read to build indexes */
    uint64_t resolved;   /* entries read because an index points to them */
    uint64_t checkpoints;
    uint64_t checkpoint_age_s; /* seconds since the last one */
    uint64_t packings;         /* times that half-empty pages were packed */
    uint64_t backup_s;         /* Unix time of the last backup that is whole;
                                * 0: there was none */
    uint64_t archive_s;        /* when the log was last archived; 0: not since
                                * the store was opened */
    uint64_t record_cache_hits;
    uint64_t record_cache_misses;
    uint64_t page_cache_hits;
    uint64_t page_cache_misses;
    uint64_t page_cache_bytes;
    uint64_t page_cache_dirty; /* pages that only the log has on disk */
    uint64_t pages_written;
    uint64_t pages_evicted;
    uint64_t log_files;
    uint64_t log_bytes;
    uint64_t entries_bytes; /* of the files: entries with those of indexes, */
    uint64_t expiry_bytes;  /* what expires when, */
    uint64_t catalog_bytes; /* declarations */
    uint64_t disk_free;     /* bytes */
    uint64_t disk_full;     /* 1: so few are free that nothing is written */
    uint64_t stamp;         /* last versionstamp */
    /* Of the store, valid until it is closed. */
    const struct kx_histogram *commit_times; /* submitted to stored */
    const struct kx_histogram *flush_times;
    const struct kx_histogram *batch_sizes; /* commits planned together */
};
/* Counters since the store was opened. Any thread. */
void kx_figures(struct kx_store *store, struct kx_figures *figures_out);

/* ---- Time and log ---------------------------------------------------- */

/* Unix time in milliseconds; tests can set it (0 gives the real clock back). */
int64_t kx_now_ms(void);
void kx_clock_set(int64_t now_ms);
/* Nanoseconds from an arbitrary point, never going back. */
uint64_t kx_monotonic_ns(void);

enum kx_log_level { KX_LOG_ERROR, KX_LOG_WARNING, KX_LOG_INFO, KX_LOG_DEBUG };
/* One logfmt line to standard error: level, event, then the fields given as a
 * printf format that already is logfmt ("port=%d"). Any thread. */
void kx_log(enum kx_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void kx_log_level(enum kx_log_level most);

#endif
