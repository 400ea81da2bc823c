/* V8 values as text: what the two forms, plain JSON and typed JSON, have in
 * common. A form is a table of functions, one for each kind of token. */
#ifndef V8_TEXT_H
#define V8_TEXT_H

#include "v8/v8_reader.h"

/* A conversion under way. */
struct v8_text {
    struct v8_reader reader;
    struct v8_token token; /* the present one */
    struct kx_buffer *out;
    size_t start;    /* of the text in out */
    unsigned levels; /* arrays and objects that are open in the text */
    bool changed;    /* something could not be written as it is */
    size_t name_at;  /* where the last member's name begins */
    bool tried;      /* with v8_text_try_enter: what follows holds */
    bool abandoned;
    size_t entered_at; /* where the text of the outermost reference begins */
    unsigned entered_levels;
    struct kx_buffer scratch;
};

/* Writes the present token. False when the form has no way to write it. */
typedef bool v8_write_fn(struct v8_text *text);

/* Appends a value to out. KX_OK; KX_ABSENT, with nothing appended: it has no
 * such text, or one that references make much longer than 32 times its bytes;
 * KX_BAD_VALUE, also when they would make it endless; KX_NO_MEMORY. changed_out
 * (NULL is allowed): did a function of the form say that it changed something?
 */
enum kx_status v8_text_write(struct kx_slice bytes, v8_write_fn *const *form,
                             struct kx_buffer *out, bool *changed_out);

/* Opens or closes brackets; `levels` of them. False when the text would be
 * deeper than KX_JSON_DEPTH_MAX. */
bool v8_text_open(struct v8_text *text, const char *brackets, unsigned levels);
bool v8_text_close(struct v8_text *text, const char *brackets, unsigned levels);

/* Appends a comma unless something was opened last. */
void v8_text_comma(struct v8_text *text);

/* Appends what goes in front of the present token in its place. */
void v8_text_begin(struct v8_text *text);
/* The same, and null. */
void v8_text_null(struct v8_text *text);

/* Appends a JSON string. False when the string has half a surrogate pair, for
 * which U+FFFD is then written. */
bool v8_text_string(struct v8_text *text, const struct v8_string *string);

/* Appends a member's name from the token, with comma and colon. False as
 * v8_text_string. */
bool v8_text_name(struct v8_text *text);

/* The name of an element in a V8_SPARSE array, its index: goes to its place,
 * writing `hole` for each element that is missing before it, and appends the
 * comma. False when it is no index, out of order, or far behind the others; a
 * hole of NULL: when any is missing. */
bool v8_text_index(struct v8_text *text, const char *hole);
/* After the V8_END of a V8_SPARSE array: the same for those behind the last. */
bool v8_text_last(struct v8_text *text, const char *hole);

/* Appends a double as JSON; false, appending nothing, for what JSON has no
 * number for: -0, NaN and the infinite ones. */
bool v8_text_number(struct v8_text *text, double number);

/* Goes on with the object that the token refers to. */
bool v8_text_enter(struct v8_text *text);
/* The same, but where that makes the text too long, null is written instead,
 * and for each reference behind it. False: it cannot be followed. */
bool v8_text_try_enter(struct v8_text *text);

#endif
