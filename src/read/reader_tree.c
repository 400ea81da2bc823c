/* The children of a prefix. The rows of a child are counted as far as they are
 * few; then their number is estimated, and the scan goes on after them by one
 * descent of the tree. */
#include "read/reader_state.h"
#include "engine/engine.h"

/* Rows below a child that are read, but for one. With the child's own row they
 * are what an engine reads at first when it is remote. */
enum { COUNTED_MAX = 30 };

void kx_tree_init(struct kx_tree *tree, const void *mem)
{
    *tree = (struct kx_tree){.ended = false};
    kx_buffer_init(&tree->child, mem);
    kx_buffer_init(&tree->next, mem);
}

static enum kx_status open_scan(struct kx_reader *reader, struct kx_tree *tree,
                                struct kx_fault *fault)
{
    struct kx_range range = {.start = tree->start,
                             .end = tree->end,
                             .yields = true,
                             .count_only = true};
    if (tree->next.size > 0)
        range.start = kx_buffer_slice(&tree->next);
    tree->held = false;
    if (range.end.size > 0 && kx_compare(range.start, range.end) >= 0)
        return KX_END;
    if (tree->index.size > 0)
        return kx_scan_index(reader, tree->index, &range, fault);
    return kx_scan(reader, &range, fault);
}

/* 00 sorts before every part that can follow a key, and FF after. */
static enum kx_status go_on_after(struct kx_tree *tree, struct kx_slice key,
                                  uint8_t byte)
{
    kx_buffer_clear(&tree->next);
    kx_add_slice(&tree->next, key);
    kx_add_byte(&tree->next, byte);
    return tree->next.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status hold(struct kx_tree *tree, struct kx_slice key)
{
    kx_buffer_clear(&tree->next);
    kx_add_slice(&tree->next, key);
    tree->held = true;
    return tree->next.failed ? KX_NO_MEMORY : KX_OK;
}

/* The other rows of the child are passed over. */
static enum kx_status jump(struct kx_reader *reader, struct kx_tree *tree)
{
    size_t counted = tree->below.rows + tree->entry;
    enum kx_status status =
        go_on_after(tree, kx_buffer_slice(&tree->child), 0xff);
    if (status != KX_OK)
        return status;
    tree->below.exact = false;
    tree->known = !engine_remote(reader->store->engine);
    if (tree->known)
        tree->below.rows =
            reader_estimate_under(reader, tree->child.size, counted) -
            tree->entry;
    status = reader_scan_jump(reader, kx_buffer_slice(&tree->next));
    tree->ended = status == KX_END;
    return status == KX_END ? KX_OK : status;
}

/* Bytes of the row's key as far as a child's goes; 0: it has no such part, as
 * the very value that is the prefix in an index. */
static size_t child_size(const struct kx_tree *tree, struct kx_slice key)
{
    size_t size = tree->prefix_size;
    if (key.size <= size)
        return 0;
    return size + kx_part_size(kx_slice(key.data + size, key.size - size));
}

/* Counts a row of the child, which is a new one if there is none so far. */
static enum kx_status count(struct kx_tree *tree, struct kx_slice key,
                            size_t size)
{
    struct kx_buffer *child = &tree->child;
    if (size == tree->prefix_size)
        return KX_FAILED;
    if (child->size == 0)
        kx_add(child, key.data, size);
    if (size == key.size)
        tree->entry = true;
    else
        tree->below.rows++;
    return child->failed ? KX_NO_MEMORY : KX_OK;
}

/* A row was read, or rows that are hidden were passed over up to it. KX_END:
 * the child is complete. */
static enum kx_status take(struct kx_reader *reader, struct kx_tree *tree,
                           struct kx_slice key, bool hidden)
{
    enum kx_status status = KX_OK;
    size_t size = child_size(tree, key);
    bool other = size != tree->child.size ||
                 !kx_starts_with(key, kx_buffer_slice(&tree->child));
    if (tree->child.size > 0 ? other : hidden) {
        status = hidden ? go_on_after(tree, key, 0x00) : hold(tree, key);
        if (status == KX_OK)
            status = tree->child.size > 0 ? KX_END : KX_AGAIN;
        return status;
    }
    if (!hidden && size > 0)
        status = count(tree, key, size);
    if (status == KX_OK && (hidden || tree->below.rows > COUNTED_MAX)) {
        status = jump(reader, tree);
        return status == KX_OK ? KX_END : status;
    }
    return status;
}

enum kx_status kx_tree_next(struct kx_reader *reader, struct kx_tree *tree,
                            struct kx_fault *fault)
{
    struct kx_entry entry;
    enum kx_status status = tree->ended ? KX_END : KX_OK;
    if (status == KX_OK && !reader->scanning)
        status = open_scan(reader, tree, fault);
    kx_buffer_clear(&tree->child);
    tree->below = (struct kx_estimate){.exact = true};
    tree->known = true;
    tree->entry = false;
    if (status == KX_OK && tree->held) {
        struct kx_slice key = kx_buffer_slice(&tree->next);
        status = count(tree, key, child_size(tree, key));
    }
    tree->held = false;
    while (status == KX_OK) {
        status = kx_scan_next(reader, &entry);
        tree->ended = status == KX_END;
        if (status == KX_OK || status == KX_AGAIN)
            status = take(reader, tree, kx_scan_position(reader),
                          status == KX_AGAIN);
    }
    if (tree->ended)
        kx_scan_end(reader);
    if (status != KX_END || tree->child.size == 0)
        return status;
    return tree->ended ? go_on_after(tree, kx_buffer_slice(&tree->child), 0xff)
                       : KX_OK;
}
