/* Files and standard input, read whole. */
#include "cli_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool read_all(FILE *file, const char *name, struct kx_buffer *out)
{
    char chunk[65536];
    size_t size;
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0 && !out->failed &&
           out->size <= CLI_INPUT_MAX)
        kx_add(out, chunk, size);
    if (ferror(file))
        cli_fail("%s: %s", name, strerror(errno));
    else if (out->failed)
        cli_fail("%s: memory ran out", name);
    else if (out->size > CLI_INPUT_MAX)
        cli_fail("%s: more than %u bytes", name, CLI_INPUT_MAX);
    return !ferror(file) && !out->failed && out->size <= CLI_INPUT_MAX;
}

bool cli_input(const char *path, struct kx_buffer *out)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return read_all(stdin, "standard input", out);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        cli_fail("%s: %s", path, strerror(errno));
        return false;
    }
    bool done = read_all(file, path, out);
    fclose(file);
    return done;
}
