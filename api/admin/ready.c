/* GET /readyz: whether to send work to this server. Each check has a name and a
 * state: "ok", "warning" if some requests will be refused, "failing" if the
 * server is not ready. */
#include "admin/admin_handlers.h"

#include <strings.h>

#include "exchange/node.h"
#include "rest/answer.h"
#include "rest/query_params.h"
#include "http/service.h"

/* ROLE exists only if another process may take the store over. */
enum check_name { STORAGE, ACCEPTING, DISK, QUEUE, INDEXES, ROLE, CHECKS };
enum check_state { CHECK_OK, CHECK_WARNING, CHECK_FAILING };

static const char *const NAMES[CHECKS] = {
    [STORAGE] = "storage", [ACCEPTING] = "accepting", [DISK] = "disk",
    [QUEUE] = "queue",     [INDEXES] = "indexes",     [ROLE] = "role"};
static const char *const STATES[] = {[CHECK_OK] = "ok",
                                     [CHECK_WARNING] = "warning",
                                     [CHECK_FAILING] = "failing"};

struct check {
    enum check_state state;
    const char *detail; /* detail of a state that is not ok */
};

/* A standby is ready if it knows the active node. */
static void check_role(struct service *service, bool opened,
                       struct check *checks)
{
    struct kx_holder holder;
    if (!opened && service->options->follow != NULL &&
        !role_holder(&service->role, &holder))
        checks[ROLE] = (struct check){
            CHECK_FAILING,
            "The followed archive was not read in the last 5 seconds."};
    else if (!opened && !role_holder(&service->role, &holder))
        checks[ROLE] = (struct check){
            CHECK_FAILING,
            holder.lost ? "The database lacks commits that were acknowledged: "
                          "see kindex cluster accept-loss."
                        : "No node is active."};
    if (opened && !kx_store_holds(service->store))
        checks[ROLE] = (struct check){
            CHECK_FAILING, "The lease of this node was not renewed in time."};
    if (checks[ROLE].state == CHECK_FAILING &&
        kx_commits_wait(service->follower_store))
        checks[ROLE].detail = "Commits wait for a standby of the database.";
}

/* The checks that decide the answer, which are cheap. */
static void check_service(struct service *service, bool opened,
                          struct check *checks)
{
    if (opened && kx_store_failed(service->store))
        checks[STORAGE] = (struct check){CHECK_FAILING,
                                         kx_store_replaced(service->store)
                                             ? "Another server has its archive."
                                             : "The storage has failed."};
    if (service->role.shared)
        check_role(service, opened, checks);
    else if (opened && !kx_store_holds(service->store))
        checks[ROLE] = (struct check){CHECK_FAILING, NODE_LEASE_DETAIL};
    if (atomic_load(&service->stopping))
        checks[ACCEPTING] =
            (struct check){CHECK_FAILING, "The server is stopping."};
}

static void check_store(struct service *service, struct check *checks)
{
    struct kx_stats stats;
    kx_stats_read(service->store, &stats);
    if (stats.disk_full != 0)
        checks[DISK] =
            (struct check){CHECK_WARNING, "The disk has less free space than "
                                          "--disk-floor: writes are refused."};
    if (stats.queued >= stats.queue_max)
        checks[QUEUE] = (struct check){
            CHECK_WARNING,
            "The commit queue is full: further commits are refused."};
}

/* Warns about failed or conflicted indexes; a build is fine. */
static void check_indexes(struct request *request, struct reply *reply,
                          void *arg)
{
    struct kx_reader *reader = request->reader;
    struct check *checks = arg;
    struct kx_index_info info;
    (void)reply;
    if (!request_holds_view(request)) {
        checks[INDEXES] = (struct check){
            CHECK_WARNING, "The database did not answer in time."};
        return;
    }
    kx_read_begin(reader);
    for (size_t n = 0; kx_index_at(reader, n, &info) == KX_OK; n++)
        if (info.state == KX_INDEX_FAILED ||
            info.state == KX_INDEX_CONFLICTED ||
            info.migration == KX_INDEX_FAILED ||
            info.migration == KX_INDEX_CONFLICTED)
            checks[INDEXES] = (struct check){
                CHECK_WARNING, "An index has failed or is conflicted."};
    kx_read_end(reader);
}

static int count_of(const struct service *service)
{
    return service->role.shared || service->options->followed ? CHECKS : ROLE;
}

static void add_checks(const struct check *checks, int count,
                       struct kx_buffer *out)
{
    for (int i = 0; i < count; i++) {
        kx_add_text(out, i == 0 ? "[{\"name\":\"" : ",{\"name\":\"");
        kx_add_text(out, NAMES[i]);
        kx_add_text(out, "\",\"state\":\"");
        kx_add_text(out, STATES[checks[i].state]);
        kx_add_byte(out, '"');
        if (checks[i].detail != NULL) {
            kx_add_text(out, ",\"detail\":");
            kx_json_escape(kx_text(checks[i].detail), out);
        }
        kx_add_byte(out, '}');
    }
    kx_add_byte(out, ']');
}

/* Answers with lines for a person, like Kubernetes and etcd. */
static void answer_lines(const struct check *checks, int count,
                         struct reply *reply)
{
    static const char *const MARKS[] = {
        [CHECK_OK] = "[+]", [CHECK_WARNING] = "[!]", [CHECK_FAILING] = "[-]"};
    reply->status = 200;
    reply->content_type = "text/plain";
    for (int i = 0; i < count; i++) {
        kx_add_text(&reply->body, MARKS[checks[i].state]);
        kx_add_text(&reply->body, NAMES[i]);
        kx_add_byte(&reply->body, ' ');
        kx_add_text(&reply->body, checks[i].detail != NULL
                                      ? checks[i].detail
                                      : STATES[checks[i].state]);
        kx_add_byte(&reply->body, '\n');
    }
}

static void answer_ready(struct request *request, struct reply *reply,
                         const struct check *checks, bool verbose)
{
    const char *accept = request_header(request, "Accept");
    if (verbose && accept != NULL &&
        strncasecmp(accept, "text/plain", 10) == 0) {
        answer_lines(checks, count_of(request->service), reply);
        return;
    }
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"ok\":true");
    if (verbose) {
        kx_add_text(&reply->body, ",\"checks\":");
        add_checks(checks, count_of(request->service), &reply->body);
    }
    kx_add_byte(&reply->body, '}');
}

/* Answers without the store, which must not be called any more. */
static void answer_failing(struct request *request, struct reply *reply,
                           const struct check *checks, bool verbose)
{
    struct kx_buffer json;
    const struct check *why =
        checks[STORAGE].state != CHECK_OK     ? &checks[STORAGE]
        : checks[ACCEPTING].state != CHECK_OK ? &checks[ACCEPTING]
                                              : &checks[ROLE];
    problem(request, reply,
            why == &checks[ROLE] ? PROBLEM_NO_ACTIVE_NODE : PROBLEM_STOPPING,
            "%s", why->detail);
    if (!verbose)
        return;
    kx_buffer_init(&json, request->memory);
    add_checks(checks, count_of(request->service), &json);
    reply->body.failed |= json.failed;
    problem_member_json(reply, "checks", kx_buffer_slice(&json));
}

void ready_show(struct request *request, struct reply *reply)
{
    struct check checks[CHECKS] = {{.state = CHECK_OK}};
    bool verbose;
    struct query_params query;
    struct input_error error;
    if (!query_params_read(request->query, TAKES_VERBOSE, request->memory,
                           &query, &error) ||
        !query_params_flag(&query, PARAMETER_VERBOSE, &verbose, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    bool opened = request->reader != NULL;
    check_service(request->service, opened, checks);
    if (verbose && opened && checks[STORAGE].state == CHECK_OK) {
        check_store(request->service, checks);
        if (!request_read(request, check_indexes, checks))
            return;
    }
    if (checks[STORAGE].state == CHECK_OK &&
        checks[ACCEPTING].state == CHECK_OK && checks[ROLE].state == CHECK_OK) {
        answer_ready(request, reply, checks, verbose);
        return;
    }
    answer_failing(request, reply, checks, verbose);
}
