/* Fills in input errors and makes problems of them. An input error has a fixed
 * size and allocates nothing, so that it can also report that memory ran out.
 */
#include "http/input_error.h"

#include <stdarg.h>
#include <stdio.h>

bool input_error_set(struct input_error *error, enum problem_code code,
                     const char *format, ...)
{
    va_list arguments;
    error->code = code;
    error->pointer[0] = '\0';
    error->allowed[0] = '\0';
    error->parameter = kx_slice(NULL, 0);
    error->suggestion = NULL;
    error->suggestion_distance = KX_NEAR + 1;
    error->line = 0;
    va_start(arguments, format);
    vsnprintf(error->detail, sizeof error->detail, format, arguments);
    va_end(arguments);
    return false;
}

bool input_error_no_memory(struct input_error *error)
{
    return input_error_set(error, problem_of(KX_NO_MEMORY), "%s",
                           kx_status_title(KX_NO_MEMORY));
}

bool input_error_fault(struct input_error *error, const struct kx_fault *fault)
{
    enum problem_code code =
        fault->inexact ? PROBLEM_KEY_NUMBER_INEXACT : problem_of(fault->status);
    input_error_set(error, code, "%s",
                    fault->detail[0] != '\0' ? fault->detail
                                             : kx_status_title(fault->status));
    snprintf(error->pointer, sizeof error->pointer, "%s", fault->pointer);
    return false;
}

bool input_error_condition(struct input_error *error,
                           const struct kx_fault *fault)
{
    input_error_fault(error, fault);
    if (fault->status == KX_BAD_INDEX)
        error->code = PROBLEM_BAD_REQUEST;
    return false;
}

bool input_error_json(struct input_error *error, struct kx_slice text,
                      const struct kx_fault *fault)
{
    input_error_fault(error, fault);
    error->offset = fault->offset;
    error->line = error->column = 1;
    for (size_t i = 0; i < fault->offset && i < text.size; i++) {
        if (text.data[i] == '\n') {
            error->line++;
            error->column = 1;
        } else if ((text.data[i] & 0xc0) != 0x80)
            error->column++; /* one for each character, not each byte */
    }
    return false;
}

/* Prepends a step; a pointer that gets too long loses its end. Steps are names
 * from tables, numbers, or names shown in an error, so nothing is escaped. */
static bool prepend(struct input_error *error, const char *step)
{
    char whole[INPUT_ERROR_POINTER_MAX + 64];
    snprintf(whole, sizeof whole, "/%s%s", step, error->pointer);
    memcpy(error->pointer, whole, sizeof error->pointer - 1);
    error->pointer[sizeof error->pointer - 1] = '\0';
    return false;
}

bool input_error_in_member(struct input_error *error, const char *name)
{
    return prepend(error, name);
}

bool input_error_in_element(struct input_error *error, size_t number)
{
    char step[24];
    snprintf(step, sizeof step, "%zu", number);
    return prepend(error, step);
}

void input_error_offer(struct input_error *error, struct kx_slice given,
                       const char *name)
{
    size_t used = strlen(error->allowed);
    snprintf(error->allowed + used, sizeof error->allowed - used, "%s\"%s\"",
             used == 0 ? "" : ",", name);
    if (kx_resembles(given, kx_text(name), &error->suggestion_distance))
        error->suggestion = name;
}

/* The member is called "supported" for media types and "allowed" for names, as
 * the hints say. */
static void add_allowed(struct reply *reply, const struct input_error *error)
{
    bool forms = error->code == PROBLEM_UNSUPPORTED_MEDIA_TYPE ||
                 error->code == PROBLEM_NOT_ACCEPTABLE;
    char list[INPUT_ERROR_ALLOWED_MAX + 2];
    snprintf(list, sizeof list, "[%s]", error->allowed);
    problem_member_json(reply, forms ? "supported" : "allowed", kx_text(list));
}

void input_error_reply(struct request *request, struct reply *reply,
                       const struct input_error *error)
{
    problem(request, reply, error->code, "%s", error->detail);
    if (error->pointer[0] != '\0')
        problem_member_text(reply, "pointer", kx_text(error->pointer));
    if (error->parameter.size != 0 && kx_utf8_valid(error->parameter))
        problem_member_text(reply, "parameter", error->parameter);
    if (error->suggestion != NULL)
        problem_member_text(reply, "didYouMean", kx_text(error->suggestion));
    if (error->allowed[0] != '\0')
        add_allowed(reply, error);
    if (error->line != 0) {
        problem_member_number(reply, "line", error->line);
        problem_member_number(reply, "column", error->column);
        problem_member_number(reply, "offset", error->offset);
    }
}
