/* Flaws: filling them in, and the problem made of one. */
#include "flaw.h"

#include <stdarg.h>
#include <stdio.h>

enum { NAME_MAX_COMPARED = 32, NEAR = 2 };

bool flaw_set(struct flaw *flaw, enum problem_code code, const char *format,
              ...)
{
    va_list arguments;
    flaw->code = code;
    flaw->pointer[0] = '\0';
    flaw->parameter = NULL;
    flaw->suggestion = NULL;
    flaw->allowed = NULL;
    va_start(arguments, format);
    vsnprintf(flaw->detail, sizeof flaw->detail, format, arguments);
    va_end(arguments);
    return false;
}

bool flaw_no_memory(struct flaw *flaw)
{
    return flaw_set(flaw, problem_of(KX_NO_MEMORY), "%s",
                    kx_status_title(KX_NO_MEMORY));
}

bool flaw_fault(struct flaw *flaw, const struct kx_fault *fault)
{
    flaw_set(flaw, problem_of(fault->status), "%s",
             fault->detail[0] != '\0' ? fault->detail
                                      : kx_status_title(fault->status));
    snprintf(flaw->pointer, sizeof flaw->pointer, "%s", fault->pointer);
    return false;
}

static bool prepend(struct flaw *flaw, const char *step)
{
    char whole[FLAW_POINTER_MAX + 64];
    snprintf(whole, sizeof whole, "/%s%s", step, flaw->pointer);
    memcpy(flaw->pointer, whole, sizeof flaw->pointer - 1);
    flaw->pointer[sizeof flaw->pointer - 1] = '\0';
    return false;
}

bool flaw_in_member(struct flaw *flaw, const char *name)
{
    return prepend(flaw, name);
}

bool flaw_in_element(struct flaw *flaw, size_t number)
{
    char step[24];
    snprintf(step, sizeof step, "%zu", number);
    return prepend(flaw, step);
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t less = a < b ? a : b;
    return less < c ? less : c;
}

/* Levenshtein distance, one row at a time. */
static size_t distance(struct kx_slice text, const char *name)
{
    size_t row[NAME_MAX_COMPARED + 1];
    size_t length = strlen(name);
    if (text.size > NAME_MAX_COMPARED || length > NAME_MAX_COMPARED)
        return NAME_MAX_COMPARED;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; i < text.size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= length; j++) {
            size_t above = row[j];
            size_t change = (char)(text.data[i] | 0x20) != name[j - 1];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + change);
            diagonal = above;
        }
    }
    return row[length];
}

const char *flaw_nearest(struct kx_slice text, const char *const *names)
{
    const char *nearest = NULL;
    size_t best = NEAR + 1;
    for (; *names != NULL; names++) {
        size_t d = distance(text, *names);
        if (d < best && d < strlen(*names)) {
            best = d;
            nearest = *names;
        }
    }
    return nearest;
}

static void member_allowed(struct request *request, struct reply *reply,
                           const char *const *names)
{
    struct kx_buffer list;
    kx_buffer_init(&list, request->memory);
    for (size_t i = 0; names[i] != NULL; i++) {
        kx_add_byte(&list, i == 0 ? '[' : ',');
        kx_json_escape(kx_text(names[i]), &list);
    }
    kx_add_text(&list, names[0] == NULL ? "[]" : "]");
    if (list.failed)
        reply->body.failed = true;
    else
        problem_member_json(reply, "allowed", kx_buffer_slice(&list));
}

enum progress flaw_reply(struct request *request, struct reply *reply,
                         const struct flaw *flaw)
{
    problem(request, reply, flaw->code, "%s", flaw->detail);
    if (flaw->pointer[0] != '\0')
        problem_member_text(reply, "pointer", kx_text(flaw->pointer));
    if (flaw->parameter != NULL)
        problem_member_text(reply, "parameter", kx_text(flaw->parameter));
    if (flaw->suggestion != NULL)
        problem_member_text(reply, "didYouMean", kx_text(flaw->suggestion));
    if (flaw->allowed != NULL)
        member_allowed(request, reply, flaw->allowed);
    return DONE;
}
