/* GET /indexes/{name}/conflicts: groups of entries that have the same value in
 * a unique index, in pages. A page ends after a group, or within a very large
 * group, which the next page continues. */
#include "indexes/index_handlers.h"

#include "access/access.h"
#include "rest/answer.h"
#include "indexes/index_find.h"
#include "rest/cursor.h"
#include "rest/refusal.h"
#include "rest/query_params.h"

enum { KEYS_MAX = KX_PAGE_MAX };

struct conflict_page {
    struct kx_slice name;
    struct cursor_page paging;
    size_t groups;
    size_t keys;
    bool open; /* a group is begun and not ended */
};

static bool read_page(struct request *request, struct conflict_page *page,
                      struct input_error *error)
{
    struct kx_range range = {.start = kx_text("conflicts")};
    page->paging.limit = PAGE_LIMIT_DEFAULT;
    page->paging.list = cursor_list(page->name, &range);
    return cursor_page_read(request, &page->paging, error);
}

static void close_group(struct conflict_page *page, struct kx_buffer *out)
{
    if (page->open)
        kx_add_text(out, "]}");
    page->open = false;
}

static void add_conflict(struct conflict_page *page,
                         const struct kx_conflict *conflict,
                         struct kx_buffer *out)
{
    if (conflict->first)
        close_group(page, out);
    if (page->open) {
        kx_add_byte(out, ',');
    } else {
        kx_add_text(out, page->groups++ == 0 ? "{\"value\":" : ",{\"value\":");
        kx_key_to_json(conflict->value, out);
        kx_add_text(out, ",\"keys\":[");
    }
    page->open = true;
    page->keys++;
    kx_key_to_json(conflict->key, out);
}

/* Adds groups until the page is full. KX_OK: more groups follow after
 * page->paging.after. KX_END: no groups follow. */
static enum kx_status add_all(struct conflict_page *page,
                              struct kx_reader *reader, struct kx_buffer *out)
{
    struct kx_conflict conflict;
    enum kx_status status;
    while ((status = kx_conflict_next(reader, &conflict)) == KX_OK) {
        /* A group begins only if at least two of its keys fit. */
        bool full = page->keys + conflict.first >= KEYS_MAX ||
                    (conflict.first && page->groups == page->paging.limit);
        if (full && (conflict.first || page->open))
            break;
        add_conflict(page, &conflict, out);
        if (conflict.first)
            continue;
        page->paging.after.size = 0;
        kx_add_slice(&page->paging.after, kx_conflict_position(reader));
    }
    close_group(page, out);
    out->failed |= page->paging.after.failed;
    return status;
}

static void add_cursor(const struct conflict_page *page, bool more,
                       struct kx_buffer *out)
{
    if (!more) {
        kx_add_text(out, "],\"cursor\":null}");
        return;
    }
    kx_add_text(out, "],\"cursor\":\"");
    cursor_write(page->paging.list, kx_buffer_slice(&page->paging.after), out);
    kx_add_text(out, "\"}");
}

static enum kx_status write_page(struct request *request, struct reply *reply,
                                 struct conflict_page *page,
                                 struct kx_fault *fault)
{
    struct kx_index_info info;
    enum kx_status status =
        kx_conflicts(request->reader, page->name,
                     kx_buffer_slice(&page->paging.after), fault);
    if (status == KX_OK)
        status = kx_index_find(request->reader, page->name, &info);
    if (status != KX_OK)
        return status;
    kx_add_text(&reply->body, "{\"index\":");
    kx_json_escape(page->name, &reply->body);
    kx_add_text(&reply->body, ",\"state\":\"");
    kx_add_text(&reply->body, kx_index_state_text(info.state));
    kx_add_text(&reply->body, "\",\"conflicts\":[");
    status = add_all(page, request->reader, &reply->body);
    if (status != KX_OK && status != KX_END)
        return status;
    add_cursor(page, status == KX_OK, &reply->body);
    return KX_OK;
}

static void list_conflicts(struct request *request, struct reply *reply,
                           void *arg)
{
    (void)arg;
    struct conflict_page page = {.groups = 0};
    struct kx_buffer name;
    struct kx_fault fault = {0};
    struct input_error error;
    if (!request_key_index(request, &name, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    page.name = kx_buffer_slice(&name);
    if (!read_page(request, &page, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!access_counts(request, reply, page.name))
        return;
    answer_json(reply, 200);
    kx_read_begin(request->reader);
    fault.status = write_page(request, reply, &page, &fault);
    reply->flush = kx_read_end(request->reader);
    if (fault.status == KX_INDEX_ABSENT) {
        index_missing(request, reply, page.name);
        return;
    }
    if (fault.status != KX_OK) {
        refuse_read(request, reply, &fault, page.name);
        return;
    }
}

void index_conflicts(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, list_conflicts, NULL);
}
