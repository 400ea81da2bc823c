/* /rules: declarations of rules, their states, and the entries that violate
 * them. Entries are read in slices: each slice is a view, so commits come
 * between the slices of one answer. */
#include "indexes/index_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/cursor.h"
#include "rest/query_params.h"
#include "rest/refusal.h"

/* Entries of a slice: each is tested. */
enum { SLICE_ENTRIES = 500 };

static void add_number(const char *name, uint64_t number, struct kx_buffer *out)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%" PRIu64, name, number);
    kx_add_text(out, text);
}

static void missing(struct request *request, struct reply *reply,
                    struct kx_slice name)
{
    problem(
        request, reply, PROBLEM_RULE_NOT_FOUND, "There is no rule %.*s.",
        (int)(name.size < KX_INDEX_NAME_MAX ? name.size : KX_INDEX_NAME_MAX),
        (const char *)name.data);
    if (kx_utf8_valid(name))
        problem_member_text(reply, "rule", name);
}

/* ---- GET ----------------------------------------------------------------- */

/* Appends the declaration with the state. The number of violations is left out
 * for a caller that may not list the entries. Inside a view. */
static void write_rule(const struct request *request,
                       const struct kx_rule_info *info, struct kx_buffer *out)
{
    kx_add(out, info->declaration.data, info->declaration.size - 1);
    kx_add_text(out, ",\"state\":\"");
    kx_add_text(out, kx_rule_state_text(info->state));
    kx_add_byte(out, '"');
    if (access_covers(request, SCOPE_LIST, info->prefix)) {
        add_number("violations", info->violations, out);
        if (info->state == KX_INDEX_BUILDING) {
            add_number("done", info->done, out);
            add_number("total", info->total, out);
        }
    }
    kx_add_byte(out, '}');
}

static void list_all(struct request *request, struct reply *reply, void *arg)
{
    struct kx_rule_info info;
    bool some = false;
    (void)arg;
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"rules\":[");
    kx_read_begin(request->reader);
    for (size_t n = 0; kx_rule_at(request->reader, n, &info) == KX_OK; n++) {
        if (!access_covers(request, SCOPE_READ, info.prefix))
            continue;
        kx_add(&reply->body, ",", some);
        write_rule(request, &info, &reply->body);
        some = true;
    }
    reply->flush = kx_read_end(request->reader);
    kx_add_text(&reply->body, "]}");
}

void rule_list(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    request_read(request, list_all, NULL);
}

static void show(struct request *request, struct reply *reply, void *arg)
{
    const struct kx_slice *name = arg;
    struct kx_rule_info info;
    if (reply->status == 0 && !access_rule(request, reply, SCOPE_READ, *name))
        return;
    kx_read_begin(request->reader);
    bool found = kx_rule_find(request->reader, *name, &info) == KX_OK;
    if (found)
        write_rule(request, &info, &reply->body);
    uint64_t flush = kx_read_end(request->reader);
    if (!found) {
        missing(request, reply, *name);
        return;
    }
    if (reply->status == 0)
        answer_json(reply, 200);
    reply->flush = flush;
}

/* Reads the name in the path, and no parameter. */
static bool only_name(struct request *request, struct reply *reply,
                      struct kx_buffer *name_out)
{
    struct input_error error;
    if (query_params_none(request, &error) &&
        request_key_index(request, name_out, &error))
        return true;
    input_error_reply(request, reply, &error);
    return false;
}

void rule_show(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    if (!only_name(request, reply, &name))
        return;
    struct kx_slice text = kx_buffer_slice(&name);
    request_read(request, show, &text);
}

/* ---- Entries that violate a rule ----------------------------------------- */

/* A walk through the entries that a rule covers. */
struct rule_walk {
    struct kx_slice name;
    struct kx_rule *rule;
    struct kx_buffer end;
    struct cursor_page paging; /* `after` is the place of the walk */
    struct kx_buffer found;    /* elements of a JSON array */
    uint64_t read;
    uint64_t violations;
    size_t shown_max; /* of `found`; the walk of a page ends there */
    bool is_page;
    bool more;
    uint64_t flush;
};

/* A value is shown only to a caller that may read it. Inside a view. */
static void add_violation(const struct request *request,
                          const struct kx_entry *entry,
                          const struct kx_violation *violation,
                          struct kx_buffer *out)
{
    kx_add_text(out, out->size == 0 ? "{\"key\":" : ",{\"key\":");
    kx_key_to_json(entry->key, out);
    kx_add_text(out, ",\"member\":\"");
    kx_add_text(out, violation->member);
    kx_add_text(out, "\",\"pointer\":");
    kx_json_escape(violation->pointer, out);
    if (violation->value.size != 0 &&
        access_covers(request, SCOPE_READ, entry->key)) {
        kx_add_text(out, ",\"found\":");
        kx_add_slice(out, violation->value);
    }
    kx_add_text(out, ",\"expected\":");
    kx_json_escape(violation->expected, out);
    kx_add_byte(out, '}');
}

static enum kx_status test_entry(const struct request *request,
                                 struct rule_walk *walk,
                                 const struct kx_entry *entry)
{
    struct kx_violation violation;
    enum kx_status status =
        kx_rule_test(request->reader, walk->rule, entry, &violation);
    walk->read += status != KX_ABSENT;
    if (status != KX_RULE_VIOLATED)
        return status == KX_ABSENT ? KX_OK : status;
    if (walk->violations++ < walk->shown_max)
        add_violation(request, entry, &violation, &walk->found);
    return KX_OK;
}

/* KX_OK: more entries may follow. KX_END: all are tested, or the page is full,
 * with walk->more if entries may follow. */
static enum kx_status test_slice(const struct request *request,
                                 struct rule_walk *walk)
{
    struct kx_entry entry;
    enum kx_status status = KX_OK;
    bool full = false;
    for (unsigned i = 0; i < SLICE_ENTRIES && status == KX_OK && !full; i++) {
        status = kx_scan_next(request->reader, &entry);
        if (status == KX_OK)
            status = test_entry(request, walk, &entry);
        full = walk->is_page && walk->violations == walk->shown_max;
    }
    if (status != KX_OK && status != KX_AGAIN)
        return status;
    walk->paging.after.size = 0;
    kx_add_slice(&walk->paging.after, kx_scan_position(request->reader));
    walk->more = full;
    return walk->paging.after.failed ? KX_NO_MEMORY : full ? KX_END : KX_OK;
}

/* Begins a walk through the entries with the prefix of a rule. */
static bool begin_walk(struct rule_walk *walk, const void *memory)
{
    kx_buffer_init(&walk->end, memory);
    kx_add_slice(&walk->end, kx_rule_prefix(walk->rule));
    kx_add_byte(&walk->end, 0xff);
    return !walk->end.failed;
}

/* Tests one slice in a new view. */
static enum kx_status walk_slice(struct request *request,
                                 struct rule_walk *walk, struct kx_fault *fault)
{
    struct kx_range range = {.start = kx_rule_prefix(walk->rule),
                             .end = kx_buffer_slice(&walk->end),
                             .after = kx_buffer_slice(&walk->paging.after),
                             .yields = true};
    kx_read_begin(request->reader);
    enum kx_status status = kx_scan(request->reader, &range, fault);
    if (status == KX_OK)
        status = test_slice(request, walk);
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        walk->flush = flush;
    return status;
}

/* Runs the section until the reply is complete. */
static void walk_all(struct request *request, struct reply *reply,
                     section_fn *section, struct rule_walk *walk)
{
    while (request_read(request, section, walk) && reply->status == 0 &&
           request_turn(request))
        ;
}

/* ---- GET /rules/{name}/violations ---------------------------------------- */

static void answer_page(const struct rule_walk *walk, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    answer_json(reply, 200);
    kx_add_text(out, "{\"rule\":");
    kx_json_escape(walk->name, out);
    kx_add_text(out, ",\"violations\":[");
    kx_add_slice(out, kx_buffer_slice(&walk->found));
    if (walk->more) {
        kx_add_text(out, "],\"cursor\":\"");
        cursor_write(walk->paging.list, kx_buffer_slice(&walk->paging.after),
                     out);
        kx_add_text(out, "\"}");
    } else {
        kx_add_text(out, "],\"cursor\":null}");
    }
    out->failed |= walk->found.failed;
    reply->flush = walk->flush;
}

/* Reads the declaration again in each slice, since the rule may have been
 * replaced. False: there is no such rule. */
static bool find_rule(struct request *request, struct rule_walk *walk,
                      struct kx_buffer *text)
{
    struct kx_rule_info info;
    kx_read_begin(request->reader);
    bool found = kx_rule_find(request->reader, walk->name, &info) == KX_OK;
    if (found)
        kx_add_slice(text, info.declaration);
    kx_read_end(request->reader);
    return found;
}

static void list_section(struct request *request, struct reply *reply,
                         void *arg)
{
    struct rule_walk *walk = arg;
    struct kx_buffer text;
    struct kx_fault fault = {.detail = ""};
    kx_buffer_init(&text, request->memory);
    if (!access_rule(request, reply, SCOPE_LIST, walk->name))
        return;
    if (!find_rule(request, walk, &text)) {
        missing(request, reply, walk->name);
        return;
    }
    talloc_free(walk->rule);
    walk->rule = NULL;
    fault.status = kx_rule_read(request->memory, kx_buffer_slice(&text),
                                &walk->rule, &fault);
    if (fault.status == KX_OK && !begin_walk(walk, request->memory))
        fault.status = KX_NO_MEMORY;
    if (fault.status == KX_OK)
        fault.status = walk_slice(request, walk, &fault);
    if (fault.status == KX_END)
        answer_page(walk, reply);
    else if (fault.status != KX_OK)
        refuse_read(request, reply, &fault, kx_slice(NULL, 0));
}

/* Reads the name and the page. */
static bool read_page(struct request *request, struct rule_walk *walk,
                      struct input_error *error)
{
    struct kx_buffer name;
    struct kx_range range = {.start = kx_text("violations")};
    if (!request_key_index(request, &name, error))
        return false;
    walk->name = kx_buffer_slice(&name);
    walk->is_page = true;
    walk->paging.limit = PAGE_LIMIT_DEFAULT;
    walk->paging.list = cursor_list(walk->name, &range);
    if (!cursor_page_read(request, &walk->paging, error))
        return false;
    walk->shown_max = walk->paging.limit;
    return true;
}

static struct rule_walk *make_walk(struct request *request, struct reply *reply)
{
    struct rule_walk *walk = talloc_zero(request->memory, struct rule_walk);
    if (walk == NULL) {
        reply->body.failed = true;
        return NULL;
    }
    kx_buffer_init(&walk->paging.after, request->memory);
    kx_buffer_init(&walk->found, request->memory);
    return walk;
}

void rule_violations(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct rule_walk *walk = make_walk(request, reply);
    if (walk == NULL)
        return;
    if (!read_page(request, walk, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    walk_all(request, reply, list_section, walk);
}

/* ---- PUT and DELETE ------------------------------------------------------ */

struct rule_body {
    struct kx_slice name;
    struct kx_buffer text; /* the declaration with its name */
};

/* The declaration may have its name, but no other one. */
static bool read_name(struct request *request, struct rule_body *body,
                      struct input_error *error)
{
    struct kx_slice own;
    struct kx_buffer token;
    kx_buffer_init(&token, request->memory);
    kx_json_escape(body->name, &token);
    if (kx_json_find(request->body, kx_text("/name"), &own) &&
        !kx_json_equal(own, kx_buffer_slice(&token)))
        return input_error_set(error, PROBLEM_BAD_RULE_DEFINITION,
                               "The name is that in the address, and can be "
                               "left out.");
    struct kx_buffer patch;
    kx_buffer_init(&patch, request->memory);
    kx_add_text(&patch, "{\"name\":");
    kx_add_slice(&patch, kx_buffer_slice(&token));
    kx_add_byte(&patch, '}');
    kx_json_merge(request->body, kx_buffer_slice(&patch), &body->text);
    return !token.failed && !patch.failed && !body->text.failed
               ? true
               : input_error_no_memory(error);
}

static bool read_body(struct request *request, void *arg,
                      struct input_error *error)
{
    struct rule_body *body = arg;
    struct query_params query;
    if (!query_params_read(request->query, TAKES_DRY, request->memory, &query,
                           error) ||
        !query_params_flag(&query, PARAMETER_DRY, &request->commit.dry,
                           error) ||
        !body_json(request, error))
        return false;
    if (kx_json_type(request->body) != KX_JSON_OBJECT)
        return input_error_set(error, PROBLEM_BAD_RULE_DEFINITION,
                               "A rule is a JSON object.");
    if (!kx_utf8_valid(body->name))
        return input_error_set(error, PROBLEM_BAD_RULE_DEFINITION,
                               "The name in the address is not UTF-8.");
    return read_name(request, body, error);
}

static void answer_dry(const struct rule_walk *walk, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    answer_json(reply, 200);
    kx_add_text(out, "{\"dry\":true,\"declaration\":");
    kx_add_slice(out, kx_rule_text(walk->rule));
    add_number("read", walk->read, out);
    add_number("violations", walk->violations, out);
    kx_add_text(out, ",\"examples\":[");
    kx_add_slice(out, kx_buffer_slice(&walk->found));
    kx_add_text(out, "]}");
    out->failed |= walk->found.failed;
    reply->flush = walk->flush;
}

static void dry_section(struct request *request, struct reply *reply, void *arg)
{
    struct rule_walk *walk = arg;
    struct kx_fault fault = {.detail = ""};
    if (!access_commit(request, reply))
        return;
    fault.status = walk_slice(request, walk, &fault);
    if (fault.status == KX_END)
        answer_dry(walk, reply);
    else if (fault.status != KX_OK)
        refuse_read(request, reply, &fault, kx_slice(NULL, 0));
}

/* Counts the entries that would violate the rule, and shows some. */
static void dry_run(struct request *request, struct reply *reply,
                    struct kx_slice declaration)
{
    struct kx_fault fault = {.detail = ""};
    struct rule_walk *walk = make_walk(request, reply);
    if (walk == NULL)
        return;
    walk->shown_max = KX_SAMPLES_MAX;
    fault.status =
        kx_rule_read(request->memory, declaration, &walk->rule, &fault);
    if (fault.status != KX_OK) {
        access_asked(request);
        problem_status(request, reply, &fault);
        return;
    }
    if (!begin_walk(walk, request->memory)) {
        reply->body.failed = true;
        return;
    }
    walk_all(request, reply, dry_section, walk);
}

void rule_put(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    struct input_error error;
    struct rule_body body;
    if (!request_key_index(request, &name, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    body.name = kx_buffer_slice(&name);
    kx_buffer_init(&body.text, request->memory);
    if (!request_input(request, reply, read_body, &body))
        return;
    request->commit.command.kind = KX_DECLARE_RULE;
    request->commit.command.declaration = kx_buffer_slice(&body.text);
    request->commit.command.index_name = body.name;
    if (request->commit.dry) {
        dry_run(request, reply, kx_buffer_slice(&body.text));
        return;
    }
    if (!request_commit(request))
        return;
    if (request->commit.status != KX_OK) {
        request_read(request, refuse_commit, NULL);
        return;
    }
    answer_json(reply, request->commit.created ? 201 : 200);
    request_read(request, show, &body.name);
}

static void refuse_drop(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    if (request->commit.status == KX_RULE_ABSENT)
        missing(request, reply, request->commit.command.index_name);
    else
        refuse_commit(request, reply, NULL);
}

void rule_drop(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    if (!only_name(request, reply, &name))
        return;
    request->commit.command.kind = KX_DROP_RULE;
    request->commit.command.index_name = kx_buffer_slice(&name);
    if (!request_commit(request))
        return;
    if (request->commit.status == KX_OK)
        reply->status = 204;
    else
        request_read(request, refuse_drop, NULL);
}

/* ---- GET /usage ---------------------------------------------------------- */

struct usage_page {
    struct kx_slice prefix;
    size_t limit;
    size_t count;
    bool more;
};

static void write_limit(const char *name, uint64_t amount, bool *some,
                        struct kx_buffer *out)
{
    char text[64];
    if (amount == 0)
        return;
    snprintf(text, sizeof text, "%s\"%s\":%" PRIu64, *some ? "," : "", name,
             amount);
    kx_add_text(out, text);
    *some = true;
}

static void write_usage(struct kx_slice rule, const struct kx_quota *quota,
                        const struct kx_usage *usage, struct kx_buffer *out)
{
    bool some = false;
    kx_add_text(out, "{\"rule\":");
    kx_json_escape(rule, out);
    kx_add_text(out, ",\"prefix\":");
    kx_key_to_json(usage->key, out);
    add_number("entries", usage->entries, out);
    add_number("bytes", usage->bytes, out);
    kx_add_text(out, ",\"limit\":{");
    write_limit("entries", quota->entries, &some, out);
    write_limit("bytes", quota->bytes, &some, out);
    kx_add_text(out, "}}");
}

/* Appends the totals of one rule. KX_OK, also for a rule without any. */
static enum kx_status write_totals(struct request *request,
                                   struct usage_page *page,
                                   struct kx_slice rule, struct kx_buffer *out)
{
    struct kx_quota quota;
    struct kx_usage usage;
    if (!kx_rule_quota(request->reader, rule, &quota))
        return KX_OK;
    enum kx_status status = kx_usage(request->reader, rule, page->prefix);
    if (status == KX_RULE_ABSENT)
        return KX_OK;
    while (status == KX_OK && !page->more) {
        status = kx_usage_next(request->reader, &usage);
        page->more = status == KX_OK && page->count == page->limit;
        if (status != KX_OK || page->more)
            break;
        kx_add(out, ",", page->count++ > 0);
        write_usage(rule, &quota, &usage, out);
    }
    return status == KX_END ? KX_OK : status;
}

static void show_usage(struct request *request, struct reply *reply, void *arg)
{
    struct usage_page *page = arg;
    struct kx_rule_info info;
    struct kx_fault fault = {.detail = ""};
    if (!access_key(request, reply, SCOPE_LIST, page->prefix))
        return;
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"usage\":[");
    kx_read_begin(request->reader);
    for (size_t n = 0; fault.status == KX_OK && !page->more &&
                       kx_rule_at(request->reader, n, &info) == KX_OK;
         n++)
        fault.status = write_totals(request, page, info.name, &reply->body);
    reply->flush = kx_read_end(request->reader);
    kx_add_text(&reply->body,
                page->more ? "],\"more\":true}" : "],\"more\":false}");
    if (fault.status != KX_OK)
        refuse_read(request, reply, &fault, kx_slice(NULL, 0));
}

void usage_get(struct request *request, struct reply *reply)
{
    struct query_params query;
    struct input_error error;
    struct kx_buffer prefix;
    struct usage_page page = {.limit = PAGE_LIMIT_DEFAULT};
    kx_buffer_init(&prefix, request->memory);
    if (!query_params_read(request->query, TAKES_PREFIX | TAKES_LIMIT,
                           request->memory, &query, &error) ||
        !query_params_limit(&query, &page.limit, &error) ||
        (query_params_has(&query, PARAMETER_PREFIX) &&
         !query_params_key(&query, PARAMETER_PREFIX, &prefix, &error))) {
        input_error_reply(request, reply, &error);
        return;
    }
    page.prefix = kx_buffer_slice(&prefix);
    request_read(request, show_usage, &page);
}
