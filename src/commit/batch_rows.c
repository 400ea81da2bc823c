/* From a planned batch to the rows of its transaction. */
#include "commit/batch_rows.h"

#include <talloc.h>

#include "plan/plan_retry.h"

static void add_row(struct rows *rows, struct row_write write)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity * 2 + 64;
        struct row_write *list = talloc_realloc(
            rows->mem, rows->list, struct row_write, (unsigned)capacity);
        if (list == NULL) {
            rows->failed = true;
            return;
        }
        rows->list = list;
        rows->capacity = capacity;
    }
    rows->list[rows->count++] = write;
}

/* When a client's entry expires, or a tombstone is to be removed; 0: never, or
 * no entry. Other index entries have no row in the expiry table: they are
 * removed with the entry that they belong to. */
static int64_t expiry_of(struct kx_slice bytes)
{
    struct record record;
    if (!record_read(bytes, &record) || (record.index != 0 && !record.deleted))
        return 0;
    return record.expires_at_ms;
}

/* Big endian, so that the first row of the table is the next to expire. The row
 * of a tombstone has a value: the row that it names may be gone with its index.
 */
static void add_expiry_row(struct rows *rows, enum row_write_type type,
                           int64_t expires_at_ms,
                           const struct net_change *change)
{
    struct kx_slice key = change->key;
    uint8_t *bytes = talloc_size(rows->mem, 8 + key.size);
    if (bytes == NULL) {
        rows->failed = true;
        return;
    }
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)expires_at_ms >> (56 - 8 * i));
    memcpy(bytes + 8, key.data, key.size);
    bool tombstone = type == ROW_PUT && record_of_index(change->now);
    add_row(rows, (struct row_write){.type = type,
                                     .table = TABLE_EXPIRY,
                                     .key = kx_slice(bytes, 8 + key.size),
                                     .value = kx_text(tombstone ? "t" : "")});
}

/* A presumption is tested by an insertion, even of an entry that the batch
 * removes again. */
static void add_entry_rows(struct rows *rows, const struct net_change *change)
{
    struct row_write write = {.type = change->presumed ? ROW_INSERT : ROW_PUT,
                              .table = TABLE_ENTRIES,
                              .key = change->key,
                              .value = change->now};
    if (change->presumed || change->now.size != 0)
        add_row(rows, write);
    write.type = ROW_DELETE;
    if (change->now.size == 0)
        add_row(rows, write);
}

/* The rows that one changed key needs. A key that the batch both made and
 * removed needs no row. A removed key that was never read may be stored, and is
 * deleted in any case. If the batch fails, next_expiry_ms may be too early,
 * which costs only one look-up. */
static void add_change(struct writer *writer, struct rows *rows,
                       const struct net_change *change)
{
    if (change->now.size == 0 && change->stored.size == 0 && !change->unread)
        return;
    add_entry_rows(rows, change);
    int64_t before = expiry_of(change->stored);
    int64_t now = expiry_of(change->now);
    if (before == now)
        return;
    if (before != 0)
        add_expiry_row(rows, ROW_DELETE, before, change);
    if (now != 0)
        add_expiry_row(rows, ROW_PUT, now, change);
    if (now != 0 && now < writer->next_expiry_ms)
        writer->next_expiry_ms = now;
}

/* A row of the catalog, if there was memory to make it. */
static void add_made(struct rows *rows, bool made,
                     const struct row_write *write)
{
    if (made)
        add_row(rows, *write);
    else
        rows->failed = true;
}

static void add_index_row(struct rows *rows, const struct index *index)
{
    struct row_write write;
    bool made = catalog_index_write(rows->mem, index, &write);
    add_made(rows, made, &write);
}

static bool adopts(const struct count_delta *delta)
{
    return delta->adopted[KX_KEPT] != 0 || delta->adopted[KX_MENDED] != 0;
}

/* The catalog rows of the indexes that the plan has made ready, and of those
 * that have taken over hand-kept entries. */
static void add_index_rows(struct rows *rows, const struct plan *plan)
{
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++)
        if (plan_delta_resolves(&plan->totals[i]) || adopts(&plan->totals[i]))
            add_index_row(rows, plan->totals[i].index);
}

static void add_removal(struct rows *rows, const struct index *index)
{
    struct row_write write;
    bool made = catalog_index_removal(rows->mem, index, &write);
    add_made(rows, made, &write);
}

/* The facts, with the last stamp and the counts, are part of every batch: after
 * a crash they agree with the clients' entries in the table. */
static void add_facts(struct rows *rows, const struct catalog *catalog)
{
    struct row_write write;
    bool made = catalog_facts_write(rows->mem, catalog, &write);
    add_made(rows, made, &write);
}

/* As with entries, next_expiry_ms may be too early if the batch fails. */
static void add_outcomes(struct writer *writer, struct rows *rows,
                         struct plan *plan)
{
    size_t count = 0;
    const struct row_write *writes = NULL;
    if (!plan_retry_rows(plan, &writes, &count))
        rows->failed = true;
    for (size_t i = 0; i < count; i++)
        add_row(rows, writes[i]);
    if (plan_retry_due_ms(plan) < writer->next_expiry_ms)
        writer->next_expiry_ms = plan_retry_due_ms(plan);
}

/* The rows of the indexes that one action concerns. */
static void add_action(struct rows *rows, const struct batch *batch)
{
    if (batch->action == CATALOG_FORGET)
        add_removal(rows, batch->index);
    else if (batch->action != CATALOG_KEEP && batch->action != CATALOG_PROGRESS)
        add_index_row(rows, batch->index);
    if (batch->other != NULL)
        add_index_row(rows, batch->other);
}

void batch_rows_add_catalog(struct rows *rows, const struct catalog *catalog,
                            const struct batch *batch)
{
    add_action(rows, batch);
    for (size_t i = 0; i < batch->also_count; i++)
        add_action(rows, &batch->also[i]);
    add_index_rows(rows, batch->plan);
    add_facts(rows, catalog);
}

void batch_rows_add(struct rows *rows, struct writer *writer,
                    const struct batch *batch, const struct net_change *net,
                    size_t net_count)
{
    for (size_t i = 0; i < net_count; i++)
        add_change(writer, rows, &net[i]);
    for (size_t i = 0; i < batch->write_count; i++)
        add_row(rows, batch->writes[i]);
    if (batch->plan != NULL && plan_retry_any(batch->plan))
        add_outcomes(writer, rows, batch->plan);
}
