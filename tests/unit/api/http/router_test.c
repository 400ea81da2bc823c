/* Which row of the route table takes a method and a raw path. */
#include "http/router.h"
#include "http/service.h"
#include "server/routes.h"
#include "unit.h"

static const struct {
    enum method method;
    const char *path;
    const char *operation; /* NULL: no row */
    const char *argument;
    const char *tail;
    bool has_tail;
} CASES[] = {
    {METHOD_GET, "/kv", "getEntry", "", "", false},
    {METHOD_GET, "/kv/", "getEntry", "", "", true},
    {METHOD_GET, "/kv/a", "getEntry", "", "a", true},
    {METHOD_GET, "/kv/a%2Fb//c/", "getEntry", "", "a%2Fb//c/", true},
    {METHOD_GET, "/kv/..", "getEntry", "", "..", true},
    {METHOD_HEAD, "/kv/a", "getEntry", "", "a", true},
    {METHOD_PUT, "/kv/a", "putEntry", "", "a", true},
    {METHOD_PATCH, "/kv/a", "patchEntry", "", "a", true},
    {METHOD_DELETE, "/kv/a", "deleteEntry", "", "a", true},
    {METHOD_POST, "/kv", "createEntry", "", "", false},
    {METHOD_POST, "/", "exchangeMetadata", "", "", false},
    {METHOD_POST, "/some/name", "exchangeMetadata", "", "", false},
    {METHOD_POST, "/v2/snapshot_read", "snapshotRead", "", "", false},
    {METHOD_POST, "/count", NULL, "", "", false},
    {METHOD_PUT, "/some/name", NULL, "", "", false},
    {METHOD_GET, "/kvx", NULL, "", "", false},
    {METHOD_GET, "/KV/a", NULL, "", "", false},
    {METHOD_GET, "/%6bv/a", NULL, "", "", false},
    {METHOD_GET, "//kv/a", NULL, "", "", false},
    {METHOD_GET, "/list", "listEntries", "", "", false},
    {METHOD_GET, "/list/", NULL, "", "", false},
    {METHOD_PUT, "/list", NULL, "", "", false},
    {METHOD_POST, "/atomic", "commitAtomic", "", "", false},
    {METHOD_GET, "/indexes", "listIndexes", "", "", false},
    {METHOD_GET, "/indexes/", NULL, "", "", false},
    {METHOD_GET, "/indexes/by_email", "getIndex", "by_email", "", false},
    {METHOD_DELETE, "/indexes/a", "dropIndex", "a", "", false},
    {METHOD_GET, "/indexes/a/get", "getByIndex", "a", "", false},
    {METHOD_GET, "/indexes/a/get/", "getByIndex", "a", "", true},
    {METHOD_GET, "/indexes/a/get/b/c", "getByIndex", "a", "b/c", true},
    {METHOD_GET, "/indexes//get/b", NULL, "", "", false},
    {METHOD_GET, "/indexes/a/got/b", NULL, "", "", false},
    {METHOD_GET, "/tokens/self", "getOwnToken", "", "", false},
    {METHOD_GET, "/tokens/selfish", "getToken", "selfish", "", false},
    {METHOD_GET, "/", "getService", "", "", false},
    {METHOD_GET, "", NULL, "", "", false},
    {METHOD_GET, "//", NULL, "", "", false},
    {METHOD_GET, "*", NULL, "", "", false},
    {METHOD_OTHER, "/kv/a", NULL, "", "", false},
};

static struct service SERVICE = {.routes = &ROUTES};

TEST(route_find_matches_every_path)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct request request = {.service = &SERVICE,
                                  .method = CASES[i].method,
                                  .path = kx_text(CASES[i].path)};
        route_find(&request);
        if (CASES[i].operation == NULL) {
            assert_null(request.route);
            continue;
        }
        assert_non_null(request.route);
        assert_string_equal(request.route->operation, CASES[i].operation);
        assert_true(kx_equal(request.argument, kx_text(CASES[i].argument)));
        assert_true(kx_equal(request.tail, kx_text(CASES[i].tail)));
        assert_int_equal(request.has_tail, CASES[i].has_tail);
    }
}

TEST(route_allow_lists_methods_of_path)
{
    char allow[128];
    struct request request = {.service = &SERVICE, .path = kx_text("/list")};
    route_allow(&request, allow, sizeof allow);
    assert_string_equal(allow, "GET, HEAD, DELETE, PATCH, POST, OPTIONS");
    request.path = kx_text("/atomic");
    route_allow(&request, allow, sizeof allow);
    assert_string_equal(allow, "POST, OPTIONS");
    request.path = kx_text("/tokens/self");
    route_allow(&request, allow, sizeof allow);
    assert_string_equal(allow, "GET, HEAD, DELETE, OPTIONS");
    request.path = kx_text("/nowhere");
    route_allow(&request, allow, sizeof allow);
    assert_string_equal(allow, "");
}

TEST(method_names_are_case_sensitive)
{
    assert_int_equal(method_parse("PATCH"), METHOD_PATCH);
    assert_int_equal(method_parse("patch"), METHOD_OTHER);
    assert_int_equal(method_parse("BREW"), METHOD_OTHER);
    for (int method = METHOD_GET; method < METHOD_OTHER; method++)
        assert_int_equal(method_parse(method_name((enum method)method)),
                         method);
}

TEST(only_writing_routes_have_the_flag_commits)
{
    const struct route *rows = ROUTES.rows;
    for (size_t i = 0; i < ROUTES.count; i++) {
        bool writes =
            rows[i].scope == SCOPE_WRITE || rows[i].scope == SCOPE_INDEX ||
            (rows[i].scope == SCOPE_TOKENS && rows[i].method != METHOD_GET);
        assert_int_equal((rows[i].flags & COMMITS) != 0, writes);
        assert_non_null(rows[i].handle);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(rows[i].operation, rows[k].operation);
    }
}
