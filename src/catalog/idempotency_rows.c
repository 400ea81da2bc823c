/* The rows, to bytes and back. */
#include "catalog/idempotency_rows.h"

#include <talloc.h>

#define ROWS "retry/"
#define DUE "retry-due/"
#define DUE_END "retry-due0" /* '0' is the byte after '/' */
#define USE "retry-use/"
#define USE_END "retry-use0"

enum { TIME_BYTES = 8, DUE_BYTES = sizeof DUE - 1 };

void idempotency_row_key(struct kx_slice key, struct kx_buffer *out)
{
    kx_add_text(out, ROWS);
    kx_add_slice(out, key);
}

void idempotency_due_key(int64_t until_ms, struct kx_slice key,
                         struct kx_buffer *out)
{
    uint8_t time[TIME_BYTES];
    for (int i = 0; i < TIME_BYTES; i++)
        time[i] = (uint8_t)((uint64_t)until_ms >> (56 - 8 * i));
    kx_add_text(out, DUE);
    kx_add(out, time, sizeof time);
    kx_add_slice(out, key);
}

void idempotency_row_write(const struct idempotency_row *row,
                           struct kx_buffer *out)
{
    uint8_t time[TIME_BYTES];
    for (int i = 0; i < TIME_BYTES; i++)
        time[i] = (uint8_t)((uint64_t)row->until_ms >> (8 * i));
    kx_add(out, time, sizeof time);
    kx_add_slice(out, row->digest);
    kx_add_slice(out, row->outcome);
}

bool idempotency_row_read(struct kx_slice bytes,
                          struct idempotency_row *row_out)
{
    enum { HEAD = TIME_BYTES + KX_FINGERPRINT_SIZE };
    uint64_t time = 0;
    if (bytes.size < HEAD)
        return false;
    for (int i = TIME_BYTES; i > 0; i--)
        time = time << 8 | bytes.data[i - 1];
    row_out->until_ms = (int64_t)time;
    row_out->digest = kx_slice(bytes.data + TIME_BYTES, KX_FINGERPRINT_SIZE);
    row_out->outcome = kx_slice(bytes.data + HEAD, bytes.size - HEAD);
    return true;
}

struct kx_slice idempotency_due_start(void)
{
    return kx_text(DUE);
}

struct kx_slice idempotency_due_end(void)
{
    return kx_text(DUE_END);
}

bool idempotency_due_read(struct kx_slice due_key, int64_t *until_ms_out)
{
    enum { HEAD = DUE_BYTES + TIME_BYTES };
    uint64_t time = 0;
    if (due_key.size <= HEAD || !kx_starts_with(due_key, kx_text(DUE)))
        return false;
    for (int i = DUE_BYTES; i < HEAD; i++)
        time = time << 8 | due_key.data[i];
    *until_ms_out = (int64_t)time;
    return true;
}

void idempotency_due_add(struct kx_slice key, struct kx_buffer *out)
{
    kx_add_byte(out, (uint8_t)key.size);
    kx_add_byte(out, (uint8_t)(key.size >> 8));
    kx_add_slice(out, key);
}

bool idempotency_due_next(struct kx_slice *left, struct kx_slice *key_out)
{
    size_t size =
        left->size < 2 ? 0 : left->data[0] | (size_t)left->data[1] << 8;
    if (size == 0 || left->size - 2 < size)
        return false;
    *key_out = kx_slice(left->data + 2, size);
    *left = kx_slice(left->data + 2 + size, left->size - 2 - size);
    return true;
}

/* ---- Usages ------------------------------------------------------------- */

static struct kx_slice sender_of(struct kx_slice key)
{
    const uint8_t *slash = memchr(key.data, '/', key.size);
    return kx_slice(key.data, slash == NULL ? 0 : (size_t)(slash - key.data));
}

static void usage_key(struct kx_slice sender, struct kx_buffer *out)
{
    kx_add_text(out, USE);
    kx_add_slice(out, sender);
}

static uint64_t read_number(struct kx_slice bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes.size < 8 ? bytes.size : 8; i > 0; i--)
        number = number << 8 | bytes.data[i - 1];
    return number;
}

/* Without a row the sender has stored nothing. */
static enum kx_status load_usage(const struct idempotency_usages *usages,
                                 struct engine_view *view,
                                 struct idempotency_usage *usage)
{
    struct kx_buffer key;
    struct kx_buffer row;
    kx_buffer_init(&key, usages->mem);
    kx_buffer_init(&row, usages->mem);
    usage_key(usage->sender, &key);
    enum kx_status status = KX_NO_MEMORY;
    if (!key.failed)
        status = engine_get(view, TABLE_CATALOG, kx_buffer_slice(&key), &row);
    if (status == KX_OK)
        usage->stored = read_number(kx_buffer_slice(&row));
    kx_buffer_free(&key);
    kx_buffer_free(&row);
    return status == KX_ABSENT ? KX_OK : status;
}

enum kx_status idempotency_usage_find(struct idempotency_usages *usages,
                                      struct engine_view *view,
                                      struct kx_slice key,
                                      struct idempotency_usage **usage_out)
{
    struct kx_slice sender = sender_of(key);
    for (size_t i = 0; i < usages->count; i++) {
        *usage_out = &usages->list[i];
        if (kx_equal(usages->list[i].sender, sender))
            return KX_OK;
    }
    struct idempotency_usage *list =
        talloc_realloc(usages->mem, usages->list, struct idempotency_usage,
                       (unsigned)usages->count + 1);
    if (list == NULL)
        return KX_NO_MEMORY;
    usages->list = list;
    struct idempotency_usage *usage = &list[usages->count];
    *usage = (struct idempotency_usage){.stored = 0};
    if (!kx_slice_copy(usages->mem, sender, &usage->sender))
        return KX_NO_MEMORY;
    enum kx_status status = load_usage(usages, view, usage);
    usages->count += status == KX_OK;
    *usage_out = usage;
    return status;
}

/* The outcome row with its key, and the key in the due row. */
static int64_t bytes_of(struct kx_slice key, size_t row_size)
{
    enum { KEY_SIZE = 2 };
    return (int64_t)(sizeof ROWS - 1 + key.size + row_size + KEY_SIZE +
                     key.size);
}

void idempotency_usage_add(struct idempotency_usage *usage, struct kx_slice key,
                           size_t row_size)
{
    usage->change += bytes_of(key, row_size);
}

void idempotency_usage_remove(struct idempotency_usage *usage,
                              struct kx_slice key, size_t row_size)
{
    usage->change -= bytes_of(key, row_size);
}

/* Outcomes that were stored by a program without usage rows are not counted
 * when they are removed. */
uint64_t idempotency_usage_now(const struct idempotency_usage *usage)
{
    if (usage->change < 0 && (uint64_t)-usage->change > usage->stored)
        return 0;
    return usage->stored + (uint64_t)usage->change;
}

bool idempotency_usage_write(void *mem, const struct idempotency_usage *usage,
                             struct row_write *write_out)
{
    struct kx_buffer key;
    struct kx_buffer row;
    uint64_t now = idempotency_usage_now(usage);
    kx_buffer_init(&key, mem);
    kx_buffer_init(&row, mem);
    usage_key(usage->sender, &key);
    for (int i = 0; now != 0 && i < 8; i++)
        kx_add_byte(&row, (uint8_t)(now >> (8 * i)));
    *write_out = (struct row_write){.type = now == 0 ? ROW_DELETE : ROW_PUT,
                                    .table = TABLE_CATALOG,
                                    .key = kx_buffer_slice(&key),
                                    .value = kx_buffer_slice(&row)};
    return !key.failed && !row.failed;
}

int64_t idempotency_usages_change(const struct idempotency_usages *usages)
{
    int64_t change = 0;
    for (size_t i = 0; i < usages->count; i++)
        change += (int64_t)(idempotency_usage_now(&usages->list[i]) -
                            usages->list[i].stored);
    return change;
}

static enum kx_status add_usage(void *arg, struct kx_slice key,
                                struct kx_slice row)
{
    uint64_t *bytes = arg;
    (void)key;
    *bytes += read_number(row);
    return KX_OK;
}

enum kx_status idempotency_usages_total(void *mem, struct engine_view *view,
                                        uint64_t *bytes_out)
{
    const struct engine_span rows = {TABLE_CATALOG, kx_text(USE),
                                     kx_text(USE_END)};
    *bytes_out = 0;
    return engine_each(mem, view, &rows, add_usage, bytes_out);
}
