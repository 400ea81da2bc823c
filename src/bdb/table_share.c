/* Estimates shares of a tree from its upper levels. The library's key_range
 * assumes that all children of a page are equally large. For a root with few
 * children they are not: when a tree that grows at its end gets one more level,
 * the second child of the root begins with one page, beside a full one. So the
 * children of such a root are weighed by their numbers of entries. */
#include "bdb/bdb.h"
#include "bdb/page_read.h"

enum {
    WEIGHED_MAX = 16, /* children; beyond that, no single one matters much */

    /* Offsets in the first page of a file and in a page of a tree with
     * checksums, the same in all files of the library. */
    META_ROOT_AT = 88,
    ENTRIES_AT = 20,
    TYPE_AT = 25,
    TYPE_INTERNAL = 3,
    ITEMS_AT = 32, /* an array of two-byte offsets of items */
    ITEM_PAGE_AT = 4
};

/* Converts the share that key_range returns into the real one: before[i] is the
 * share of the rows before the i-th child of the root. */
struct scale {
    DB *db;
    unsigned children; /* 0: trust key_range */
    double before[WEIGHED_MAX + 1];
};

struct page_source {
    struct env *env;
    enum table table;
};

static bool read_bytes(struct page_source from, struct page_part part,
                       void *out)
{
    return page_read(from.env, from.table, part, out) == KX_OK;
}

/* Reads the number of entries of the root's i-th child. */
static bool weigh_child(struct page_source from, uint32_t root, unsigned i,
                        uint16_t *weight_out)
{
    uint16_t item;
    uint32_t child;
    struct page_part part = {root, ITEMS_AT + i * sizeof item, sizeof item};
    if (!read_bytes(from, part, &item) ||
        item > PAGE_BYTES - ITEM_PAGE_AT - sizeof child)
        return false;
    part = (struct page_part){root, item + ITEM_PAGE_AT, sizeof child};
    if (!read_bytes(from, part, &child))
        return false;
    part = (struct page_part){child, ENTRIES_AT, sizeof *weight_out};
    return read_bytes(from, part, weight_out);
}

static bool weigh_children(struct page_source from, uint32_t root,
                           struct scale *scale)
{
    uint16_t weight = 0;
    for (unsigned i = 0; i < scale->children; i++) {
        if (!weigh_child(from, root, i, &weight))
            return false;
        scale->before[i + 1] = scale->before[i] + weight;
    }
    double all = scale->before[scale->children];
    for (unsigned i = 0; all > 0 && i <= scale->children; i++)
        scale->before[i] /= all;
    return all > 0;
}

/* Returns false if the root has no children, or too many to weigh. */
static bool few_children(struct page_source from, uint32_t root,
                         unsigned *count_out)
{
    uint8_t type;
    uint16_t entries;
    struct page_part part = {root, TYPE_AT, sizeof type};
    if (!read_bytes(from, part, &type) || type != TYPE_INTERNAL)
        return false;
    part = (struct page_part){root, ENTRIES_AT, sizeof entries};
    if (!read_bytes(from, part, &entries))
        return false;
    *count_out = entries;
    return entries <= WEIGHED_MAX;
}

static struct scale scale_of(struct env *env, enum table table)
{
    struct page_source from = {env, table};
    struct scale scale = {.db = env->tables[table]};
    uint32_t root;
    struct page_part part = {0, META_ROOT_AT, sizeof root};
    if (!read_bytes(from, part, &root) ||
        !few_children(from, root, &scale.children) ||
        !weigh_children(from, root, &scale))
        scale.children = 0;
    return scale;
}

/* The share of the rows before key; 0 if unknown. */
static double share_before(const struct scale *scale, struct kx_slice key)
{
    DB *db = scale->db;
    DBT name = bdb_in(key);
    DB_KEY_RANGE share = {0};
    if (db->key_range(db, NULL, &name, &share, 0) != 0)
        return 0;
    if (scale->children == 0)
        return share.less;
    double place = share.less * scale->children + 1e-9;
    unsigned child = (unsigned)place;
    if (child >= scale->children)
        return 1;
    double weight = scale->before[child + 1] - scale->before[child];
    return scale->before[child] + (place - child) * weight;
}

static double share_between(const struct scale *scale, struct kx_slice start,
                            struct kx_slice end)
{
    double below = start.size == 0 ? 0 : share_before(scale, start);
    double above = end.size == 0 ? 1 : share_before(scale, end);
    return above > below ? above - below : 0;
}

double table_share(struct env *env, enum table table, struct kx_slice start,
                   struct kx_slice end)
{
    struct scale scale = scale_of(env, table);
    return share_between(&scale, start, end);
}

/* The most descents of the tree. A byte of a key takes nine, so this is enough
 * for the bytes in which the keys of most ranges differ. */
enum { DESCENTS_MAX = 512 };

struct bisection {
    const struct scale *scale;
    struct kx_buffer *key;
    double target; /* at most this share of all rows lies before the key */
    double enough; /* a share of the rows too small to be divided */
    unsigned descents;
};

static double share_before_next(struct bisection *bisection, unsigned byte)
{
    kx_add_byte(bisection->key, (uint8_t)byte);
    double share =
        share_before(bisection->scale, kx_buffer_slice(bisection->key));
    bisection->key->size--;
    bisection->descents++;
    return share;
}

/* Appends the next byte of the key. Returns false if the key is complete. */
static bool add_byte(struct bisection *bisection)
{
    unsigned low = 0;
    unsigned high = 0x100;
    double before_low = share_before_next(bisection, low);
    double before_high = 2;
    if (before_low > bisection->target)
        return false;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        double before = share_before_next(bisection, middle);
        *(before > bisection->target ? &high : &low) = middle;
        *(before > bisection->target ? &before_high : &before_low) = before;
    }
    kx_add_byte(bisection->key, (uint8_t)low);
    return before_high - before_low > bisection->enough;
}

static size_t common_size(struct kx_slice a, struct kx_slice b)
{
    size_t size = 0;
    while (size < a.size && size < b.size && a.data[size] == b.data[size])
        size++;
    return size;
}

/* Searches byte by byte: the tree cannot look up a row by its number. */
enum kx_status table_find_share(struct env *env, enum table table,
                                const struct engine_place *place,
                                struct kx_buffer *key)
{
    struct scale scale = scale_of(env, table);
    struct kx_slice start = place->start;
    struct kx_slice end = place->end;
    double before = start.size == 0 ? 0 : share_before(&scale, start);
    double part = share_between(&scale, start, end);
    struct bisection bisection = {.scale = &scale,
                                  .key = key,
                                  .target = before + place->share * part,
                                  .enough = part / 1000};
    kx_buffer_clear(key);
    kx_add(key, start.data, common_size(start, end));
    kx_buffer_reserve(key, ROW_KEY_MAX);
    while (!key->failed && key->size < ROW_KEY_MAX - 1 &&
           bisection.descents < DESCENTS_MAX && add_byte(&bisection))
        ;
    struct kx_slice nearest = start;
    if (kx_compare(kx_buffer_slice(key), end) >= 0)
        nearest = end;
    else if (kx_compare(kx_buffer_slice(key), start) >= 0)
        return key->failed ? KX_NO_MEMORY : KX_OK;
    kx_buffer_clear(key);
    kx_add_slice(key, nearest);
    return key->failed ? KX_NO_MEMORY : KX_OK;
}
