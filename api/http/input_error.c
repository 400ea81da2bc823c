/* Fills in input errors and makes problems of them. An input error has a fixed
 * size and allocates nothing, so that it can also report that memory ran out.
 */
#include "http/input_error.h"

#include <stdarg.h>
#include <stdio.h>

bool input_error_set(struct input_error *flaw, enum problem_code code,
                     const char *format, ...)
{
    va_list arguments;
    flaw->code = code;
    flaw->pointer[0] = '\0';
    flaw->allowed[0] = '\0';
    flaw->parameter = kx_slice(NULL, 0);
    flaw->suggestion = NULL;
    flaw->suggestion_distance = KX_NEAR + 1;
    flaw->line = 0;
    va_start(arguments, format);
    vsnprintf(flaw->detail, sizeof flaw->detail, format, arguments);
    va_end(arguments);
    return false;
}

bool input_error_no_memory(struct input_error *flaw)
{
    return input_error_set(flaw, problem_of(KX_NO_MEMORY), "%s",
                           kx_status_title(KX_NO_MEMORY));
}

bool input_error_fault(struct input_error *flaw, const struct kx_fault *fault)
{
    enum problem_code code =
        fault->inexact ? PROBLEM_KEY_NUMBER_INEXACT : problem_of(fault->status);
    input_error_set(flaw, code, "%s",
                    fault->detail[0] != '\0' ? fault->detail
                                             : kx_status_title(fault->status));
    snprintf(flaw->pointer, sizeof flaw->pointer, "%s", fault->pointer);
    return false;
}

bool input_error_json(struct input_error *flaw, struct kx_slice text,
                      const struct kx_fault *fault)
{
    input_error_fault(flaw, fault);
    flaw->offset = fault->offset;
    flaw->line = flaw->column = 1;
    for (size_t i = 0; i < fault->offset && i < text.size; i++) {
        if (text.data[i] == '\n') {
            flaw->line++;
            flaw->column = 1;
        } else if ((text.data[i] & 0xc0) != 0x80)
            flaw->column++; /* one for each character, not each byte */
    }
    return false;
}

/* Prepends a step; a pointer that gets too long loses its end. Steps are names
 * from tables, numbers, or names shown in an error, so nothing is escaped. */
static bool prepend(struct input_error *flaw, const char *step)
{
    char whole[INPUT_ERROR_POINTER_MAX + 64];
    snprintf(whole, sizeof whole, "/%s%s", step, flaw->pointer);
    memcpy(flaw->pointer, whole, sizeof flaw->pointer - 1);
    flaw->pointer[sizeof flaw->pointer - 1] = '\0';
    return false;
}

bool input_error_in_member(struct input_error *flaw, const char *name)
{
    return prepend(flaw, name);
}

bool input_error_in_element(struct input_error *flaw, size_t number)
{
    char step[24];
    snprintf(step, sizeof step, "%zu", number);
    return prepend(flaw, step);
}

void input_error_offer(struct input_error *flaw, struct kx_slice given,
                       const char *name)
{
    size_t used = strlen(flaw->allowed);
    snprintf(flaw->allowed + used, sizeof flaw->allowed - used, "%s\"%s\"",
             used == 0 ? "" : ",", name);
    if (kx_resembles(given, kx_text(name), &flaw->suggestion_distance))
        flaw->suggestion = name;
}

/* The member is called "supported" for media types and "allowed" for names, as
 * the hints say. */
static void add_allowed(struct reply *reply, const struct input_error *flaw)
{
    bool forms = flaw->code == PROBLEM_UNSUPPORTED_MEDIA_TYPE ||
                 flaw->code == PROBLEM_NOT_ACCEPTABLE;
    char list[INPUT_ERROR_ALLOWED_MAX + 2];
    snprintf(list, sizeof list, "[%s]", flaw->allowed);
    problem_member_json(reply, forms ? "supported" : "allowed", kx_text(list));
}

enum progress input_error_reply(struct request *request, struct reply *reply,
                                const struct input_error *flaw)
{
    problem(request, reply, flaw->code, "%s", flaw->detail);
    if (flaw->pointer[0] != '\0')
        problem_member_text(reply, "pointer", kx_text(flaw->pointer));
    if (flaw->parameter.size != 0 && kx_utf8_valid(flaw->parameter))
        problem_member_text(reply, "parameter", flaw->parameter);
    if (flaw->suggestion != NULL)
        problem_member_text(reply, "didYouMean", kx_text(flaw->suggestion));
    if (flaw->allowed[0] != '\0')
        add_allowed(reply, flaw);
    if (flaw->line != 0) {
        problem_member_number(reply, "line", flaw->line);
        problem_member_number(reply, "column", flaw->column);
        problem_member_number(reply, "offset", flaw->offset);
    }
    return DONE;
}
