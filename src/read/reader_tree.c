/* The children of a prefix. The first rows of a child are counted; if there are
 * more, their number is estimated, and the scan skips them by one descent of
 * the tree. */
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
static enum kx_status continue_after(struct kx_tree *tree, struct kx_slice key,
                                     uint8_t byte)
{
    kx_buffer_clear(&tree->next);
    kx_add_slice(&tree->next, key);
    kx_add_byte(&tree->next, byte);
    return tree->next.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status continue_at(struct kx_tree *tree, struct kx_slice key)
{
    kx_buffer_clear(&tree->next);
    kx_add_slice(&tree->next, key);
    return tree->next.failed ? KX_NO_MEMORY : KX_OK;
}

/* Skips the other rows of the child: KX_END. */
static enum kx_status jump(struct kx_reader *reader, struct kx_tree *tree)
{
    size_t counted = tree->below.rows + tree->entry;
    enum kx_status status =
        continue_after(tree, kx_buffer_slice(&tree->child), 0xff);
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
    return status == KX_OK ? KX_END : status;
}

/* Returns the size of the child's key within the row's key; 0 if the row's key
 * has no part after the prefix, as in an index for the value that is the prefix
 * itself. */
static size_t child_size(const struct kx_tree *tree, struct kx_slice key)
{
    size_t size = tree->prefix_size;
    if (key.size <= size)
        return 0;
    return size + kx_part_size(kx_slice(key.data + size, key.size - size));
}

/* Counts a row of the child; the first row makes the child. */
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

/* True if the row does not belong to the present child, or no child is present.
 */
static bool is_of_other(const struct kx_tree *tree, struct kx_slice key)
{
    struct kx_slice child = kx_buffer_slice(&tree->child);
    return child.size > 0 &&
           (child_size(tree, key) != child.size || !kx_starts_with(key, child));
}

/* A row was read. KX_END: the child is complete. */
static enum kx_status take_row(struct kx_reader *reader, struct kx_tree *tree,
                               struct kx_slice key)
{
    enum kx_status status = KX_OK;
    size_t size = child_size(tree, key);
    if (is_of_other(tree, key)) {
        tree->held = true;
        status = continue_at(tree, key);
        return status == KX_OK ? KX_END : status;
    }
    if (size > 0)
        status = count(tree, key, size);
    if (status == KX_OK && tree->below.rows > COUNTED_MAX)
        status = jump(reader, tree);
    return status;
}

/* Many hidden rows were skipped before this one. */
static enum kx_status take_hidden(struct kx_reader *reader,
                                  struct kx_tree *tree, struct kx_slice key)
{
    bool found = tree->child.size > 0;
    if (found && !is_of_other(tree, key))
        return jump(reader, tree);
    enum kx_status status = continue_after(tree, key, 0x00);
    if (status != KX_OK)
        return status;
    return found ? KX_END : KX_AGAIN;
}

/* Begins with the row that the last child has ended with, if there is one. */
static enum kx_status begin_child(struct kx_reader *reader,
                                  struct kx_tree *tree, struct kx_fault *fault)
{
    struct kx_slice key;
    enum kx_status status = tree->ended ? KX_END : KX_OK;
    if (status == KX_OK && !reader->scanning)
        status = open_scan(reader, tree, fault);
    kx_buffer_clear(&tree->child);
    tree->below = (struct kx_estimate){.exact = true};
    tree->known = true;
    tree->entry = false;
    key = kx_buffer_slice(&tree->next);
    if (status == KX_OK && tree->held)
        status = count(tree, key, child_size(tree, key));
    tree->held = false;
    return status;
}

static enum kx_status end_child(struct kx_reader *reader, struct kx_tree *tree)
{
    bool found = tree->child.size > 0;
    if (tree->ended)
        kx_scan_end(reader);
    if (!found || !tree->ended)
        return found ? KX_OK : KX_END;
    return tree->end.size > 0
               ? continue_at(tree, tree->end)
               : continue_after(tree, kx_buffer_slice(&tree->child), 0xff);
}

enum kx_status kx_tree_next(struct kx_reader *reader, struct kx_tree *tree,
                            struct kx_fault *fault)
{
    struct kx_entry entry;
    enum kx_status status = begin_child(reader, tree, fault);
    while (status == KX_OK) {
        status = kx_scan_next(reader, &entry);
        tree->ended = status == KX_END;
        if (status == KX_OK)
            status = take_row(reader, tree, kx_scan_position(reader));
        else if (status == KX_AGAIN)
            status = take_hidden(reader, tree, kx_scan_position(reader));
    }
    return status == KX_END ? end_child(reader, tree) : status;
}
