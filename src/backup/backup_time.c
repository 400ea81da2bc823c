/* The file "backed-up" in the data directory: a Unix time with a fixed number
 * of digits, so that one write overwrites it. The file is not synced: after a
 * power cut the last backup may seem older than it is. */
#include "backup/backup_time.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/file.h"
#include "kindex.h"

enum { DIGITS = 20 };

static void path_of(const char *directory, char *path, size_t size)
{
    snprintf(path, size, "%s/backed-up", directory);
}

void backup_time_load(const char *directory, _Atomic uint64_t *time_s)
{
    char path[PATH_MAX], text[DIGITS + 1] = "";
    path_of(directory, path, sizeof path);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fread(text, 1, DIGITS, file) == DIGITS)
        atomic_store(time_s, strtoull(text, NULL, 10));
    fclose(file);
}

void backup_time_note(const char *directory, _Atomic uint64_t *time_s)
{
    char path[PATH_MAX];
    uint64_t now_s = (uint64_t)kx_now_ms() / 1000;
    atomic_store(time_s, now_s);
    path_of(directory, path, sizeof path);
    FILE *file = file_write(path, 0);
    bool written =
        file != NULL && fprintf(file, "%0*llu\n", DIGITS,
                                (unsigned long long)now_s) == DIGITS + 1;
    if (file != NULL)
        written = fclose(file) == 0 && written;
    if (!written)
        kx_log(KX_LOG_WARNING, "backup-time-unwritten", "file=%s error=\"%s\"",
               path, strerror(errno));
}
