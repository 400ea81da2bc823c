/* POST /indexes/discover: the indexes that an application keeps by hand, and
 * how right they are. The entries are read in slices, so that commits wait no
 * longer than for a list. */
#include <talloc.h>

#include "access/access.h"
#include "indexes/index_handlers.h"
#include "rest/answer.h"
#include "rest/indexjson.h"
#include "rest/query_params.h"
#include "rest/refusal.h"

enum {
    SLICE_ENTRIES = 1000,
    SLICES_PER_WEIGHING = 16 /* slices between two counts of the memory */
};

struct discovering {
    struct kx_buffer prefix;
    struct kx_discovery *discovery; /* NULL: not begun */
    unsigned slices;
    bool more; /* slices follow */
};

static void write_number(const char *name, uint64_t number,
                         struct kx_buffer *out)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%llu", name,
             (unsigned long long)number);
    kx_add_text(out, text);
}

static void write_found(const struct kx_hand_index *found,
                        struct kx_buffer *out)
{
    bool some = false;
    kx_add_text(out, "{\"declaration\":");
    kx_add_slice(out, found->declaration);
    kx_add_text(out, ",\"prefix\":");
    kx_key_to_json(found->prefix, out);
    kx_add_text(out, ",\"holds\":\"");
    kx_add_text(out, kx_hand_form_text(found->form));
    kx_add_text(out,
                found->fits ? "\",\"rewrites\":false" : "\",\"rewrites\":true");
    write_number("entries", found->entries, out);
    write_number("agree", found->agree, out);
    for (int damage = 0; damage < KX_DAMAGES; damage++)
        write_number(kx_damage_text((enum kx_damage)damage),
                     found->counts[damage], out);
    kx_add_text(out, ",\"samples\":[");
    for (int damage = 0; damage < KX_DAMAGES; damage++)
        indexjson_write_damaged((enum kx_damage)damage, found->samples[damage],
                                found->sample_counts[damage], &some, out);
    kx_add_text(out, "]}");
}

static void write_result(const struct kx_discovery *discovery,
                         struct kx_buffer *out)
{
    const struct kx_hand_index *found;
    kx_add_text(out, "{\"indexes\":[");
    for (size_t n = 0; (found = kx_discover_found(discovery, n)) != NULL; n++) {
        kx_add(out, ",", n > 0);
        write_found(found, out);
    }
    kx_add_byte(out, ']');
    write_number("surveyed", kx_discover_surveyed(discovery), out);
    write_number("leftOut", kx_discover_left_out(discovery), out);
    kx_add_byte(out, '}');
}

static bool read_prefix(struct request *request,
                        struct discovering *discovering,
                        struct input_error *error)
{
    struct query_params query;
    kx_buffer_init(&discovering->prefix, request->memory);
    return query_params_read(request->query, TAKES_PREFIX, request->memory,
                             &query, error) &&
           (!query_params_has(&query, PARAMETER_PREFIX) ||
            query_params_key(&query, PARAMETER_PREFIX, &discovering->prefix,
                             error));
}

/* Examines some entries. */
static enum kx_status next_slice(struct request *request, struct reply *reply,
                                 struct discovering *discovering)
{
    struct kx_slice prefix = kx_buffer_slice(&discovering->prefix);
    enum kx_status status = KX_OK;
    if (discovering->discovery == NULL)
        status =
            kx_discover_begin(request->memory, prefix, &discovering->discovery);
    if (status != KX_OK)
        return status;
    kx_read_begin(request->reader);
    status = kx_discover_next(discovering->discovery, request->reader,
                              SLICE_ENTRIES);
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        reply->flush = flush;
    if (discovering->slices++ % SLICES_PER_WEIGHING == 0)
        request->kept = talloc_total_size(discovering->discovery);
    return status;
}

/* The rights are checked for each slice, since an index may have been declared
 * since the last one. */
static void discover_slice(struct request *request, struct reply *reply,
                           void *arg)
{
    struct discovering *discovering = arg;
    struct input_error error;
    struct kx_fault fault = {0};
    bool begun = discovering->discovery != NULL;
    discovering->more = false;
    if (!begun && !read_prefix(request, discovering, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    struct kx_slice prefix = kx_buffer_slice(&discovering->prefix);
    if (!access_key(request, reply, SCOPE_LIST, prefix) ||
        !access_key(request, reply, SCOPE_READ, prefix))
        return;
    fault.status = next_slice(request, reply, discovering);
    discovering->more = fault.status == KX_OK;
    if (discovering->more)
        return;
    if (fault.status != KX_END) {
        refuse_key(request, reply, &fault, prefix);
        return;
    }
    answer_json(reply, 200);
    write_result(discovering->discovery, &reply->body);
}

void index_discover(struct request *request, struct reply *reply)
{
    struct discovering discovering = {.discovery = NULL};
    while (access_admit_again(request, reply) &&
           request_read(request, discover_slice, &discovering) &&
           discovering.more && request_turn(request))
        ;
}
