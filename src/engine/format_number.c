/* The format number as decimal text. */
#include "engine/format_number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool format_number_read(const char *text, unsigned long *number_out)
{
    char *end;
    if (*text < '1' || *text > '9')
        return false;
    errno = 0;
    *number_out = strtoul(text, &end, 10);
    return errno == 0 && (*end == '\0' || strcmp(end, "\n") == 0);
}

enum kx_status format_too_new(unsigned long number, struct kx_fault *fault)
{
    return kx_fail(
        fault, KX_BAD_DIRECTORY,
        "its data have format %lu, but this program, kindex " KX_VERSION
        ", supports formats up to %d; nothing was changed: use the program "
        "that wrote the data, or a later one",
        number, FORMAT_NUMBER);
}
