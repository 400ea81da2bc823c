/* The format's number in the data directory, and the table of steps by which
 * rows of an older format become those of this one.
 *
 *   1  directories of before there was the file "format"
 *   2  has the file; each store has an id from its beginning
 */
#include "storage/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

#include "base/file.h"
#include "bdb/table.h"
#include "base/uuid.h"

enum { NUMBER_BYTES = 16 };

/* Decimal digits, with or without a line end behind them; 0 is no number. */
static bool read_number(const char *text, unsigned long *number_out)
{
    char *end;
    if (*text < '1' || *text > '9')
        return false;
    errno = 0;
    *number_out = strtoul(text, &end, 10);
    return errno == 0 && (*end == '\0' || strcmp(end, "\n") == 0);
}

static enum kx_status too_new(unsigned long number, struct kx_fault *fault)
{
    return kx_fail(
        fault, KX_BAD_DIRECTORY,
        "its data have format %lu, and this program, kindex " KX_VERSION
        ", knows formats up to %d; they were left as "
        "they are: use the program that wrote them, or a later one",
        number, FORMAT_NUMBER);
}

/* ---- The file ----------------------------------------------------------- */

static enum kx_status file_fault(const char *path, struct kx_fault *fault)
{
    return kx_fail(fault, KX_BAD_DIRECTORY, "%s: %s", path, strerror(errno));
}

/* KX_ABSENT when there is no such file. */
static enum kx_status read_file(const char *path, unsigned long *number_out,
                                struct kx_fault *fault)
{
    char text[NUMBER_BYTES + 1] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return KX_ABSENT;
    ssize_t size = file < 0 ? -1 : read(file, text, NUMBER_BYTES);
    if (size < 0)
        file_fault(path, fault);
    if (file >= 0)
        close(file);
    if (size < 0)
        return KX_BAD_DIRECTORY;
    text[size] = '\0';
    if (read_number(text, number_out))
        return KX_OK;
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "%s does not hold the number of a data format; nothing was "
                   "changed",
                   path);
}

static bool write_whole(const char *path)
{
    char text[NUMBER_BYTES];
    int size = snprintf(text, sizeof text, "%d\n", FORMAT_NUMBER);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = write(file, text, (size_t)size) == size;
    written = fdatasync(file) == 0 && written;
    return close(file) == 0 && written;
}

static enum kx_status write_file(const char *path, struct kx_fault *fault)
{
    char *part = talloc_asprintf(NULL, "%s.part", path);
    if (part == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    bool written =
        write_whole(part) && rename(part, path) == 0 && file_sync(path);
    talloc_free(part);
    return written ? KX_OK : file_fault(path, fault);
}

/* The path of the file, under no talloc context, and its number. */
static enum kx_status look(const char *directory, char **path_out,
                           unsigned long *number_out, struct kx_fault *fault)
{
    *path_out = talloc_asprintf(NULL, "%s/format", directory);
    if (*path_out == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = read_file(*path_out, number_out, fault);
    return status == KX_OK && *number_out > FORMAT_NUMBER
               ? too_new(*number_out, fault)
               : status;
}

enum kx_status format_look(const char *directory, struct kx_fault *fault)
{
    unsigned long number = 0;
    char *path;
    enum kx_status status = look(directory, &path, &number, fault);
    talloc_free(path);
    return status == KX_ABSENT ? KX_OK : status;
}

enum kx_status format_guard(const char *directory, struct kx_fault *fault)
{
    unsigned long number = 0;
    char *path;
    enum kx_status status = look(directory, &path, &number, fault);
    if (status == KX_ABSENT || (status == KX_OK && number < FORMAT_NUMBER))
        status = write_file(path, fault);
    talloc_free(path);
    return status;
}

/* ---- The rows ----------------------------------------------------------- */

/* Flushed at once: the next step builds on it. */
static enum kx_status write_now(struct env *env, const struct txn_write *write)
{
    enum kx_status status = txn_apply(env, write, 1, TXN_SCATTERED);
    return status == KX_OK ? env_flush(env) : status;
}

static struct txn_write catalog_put(const char *name, const char *value)
{
    return (struct txn_write){.type = TXN_PUT,
                              .table = TABLE_CATALOG,
                              .key = kx_text(name),
                              .value = kx_text(value)};
}

struct txn_write format_id_write(const char *id)
{
    return catalog_put("id", id);
}

bool format_write(void *mem, struct txn_write *write_out)
{
    char *number = talloc_asprintf(mem, "%d", FORMAT_NUMBER);
    if (number != NULL)
        *write_out = catalog_put("format", number);
    return number != NULL;
}

static enum kx_status give_id(struct env *env)
{
    char id[UUID_SIZE];
    struct kx_buffer row;
    kx_buffer_init(&row, NULL);
    enum kx_status status = table_get(env, TABLE_CATALOG, kx_text("id"), &row);
    kx_buffer_free(&row);
    if (status != KX_ABSENT)
        return status;
    uuid_make(id);
    struct txn_write write = format_id_write(id);
    return write_now(env, &write);
}

/* steps[n] makes rows of format n + 1 such of format n + 2. After a crash in
 * its middle it is run again: each must stand that. */
static enum kx_status (*const steps[])(struct env *env) = {give_id};
_Static_assert(sizeof steps / sizeof *steps == FORMAT_NUMBER - 1,
               "each format but the first has a step that leads to it");

static enum kx_status step(struct env *env, unsigned long from)
{
    char number[NUMBER_BYTES];
    enum kx_status status =
        steps[from - 1](env); /* NOLINT: from is at least 1 */
    if (status != KX_OK)
        return status;
    snprintf(number, sizeof number, "%lu", from + 1);
    struct txn_write write = catalog_put("format", number);
    status = write_now(env, &write);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "upgraded", "format=%s", number);
    return status;
}

/* KX_ABSENT when the catalog has none. */
static enum kx_status read_row(struct env *env, unsigned long *number_out,
                               struct kx_fault *fault)
{
    struct kx_buffer row;
    kx_buffer_init(&row, NULL);
    enum kx_status status =
        table_get(env, TABLE_CATALOG, kx_text("format"), &row);
    kx_add_byte(&row, 0);
    if (status == KX_OK && row.failed)
        status = KX_NO_MEMORY;
    else if (status == KX_OK &&
             !read_number((const char *)row.data, number_out))
        status = kx_fail(fault, KX_BAD_DIRECTORY,
                         "its catalog has no number of a data format");
    kx_buffer_free(&row);
    return status;
}

enum kx_status format_upgrade(struct env *env, struct kx_fault *fault)
{
    unsigned long number = 0;
    enum kx_status status = read_row(env, &number, fault);
    if (status == KX_OK && number > FORMAT_NUMBER)
        return too_new(number, fault);
    for (; status == KX_OK && number < FORMAT_NUMBER; number++)
        status = step(env, number);
    return status;
}
