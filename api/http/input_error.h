/* The first error that a parser found in a request. Parsers do not touch the
 * reply, so they can be tested alone; the handler makes the error a problem. By
 * convention a parser returns false after setting the error; its results are
 * then undefined. */
#ifndef API_INPUT_ERROR_H
#define API_INPUT_ERROR_H

#include "http/problem.h"

enum { INPUT_ERROR_POINTER_MAX = 192, INPUT_ERROR_ALLOWED_MAX = 320 };

struct input_error {
    enum problem_code code;
    char detail[KX_DETAIL_MAX];
    char pointer[INPUT_ERROR_POINTER_MAX]; /* JSON Pointer into the body, or ""
                                            */
    char allowed[INPUT_ERROR_ALLOWED_MAX]; /* quoted names with commas, or "" */
    struct kx_slice parameter;             /* the query parameter, or empty */
    const char *suggestion; /* the name probably meant, or NULL */
    size_t suggestion_distance;
    size_t line; /* of the first wrong character of a JSON text, or 0 */
    size_t column;
    size_t offset;
};

/* All functions that set an error return false, so that a parser can return
 * their result.
 *
 * Sets the error, with all optional members empty. A long detail is truncated.
 * The struct need not be initialized. */
bool input_error_set(struct input_error *error, enum problem_code code,
                     const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory ran out: becomes 503, because the request is not at fault. */
bool input_error_no_memory(struct input_error *error);

/* Sets the error to a fault of the store: its detail, its pointer, and the
 * problem code for its status. */
bool input_error_fault(struct input_error *error, const struct kx_fault *fault);

/* A fault in conditions outside a declaration: KX_BAD_INDEX, by which the store
 * reports them, becomes PROBLEM_BAD_REQUEST. */
bool input_error_condition(struct input_error *error,
                           const struct kx_fault *fault);

/* A fault that kx_json_check found in the text, with line and column. */
bool input_error_json(struct input_error *error, struct kx_slice text,
                      const struct kx_fault *fault);

/* Adds a name (a constant that needs no escaping) that is allowed in place of
 * `given`. The most similar name becomes the suggestion, if it is similar
 * enough for a typing error. Call it after input_error_set. */
void input_error_offer(struct input_error *error, struct kx_slice given,
                       const char *name);

/* Prepend "/name" or "/number" to the pointer when a nested parser returns. */
bool input_error_in_member(struct input_error *error, const char *name);
bool input_error_in_element(struct input_error *error, size_t number);

/* Makes the reply a problem. Each member of the error that is set becomes a
 * member of the document. */
void input_error_reply(struct request *request, struct reply *reply,
                       const struct input_error *error);

#endif
