/* A page is the answer to one statement. The next one begins after its last
 * row: at that key and a zero byte, or in reverse below that key. */
#include "postgres/pg_range.h"

#include <talloc.h>

enum {
    PAGE_FIRST = 32,      /* rows */
    PAGE_MAX = 512,       /* rows */
    PAGE_BYTES = 1 << 20, /* about so many, by the rows of the last page */
    PAGE_GROWTH = 4
};

struct pg_range {
    struct engine_range range; /* first, so that one pointer is both */
    struct engine_view *view;
    enum table table;
    bool reverse;
    struct kx_slice start, end; /* of the scan, as they were given */
    PGresult *page;             /* or NULL */
    int row;                    /* of the page, the next one */
    int64_t limit;              /* the page's rows at most */
    size_t bytes;               /* of values that were given */
    PGresult *found;            /* what `find` gave */
    struct kx_buffer key;       /* of a long row; else the last page's end */
    struct kx_buffer bound;
    struct kx_buffer peeked; /* the key of a long row that was peeked at */
};

static struct pg_range *range_of(struct engine_range *range)
{
    return (struct pg_range *)range;
}

static void drop(PGresult **rows)
{
    PQclear(*rows);
    *rows = NULL;
}

static int finish(struct pg_range *range)
{
    drop(&range->page);
    drop(&range->found);
    return 0;
}

enum kx_status pg_range_create(void *mem, struct engine_view *view,
                               enum table table,
                               struct engine_range **range_out)
{
    struct pg_range *range = talloc_zero(mem, struct pg_range);
    if (range == NULL)
        return KX_NO_MEMORY;
    range->range.calls = view->calls;
    range->view = view;
    range->table = table;
    kx_buffer_init(&range->key, range);
    kx_buffer_init(&range->bound, range);
    kx_buffer_init(&range->peeked, range);
    talloc_set_destructor(range, finish);
    *range_out = &range->range;
    return KX_OK;
}

enum kx_status pg_range_begin(struct engine_range *base, struct kx_slice start,
                              struct kx_slice end, bool reverse)
{
    struct pg_range *range = range_of(base);
    drop(&range->page);
    range->start = start;
    range->end = end.size != 0 ? end : pg_view_above_all;
    range->reverse = reverse;
    range->limit = PAGE_FIRST;
    range->bytes = 0;
    return KX_OK;
}

/* The key of a row of the page; it lies in the page, or in `joined`. */
static enum kx_status key_at(const struct pg_range *range, int row,
                             struct kx_buffer *joined, struct kx_slice *key_out)
{
    struct kx_slice rest = pg_bytes(range->page, row, 1);
    *key_out = pg_bytes(range->page, row, 0);
    if (rest.size == 0)
        return KX_OK;
    kx_buffer_clear(joined);
    kx_add_slice(joined, *key_out);
    kx_add_slice(joined, rest);
    *key_out = kx_buffer_slice(joined);
    return joined->failed ? KX_NO_MEMORY : KX_OK;
}

/* Reads a page with the rows of [start, end). */
static enum kx_status read_page(struct pg_range *range, struct kx_slice start,
                                struct kx_slice end)
{
    struct pg_params params = {.count = 0};
    PGresult *page;
    pg_params_bound(&params, start);
    pg_params_bound(&params, end);
    pg_params_number(&params, range->limit);
    enum kx_status status =
        pg_view_ask(range->view, range->reverse ? PG_REVERSE : PG_FORWARD,
                    range->table, &params, &page);
    drop(&range->page);
    range->page = page;
    range->row = 0;
    return status;
}

/* The rows of the next page: more of them, but about PAGE_BYTES. */
static void size_next(struct pg_range *range)
{
    size_t bytes = 0;
    int rows = PQntuples(range->page);
    for (int row = 0; row < rows; row++)
        bytes += (size_t)PQgetlength(range->page, row, 2);
    int64_t fit = (int64_t)(PAGE_BYTES / (bytes / (size_t)rows + 1)) + 1;
    range->limit *= PAGE_GROWTH;
    if (range->limit > PAGE_MAX)
        range->limit = PAGE_MAX;
    if (range->limit > fit)
        range->limit = fit;
}

/* The page after the present one. KX_END: that was the last. */
static enum kx_status next_page(struct pg_range *range)
{
    struct kx_slice last;
    if (range->page == NULL)
        return read_page(range, range->start, range->end);
    int rows = PQntuples(range->page);
    if (rows < range->limit)
        return KX_END;
    enum kx_status status = key_at(range, rows - 1, &range->key, &last);
    if (status != KX_OK)
        return status;
    kx_buffer_clear(&range->bound);
    kx_add_slice(&range->bound, last);
    if (!range->reverse)
        kx_add_byte(&range->bound, 0);
    if (range->bound.failed)
        return KX_NO_MEMORY;
    size_next(range);
    if (range->reverse)
        return read_page(range, range->start, kx_buffer_slice(&range->bound));
    return read_page(range, kx_buffer_slice(&range->bound), range->end);
}

static enum kx_status take_row(struct pg_range *range, struct kx_slice *key_out,
                               struct kx_slice *value_out)
{
    *value_out = pg_bytes(range->page, range->row, 2);
    return key_at(range, range->row++, &range->key, key_out);
}

enum kx_status pg_range_next(struct engine_range *base,
                             struct kx_slice *key_out,
                             struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    if (range->page == NULL || range->row == PQntuples(range->page)) {
        enum kx_status status = next_page(range);
        if (status == KX_OK && PQntuples(range->page) == 0)
            status = KX_END;
        if (status != KX_OK)
            return status;
    }
    enum kx_status status = take_row(range, key_out, value_out);
    range->bytes += value_out->size;
    return status;
}

bool pg_range_peek(struct engine_range *base, size_t ahead,
                   struct kx_slice *key_out, struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    if (range->page == NULL ||
        ahead >= (size_t)(PQntuples(range->page) - range->row))
        return false;
    int row = range->row + (int)ahead;
    *value_out = pg_bytes(range->page, row, 2);
    return key_at(range, row, &range->peeked, key_out) == KX_OK;
}

size_t pg_range_bytes(const struct engine_range *range)
{
    return ((const struct pg_range *)range)->bytes;
}

enum kx_status pg_range_find(struct engine_range *base, struct kx_slice key,
                             struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    struct pg_params params = {.count = 0};
    struct pg_key parts;
    enum kx_status status =
        pg_view_known(range->view, range->table, key, value_out);
    if (status != KX_AGAIN)
        return status;
    pg_key_split(key, &parts);
    pg_params_bytes(&params, parts.k);
    pg_params_bytes(&params, kx_slice(parts.digest, parts.digest_size));
    drop(&range->found);
    status =
        pg_view_ask(range->view, PG_GET, range->table, &params, &range->found);
    if (status != KX_OK)
        return status;
    if (PQntuples(range->found) == 0)
        return KX_ABSENT;
    *value_out = pg_bytes(range->found, 0, 0);
    return KX_OK;
}

/* Of a series whose keys are neighbours, the rows of one page answer many. */
enum kx_status pg_range_seek(struct engine_range *base, struct kx_slice key,
                             struct kx_slice *key_out,
                             struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    range->reverse = false;
    while (range->page != NULL && range->row < PQntuples(range->page)) {
        enum kx_status status = take_row(range, key_out, value_out);
        if (status != KX_OK || kx_compare(*key_out, key) >= 0)
            return status;
    }
    if (range->page == NULL || range->row == 0)
        range->limit = 1;
    else if (range->limit < PAGE_FIRST)
        range->limit *= 2;
    enum kx_status status = read_page(range, key, pg_view_above_all);
    if (status != KX_OK || PQntuples(range->page) == 0)
        return status == KX_OK ? KX_END : status;
    return take_row(range, key_out, value_out);
}

void pg_range_end(struct engine_range *base)
{
    struct pg_range *range = range_of(base);
    drop(&range->page);
    drop(&range->found);
}
