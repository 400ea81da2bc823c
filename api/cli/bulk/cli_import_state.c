/* One line: the byte in decimal, the hash in hexadecimal digits. */
#include "cli/bulk/cli_import_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int read_place(const char *path, FILE *file,
                      struct cli_pipeline_place *place)
{
    bool read =
        fscanf(file, "%" SCNu64 " %" SCNx64, &place->at, &place->hash) == 2;
    if (ferror(file))
        return cli_fail("%s: %s", path, strerror(errno));
    return read ? CLI_OK
                : cli_fail("%s is not the state file of an import", path);
}

int cli_import_state_read(const char *path, struct cli_pipeline_place *place)
{
    *place = (struct cli_pipeline_place){.hash = KX_HASH_START};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return errno == ENOENT ? CLI_OK
                               : cli_fail("%s: %s", path, strerror(errno));
    int status = read_place(path, file, place);
    fclose(file);
    return status;
}

/* Writes a new file, then renames it over the old one. */
static bool replace(const char *path, const struct cli_pipeline_place *place)
{
    char part[4096];
    errno = ENAMETOOLONG;
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return false;
    FILE *file = fopen(part, "w");
    if (file == NULL)
        return false;
    bool written = fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", place->at,
                           place->hash) > 0;
    written = fclose(file) == 0 && written;
    return written && rename(part, path) == 0;
}

int cli_import_state_write(const char *path,
                           const struct cli_pipeline_place *place)
{
    return replace(path, place) ? CLI_OK
                                : cli_fail("%s: %s", path, strerror(errno));
}
