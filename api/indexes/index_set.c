/* PUT /indexes: makes the indexes match a JSON object of declarations by name.
 * One commit declares and changes indexes, and with `prune` drops the others.
 * An error has a pointer into the body. */
#include "indexes/index_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "access/audit.h"
#include "indexes/index_find.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/indexjson.h"
#include "rest/query_params.h"

struct declared_set {
    struct kx_index_set set;
    struct kx_slice *declarations; /* with their names */
    struct kx_slice *names;
};

static bool refuse(struct input_error *error, struct kx_slice name,
                   const char *reason)
{
    return input_error_set(error, PROBLEM_BAD_INDEX_DEFINITION,
                           "The index \"%.*s\": %s.",
                           (int)kx_utf8_fit(name, KX_INDEX_NAME_MAX),
                           (const char *)name.data, reason);
}

/* The declaration may omit its name, but must not have another name. */
static bool has_other_name(struct kx_slice declaration, struct kx_slice token)
{
    struct kx_slice own;
    return kx_json_find(declaration, kx_text("/name"), &own) &&
           !kx_json_equal(own, token);
}

static bool check(const struct declared_set *list, struct kx_slice name,
                  struct kx_slice token, struct kx_slice declaration,
                  struct input_error *error)
{
    if (list->set.count == KX_INDEXES_MAX)
        return refuse(error, name, "there can be at most 256 indexes");
    if (kx_json_type(declaration) != KX_JSON_OBJECT)
        return refuse(error, name, "a declaration is a JSON object");
    if (has_other_name(declaration, token))
        return refuse(error, name,
                      "name is the name of the member, and can be left out");
    return true;
}

/* Adds a declaration, with its name as a member. */
static bool add(struct declared_set *list, const void *memory,
                struct kx_slice token, struct kx_slice declaration,
                struct input_error *error)
{
    struct kx_buffer name;
    struct kx_buffer patch;
    struct kx_buffer whole;
    size_t at = list->set.count;
    kx_buffer_init(&name, memory);
    kx_buffer_init(&patch, memory);
    kx_buffer_init(&whole, memory);
    kx_json_unescape(token, &name);
    if (!check(list, kx_buffer_slice(&name), token, declaration, error))
        return false;
    kx_add_text(&patch, "{\"name\":");
    kx_add_slice(&patch, token);
    kx_add_byte(&patch, '}');
    kx_json_merge(declaration, kx_buffer_slice(&patch), &whole);
    list->declarations[at] = kx_buffer_slice(&whole);
    list->names[at] = kx_buffer_slice(&name);
    list->set.count++;
    if (name.failed || patch.failed || whole.failed)
        return input_error_no_memory(error);
    return true;
}

static bool read_body(struct request *request, struct declared_set *list,
                      struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    bool good = true;
    if (!body_json(request, error))
        return false;
    if (kx_json_type(request->body) != KX_JSON_OBJECT)
        return input_error_set(error, PROBLEM_BAD_INDEX_DEFINITION,
                               "The body is a JSON object that has a "
                               "declaration for each name.");
    kx_json_iterate(request->body, &iter);
    while (good && kx_json_next(&iter, &name, &value))
        good = add(list, request->memory, name, value, error);
    return good;
}

static struct declared_set *make_set(const void *memory)
{
    struct declared_set *list = talloc_zero(memory, struct declared_set);
    if (list == NULL)
        return NULL;
    list->declarations = talloc_array(list, struct kx_slice, KX_INDEXES_MAX);
    list->names = talloc_array(list, struct kx_slice, KX_INDEXES_MAX);
    list->set.declarations = list->declarations;
    return list->declarations != NULL && list->names != NULL ? list : NULL;
}

static bool read_set(struct request *request, void *arg,
                     struct input_error *error)
{
    struct declared_set *list = arg;
    struct query_params query;
    return query_params_read(request->query, TAKES_DRY | TAKES_PRUNE,
                             request->memory, &query, error) &&
           query_params_flag(&query, PARAMETER_DRY, &request->commit.dry,
                             error) &&
           query_params_flag(&query, PARAMETER_PRUNE, &list->set.prune,
                             error) &&
           read_body(request, list, error);
}

/* Prepends the name to the store's pointer, which is relative to one
 * declaration. If it does not fit the pointer stays as it is; the answer also
 * has the name. */
static void refused(struct request *request, struct reply *reply, void *arg)
{
    const struct declared_set *list = arg;
    struct kx_refusal *refusal = &request->commit.refusal;
    char *pointer = refusal->fault.pointer;
    if (refusal->mutation >= list->set.count) {
        index_refused(request, reply, kx_slice(NULL, 0));
        return;
    }
    struct kx_slice name = list->names[refusal->mutation];
    size_t size = strlen(pointer) + 1;
    if (memchr(name.data, '/', name.size) == NULL &&
        memchr(name.data, '~', name.size) == NULL &&
        name.size + 1 + size <= sizeof refusal->fault.pointer) {
        memmove(pointer + name.size + 1, pointer, size);
        memcpy(pointer + 1, name.data, name.size);
        pointer[0] = '/';
    }
    index_refused(request, reply, name);
}

static const char *change_text(enum kx_index_change change)
{
    switch (change) {
    case KX_INDEX_STAYS:
        return "unchanged";
    case KX_INDEX_ADDED:
        return "declared";
    case KX_INDEX_AGAIN:
        return "rebuilt";
    case KX_INDEX_CHANGED:
        return "changed";
    case KX_INDEX_DROPPED:
        return "dropped";
    }
    return "";
}

/* Appends what the commit does with one index, and its state. Inside a view.
 * Returns true if the index is built or migrates. */
static bool write_planned(struct request *request,
                          const struct kx_planned_index *planned,
                          struct kx_buffer *out)
{
    struct kx_index_info info;
    uint64_t bytes = 0;
    char text[120];
    bool found = index_find(request, planned->name, &info);
    kx_add_text(out, "{\"name\":");
    kx_json_escape(planned->name, out);
    kx_add_text(out, ",\"change\":\"");
    kx_add_text(out, change_text(planned->change));
    kx_add_byte(out, '"');
    if (found) {
        kx_add_text(out, ",\"state\":\"");
        kx_add_text(out, kx_index_state_text(info.state));
        kx_add_byte(out, '"');
    }
    if (found && access_counts_index(request, &info)) {
        kx_index_bytes(request->reader, planned->name, &bytes);
        snprintf(text, sizeof text, ",\"entries\":%llu,\"bytes\":%llu",
                 (unsigned long long)info.entries, (unsigned long long)bytes);
        kx_add_text(out, text);
    }
    if (planned->preview != NULL) {
        kx_add_byte(out, ',');
        indexjson_write_estimate(
            planned->preview,
            access_counts_declared(request, planned->preview->declaration),
            out);
    }
    kx_add_byte(out, '}');
    return found && (info.state == KX_INDEX_BUILDING ||
                     info.state == KX_INDEX_MIGRATING);
}

/* Returns true if any of the indexes is built or migrates. */
static bool write_all(struct request *request, const struct kx_index_set *set,
                      struct reply *reply)
{
    bool builds = false;
    kx_read_begin(request->reader);
    for (size_t i = 0; i < set->planned_count; i++) {
        kx_add(&reply->body, ",", i > 0);
        builds |= write_planned(request, &set->planned[i], &reply->body);
    }
    reply->flush = kx_read_end(request->reader);
    return builds;
}

/* Logs the changes, also if the token has expired meanwhile. */
static void audit_all(struct request *request, const struct kx_index_set *set)
{
    for (size_t i = 0; !request->commit.dry && i < set->planned_count; i++)
        if (set->planned[i].change != KX_INDEX_STAYS)
            audit_index(request, set->planned[i].name,
                        change_text(set->planned[i].change));
}

static void show_all(struct request *request, struct reply *reply, void *arg)
{
    const struct declared_set *list = arg;
    kx_add_text(&reply->body, request->commit.dry
                                  ? "{\"dry\":true,\"indexes\":["
                                  : "{\"dry\":false,\"indexes\":[");
    bool builds = write_all(request, &list->set, reply);
    kx_add_text(&reply->body, "]}");
    answer_json(reply, builds && !request->commit.dry ? 202 : 200);
}

void index_declare_set(struct request *request, struct reply *reply)
{
    struct declared_set *list = make_set(request->memory);
    if (list == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!request_input(request, reply, read_set, list))
        return;
    request->commit.command.kind = KX_DECLARE_INDEXES;
    request->commit.command.set = &list->set;
    if (!request_commit(request))
        return;
    if (request->commit.status != KX_OK) {
        request_read(request, refused, list);
        return;
    }
    audit_all(request, &list->set);
    if (access_admit_again(request, reply))
        request_read(request, show_all, list);
}
