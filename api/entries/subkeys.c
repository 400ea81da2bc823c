/* Finds entries under a key by one seek. */
#include "entries/subkeys.h"

#include "entries/explain_request.h"
#include "http/problem.h"
#include "rest/answer.h"

bool subkeys_range(const struct request *request, struct kx_slice key,
                   const void *memory, struct selector *range_out)
{
    struct selection selection;
    struct input_error error;
    selection_init(&selection, memory);
    selection.has_prefix = true;
    kx_add_slice(&selection.prefix, key);
    if (selection.prefix.failed ||
        !selector_make(&selection, memory, range_out, &error))
        return false;
    range_out->range.yields = range_out->range.count_only = true;
    return selector_visible(request, SCOPE_LIST, range_out);
}

bool subkeys_exist(struct kx_reader *reader, const struct selector *range)
{
    struct kx_entry entry;
    struct kx_fault fault = {0};
    bool exist = selector_scan(range, reader, &fault) == KX_OK &&
                 kx_scan_next(reader, &entry) == KX_OK;
    kx_scan_end(reader);
    return exist;
}

bool subkeys_find(struct request *request, struct reply *reply,
                  struct kx_slice key, struct kx_buffer *out)
{
    struct selector range;
    if (!subkeys_range(request, key, request->memory, &range))
        return false;
    kx_read_begin(request->reader);
    bool exist = subkeys_exist(request->reader, &range);
    uint64_t flush = kx_read_end(request->reader);
    if (flush > reply->flush)
        reply->flush = flush;
    if (exist)
        explain_request_prefix(key, out);
    return exist && !out->failed;
}

void subkeys_absent(struct request *request, struct reply *reply,
                    struct kx_slice key)
{
    struct kx_buffer under;
    const char *text = answer_key_text(request, key);
    kx_buffer_init(&under, request->memory);
    if (!subkeys_find(request, reply, key, &under)) {
        problem(request, reply, PROBLEM_KEY_NOT_FOUND, "There is no entry %s.",
                text);
        return;
    }
    problem(request, reply, PROBLEM_KEY_NOT_FOUND,
            "There is no entry %s, but there are entries under it: GET %.*s "
            "lists them.",
            text, (int)under.size, (const char *)under.data);
    problem_member_text(reply, "listedAt", kx_buffer_slice(&under));
}
