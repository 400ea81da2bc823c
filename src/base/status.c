/* Texts of the statuses, and the details of a failure. Names and titles come
 * from the one list in kindex/status.h, so that none is missing. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "kindex/status.h"

static const struct {
    const char *name;
    const char *title;
} statuses[] = {
#define KX_STATUS_TEXTS(status, text) [status] = {#status, text},
    KX_STATUS_LIST(KX_STATUS_TEXTS)
#undef KX_STATUS_TEXTS
};

static bool is_status(enum kx_status status)
{
    return (size_t)status < sizeof(statuses) / sizeof(statuses[0]);
}

const char *kx_status_name(enum kx_status status)
{
    return is_status(status) ? statuses[status].name : "no status";
}

const char *kx_status_title(enum kx_status status)
{
    return is_status(status) ? statuses[status].title : "no status";
}

/* Removes the incomplete character at the end of a text that was cut after
 * `size` bytes: details are shown in JSON, which must be UTF-8. */
static void drop_cut_character(char *text, size_t size)
{
    size_t start = size;
    while (start > 0 && size - start < 4) {
        start--;
        if (((uint8_t)text[start] & 0xc0) != 0x80)
            break;
    }
    uint8_t lead = (uint8_t)text[start];
    size_t needed = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size - start < needed)
        text[start] = '\0';
}

enum kx_status kx_fail(struct kx_fault *fault, enum kx_status status,
                       const char *format, ...)
{
    if (fault == NULL)
        return status;
    /* Formats into a copy: the arguments may point into the old detail. */
    struct kx_fault filled = {.status = status};
    va_list arguments;
    va_start(arguments, format);
    int size =
        vsnprintf(filled.detail, sizeof(filled.detail), format, arguments);
    va_end(arguments);
    if (size >= (int)sizeof(filled.detail))
        drop_cut_character(filled.detail, sizeof(filled.detail) - 1);
    *fault = filled;
    return status;
}
