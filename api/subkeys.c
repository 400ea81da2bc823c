/* Entries under a key, found by one seek. */
#include "subkeys.h"

#include "access.h"
#include "ask.h"

/* All keys that have more parts than this one. */
static bool select_under(struct kx_slice key, const void *memory,
                         struct selector *selector_out)
{
    struct selection selection;
    struct flaw flaw;
    selection_init(&selection, memory);
    selection.has_prefix = true;
    kx_add_slice(&selection.prefix, key);
    return !selection.prefix.failed &&
           selector_make(&selection, memory, selector_out, &flaw);
}

/* Where very many rows are hidden (they have expired, say), the scan gives up:
 * then nothing is said. */
static bool has_entries(struct request *request, struct reply *reply,
                        const struct selector *selector)
{
    struct kx_entry entry;
    struct kx_fault fault = {0};
    kx_read_begin(request->reader);
    bool found = selector_scan(selector, request->reader, &fault) == KX_OK &&
                 kx_scan_next(request->reader, &entry) == KX_OK;
    uint64_t flush = kx_read_end(request->reader);
    if (flush > reply->flush)
        reply->flush = flush;
    return found;
}

bool subkeys_find(struct request *request, struct reply *reply,
                  struct kx_slice key, struct kx_buffer *out)
{
    struct selector selector;
    if (!select_under(key, request->memory, &selector)) {
        out->failed = true;
        return false;
    }
    selector.range.yields = selector.range.count_only = true;
    if (!access_selects(request, SCOPE_LIST, &selector) ||
        !has_entries(request, reply, &selector))
        return false;
    ask_prefix(key, out);
    return !out->failed;
}
