/* Walks over the children of a prefix, compared with a model that reads every
 * key: on random trees, in one view or in many, from any start. */
#include "store.h"

#include "kindex/tree.h"

enum { KEYS = 1500, WALKS = 60, VIEW_CHILDREN = 3 };

/* A child in the model. */
struct model_child {
    struct kx_slice key;
    bool entry;
    uint64_t below;
};

static unsigned long long seed = 20261126;

static unsigned draw(unsigned bound)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % bound;
}

/* A part of which the encoding of one begins with that of another, or not. */
static const char *draw_part(void)
{
    static const char *const PARTS[] = {
        "\"a\"", "\"a\\u0000\"", "\"ab\"", "\"a\\u0000b\"", "1",
        "2",     "true",         "\"\""};
    return PARTS[draw(8)];
}

static char *draw_key(void *mem, unsigned longest)
{
    char *key = talloc_strdup(mem, "[");
    unsigned parts = 1 + draw(longest);
    for (unsigned i = 0; i < parts; i++)
        key =
            talloc_asprintf_append(key, "%s%s", i == 0 ? "" : ",", draw_part());
    return talloc_asprintf_append(key, "]");
}

static size_t part_end(struct kx_slice key, size_t from)
{
    return from + kx_part_size(kx_slice(key.data + from, key.size - from));
}

/* The children of all keys in [start, end), by a scan. */
static size_t read_children(struct story *s, const struct kx_range *range,
                            size_t prefix_size, struct model_child *out)
{
    struct kx_entry entry;
    size_t count = 0;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_scan(s->test.reader, range, NULL), KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK) {
        size_t size = part_end(entry.key, prefix_size);
        struct kx_slice key = kx_slice(entry.key.data, size);
        if (count == 0 || !kx_equal(out[count - 1].key, key))
            out[count++] = (struct model_child){
                .key = kx_slice(talloc_memdup(s->mem, key.data, size), size)};
        if (entry.key.size == size)
            out[count - 1].entry = true;
        else
            out[count - 1].below++;
    }
    kx_read_end(s->test.reader);
    return count;
}

/* Begins a new view after every few children. */
static size_t walk(struct story *s, struct kx_tree *tree,
                   const struct model_child *model, size_t count)
{
    size_t found = 0;
    enum kx_status status = KX_OK;
    while (status == KX_OK || status == KX_AGAIN) {
        kx_read_begin(s->test.reader);
        for (unsigned i = 0; i < VIEW_CHILDREN; i++) {
            status = kx_tree_next(s->test.reader, tree, NULL);
            if (status != KX_OK)
                break;
            assert_true(found < count);
            assert_true(
                kx_equal(kx_buffer_slice(&tree->child), model[found].key));
            assert_int_equal(tree->entry, model[found].entry);
            assert_true(tree->known);
            if (tree->below.exact)
                assert_int_equal(tree->below.rows, model[found].below);
            else
                assert_true(model[found].below > 30);
            found++;
        }
        kx_read_end(s->test.reader);
    }
    assert_int_equal(status, KX_END);
    return found;
}

static struct kx_slice extend(void *mem, struct kx_slice key, uint8_t byte)
{
    struct kx_buffer buffer;
    kx_buffer_init(&buffer, mem);
    kx_add_slice(&buffer, key);
    kx_add_byte(&buffer, byte);
    return kx_buffer_slice(&buffer);
}

TEST_WITH(tree_walks_equal_a_scan, begin, finish)
{
    struct story *s = *state;
    static struct model_child model[KEYS];
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(test_set(&s->test, s->mem, draw_key(s->mem, 5), "1"),
                         KX_OK);
    for (unsigned i = 0; i < WALKS; i++) {
        struct kx_tree tree;
        struct kx_slice prefix = kx_slice(NULL, 0);
        if (i > 0)
            prefix = test_key(s->mem, draw_key(s->mem, 3));
        struct kx_range range = {.start = extend(s->mem, prefix, 0x00),
                                 .end = extend(s->mem, prefix, 0xff)};
        struct kx_slice other = test_key(s->mem, draw_key(s->mem, 5));
        if (kx_starts_with(other, prefix) &&
            kx_compare(other, range.start) > 0 &&
            kx_compare(other, range.end) < 0)
            range.start = other;
        size_t count = read_children(s, &range, prefix.size, model);
        kx_tree_init(&tree, s->mem);
        tree.start = range.start;
        tree.end = range.end;
        tree.prefix_size = prefix.size;
        assert_int_equal(walk(s, &tree, model, count), count);
    }
}

static const char *of_one(void *mem, int n)
{
    (void)mem;
    (void)n;
    return "1";
}

/* Children of very different sizes: few rows are read of each, and an estimate
 * is of the right size. */
TEST_WITH(tree_estimates_large_children, begin, finish)
{
    struct story *s = *state;
    static const int SIZES[] = {3, 9000, 40, 700, 31, 12000};
    struct kx_reads reads = {0};
    struct kx_tree tree;
    for (unsigned i = 0; i < 6; i++)
        for (int first = 0; first < SIZES[i]; first += 1000)
            test_fill(&s->test, talloc_asprintf(s->mem, "p%u", i), first,
                      SIZES[i] - first < 1000 ? SIZES[i] - first : 1000,
                      of_one);
    kx_tree_init(&tree, s->mem);
    tree.start = extend(s->mem, kx_slice(NULL, 0), 0x00);
    tree.end = extend(s->mem, kx_slice(NULL, 0), 0xff);
    kx_read_begin(s->test.reader);
    kx_reader_count(s->test.reader, &reads);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(kx_tree_next(s->test.reader, &tree, NULL), KX_OK);
        assert_int_equal(tree.below.exact, SIZES[i] <= 30);
        assert_in_range(tree.below.rows, SIZES[i] / 3, SIZES[i] * 3);
    }
    assert_int_equal(kx_tree_next(s->test.reader, &tree, NULL), KX_END);
    assert_int_equal(kx_tree_next(s->test.reader, &tree, NULL), KX_END);
    kx_reader_count(s->test.reader, NULL);
    kx_read_end(s->test.reader);
    assert_in_range(reads.entries, 6, 6 * 33);
}
