/* The steps that turn rows of an older format into rows of this one, and the
 * row "format", which is updated after each step.
 *
 *   1  directories of programs that did not write the file "format"
 *   2  has the file; each store has an id from the beginning
 *   3  records of jobs (entry/record.h); programs of format 2 cannot read them
 *
 * While rows are copied into a store, the row has a word in place of the
 * number, so that no program mistakes them for a store. */
#include "catalog/format_rows.h"

#include <stdio.h>
#include <talloc.h>

#include "base/uuid.h"

enum { NUMBER_BYTES = 16 };
static const char COPYING[] = "copying";

static struct row_write catalog_put(const char *name, const char *value)
{
    return (struct row_write){.type = ROW_PUT,
                              .table = TABLE_CATALOG,
                              .key = kx_text(name),
                              .value = kx_text(value)};
}

struct row_write format_id_write(const char *id)
{
    return catalog_put("id", id);
}

bool format_write(void *mem, struct row_write *write_out)
{
    char *number = talloc_asprintf(mem, "%d", FORMAT_NUMBER);
    if (number != NULL)
        *write_out = catalog_put("format", number);
    return number != NULL;
}

struct row_write format_copying(void)
{
    return catalog_put("format", COPYING);
}

struct row_write format_copied(struct kx_slice value)
{
    struct row_write write = catalog_put("format", "");
    write.value = value;
    return write;
}

bool format_is_row(enum table table, struct kx_slice key)
{
    return table == TABLE_CATALOG && kx_equal(key, kx_text("format"));
}

static enum kx_status give_id(struct engine *engine, struct engine_view *view)
{
    char id[UUID_SIZE];
    struct kx_buffer row;
    kx_buffer_init(&row, NULL);
    enum kx_status status =
        engine_get(view, TABLE_CATALOG, kx_text("id"), &row);
    kx_buffer_free(&row);
    if (status != KX_ABSENT)
        return status;
    uuid_make(id);
    struct row_write write = format_id_write(id);
    return engine_write_now(engine, &write, 1);
}

/* Rows of format 2 are rows of format 3. */
static enum kx_status allow_jobs(struct engine *engine,
                                 struct engine_view *view)
{
    (void)engine;
    (void)view;
    return KX_OK;
}

/* steps[n] turns rows of format n + 1 into rows of format n + 2. After a crash
 * it runs again, so each step must be repeatable. */
static enum kx_status (*const steps[])(struct engine *engine,
                                       struct engine_view *view) = {give_id,
                                                                    allow_jobs};
_Static_assert(sizeof steps / sizeof *steps == FORMAT_NUMBER - 1,
               "each format but the first has a step that leads to it");

static enum kx_status step(struct engine *engine, struct engine_view *view,
                           unsigned long from)
{
    char number[NUMBER_BYTES];
    enum kx_status status =
        steps[from - 1](engine, view); /* NOLINT: from is at least 1 */
    if (status != KX_OK)
        return status;
    snprintf(number, sizeof number, "%lu", from + 1);
    struct row_write write = catalog_put("format", number);
    status = engine_write_now(engine, &write, 1);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "upgraded", "format=%s", number);
    return status;
}

static enum kx_status read_number(struct kx_buffer *row,
                                  unsigned long *number_out,
                                  struct kx_fault *fault)
{
    if (kx_equal(kx_buffer_slice(row), kx_text(COPYING)))
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "a copy into it did not end; remove what it has, then "
                       "copy again");
    kx_add_byte(row, 0);
    if (row->failed)
        return KX_NO_MEMORY;
    if (!format_number_read((const char *)row->data, number_out))
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "its catalog has no number of a data format");
    return *number_out > FORMAT_NUMBER ? format_too_new(*number_out, fault)
                                       : KX_OK;
}

enum kx_status format_read(struct engine_view *view, unsigned long *number_out,
                           struct kx_fault *fault)
{
    struct kx_buffer row;
    kx_buffer_init(&row, NULL);
    enum kx_status status =
        engine_get(view, TABLE_CATALOG, kx_text("format"), &row);
    if (status == KX_OK)
        status = read_number(&row, number_out, fault);
    kx_buffer_free(&row);
    return status;
}

enum kx_status format_upgrade(struct engine *engine, struct engine_view *view,
                              struct kx_fault *fault)
{
    unsigned long number = 0;
    enum kx_status status = format_read(view, &number, fault);
    for (; status == KX_OK && number < FORMAT_NUMBER; number++)
        status = step(engine, view, number);
    return status;
}
