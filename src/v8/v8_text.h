/* Conversion of V8 values to JSON text. A form of that text (plain JSON, typed
 * JSON, the fields of an index) is a table with a function for each kind of
 * token; this file has the parts that the forms share. */
#ifndef V8_TEXT_H
#define V8_TEXT_H

#include "v8/v8_reader.h"

/* The state of a conversion. */
struct v8_text {
    struct v8_reader reader;
    struct v8_token token; /* the current token */
    struct kx_buffer *out;
    size_t start;    /* position of the text in out */
    unsigned levels; /* arrays and objects open in the text */
    bool changed;    /* some part was not written exactly */
    size_t name_at;  /* position of the last member's name */
    bool tried; /* v8_text_try_enter was used: the members below are valid */
    bool abandoned;
    size_t entered_at; /* position of the outermost reference's text */
    unsigned entered_levels;
    struct kx_buffer scratch;
};

/* Writes the current token. False if the form cannot express it. */
typedef bool v8_write_fn(struct v8_text *text);

/* Appends a value to out. KX_OK; KX_ABSENT: the form cannot express the value,
 * or references make the text much longer than 32 times its bytes;
 * KX_BAD_VALUE, also if references take too many steps; KX_NO_MEMORY. On errors
 * nothing is appended. *changed_out (changed_out may be NULL): a function of
 * the form set `changed`, or a reference was replaced by null. */
enum kx_status v8_text_write(struct kx_slice bytes, v8_write_fn *const *form,
                             struct kx_buffer *out, bool *changed_out);

/* Appends brackets that open or close `levels` levels. v8_text_open returns
 * false if the text becomes deeper than KX_JSON_DEPTH_MAX. */
bool v8_text_open(struct v8_text *text, const char *brackets, unsigned levels);
bool v8_text_close(struct v8_text *text, const char *brackets, unsigned levels);

/* Appends a comma, except at the start of the text and after '[', '{' and
 * ':'. */
void v8_text_comma(struct v8_text *text);

/* Appends the comma before the current token if it is an element. */
void v8_text_begin(struct v8_text *text);
/* The same, followed by null. */
void v8_text_null(struct v8_text *text);

/* Appends a JSON string. False if the string has a lone surrogate, which is
 * written as U+FFFD. */
bool v8_text_string(struct v8_text *text, const struct v8_string *string);

/* Appends the token as a member's name, with comma and colon. False as for
 * v8_text_string. */
bool v8_text_name(struct v8_text *text);

/* The name of an element in a V8_SPARSE array, which is its index: appends
 * `hole` for each missing element before it, and the comma. False if the name
 * is not an index, is out of order, or follows too many holes. With hole NULL,
 * false if any element is missing. */
bool v8_text_index(struct v8_text *text, const char *hole);
/* After the V8_END of a V8_SPARSE array: the same for missing elements after
 * the last. */
bool v8_text_last(struct v8_text *text, const char *hole);

/* Appends a double as a JSON number. False, appending nothing, for -0, NaN and
 * infinities. */
bool v8_text_number(struct v8_text *text, double number);

/* Continues with the object that the token refers to. */
bool v8_text_enter(struct v8_text *text);
/* The same, but if the text becomes too long, null replaces the object, and
 * later calls return false. False also if the reference cannot be followed. */
bool v8_text_try_enter(struct v8_text *text);

#endif
