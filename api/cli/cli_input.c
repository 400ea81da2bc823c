/* Files and standard input, read whole. */
#include "cli/cli_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool read_all(FILE *file, const char *name, struct kx_buffer *out)
{
    char chunk[65536];
    size_t size;
    while (!out->failed && out->size <= CLI_INPUT_MAX &&
           (size = fread(chunk, 1, sizeof chunk, file)) > 0)
        kx_add(out, chunk, size);
    const char *error = ferror(file)                ? strerror(errno)
                        : out->failed               ? "memory ran out"
                        : out->size > CLI_INPUT_MAX ? "too large"
                                                    : NULL;
    if (error != NULL)
        cli_fail("%s: %s", name, error);
    return error == NULL;
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
