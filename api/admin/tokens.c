/* /tokens: creates, lists and revokes access tokens. An administrator for some
 * keys sees only tokens whose grants lie within these keys; other tokens look
 * absent. */
#include <stdio.h>
#include <talloc.h>

#include "access/access_state.h"
#include "access/access.h"
#include "admin/admin_handlers.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/cursor.h"
#include "rest/document.h"
#include "rest/key_text.h"
#include "rest/query_params.h"
#include "rest/refusal.h"
#include "rest/ttl.h"

/* ---- Tokens as JSON ----------------------------------------------------- */

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_REQUEST, "%s", detail);
}

/* ---- Reading ------------------------------------------------------------ */

struct token_reading {
    void *memory;
    struct kx_token *token;
};

struct grant_reading {
    void *memory;
    struct kx_grant *grant;
};

static bool add_scope(unsigned *scopes, struct kx_slice value, void *memory,
                      struct input_error *error)
{
    struct kx_buffer name;
    kx_buffer_init(&name, memory);
    if (!document_text(value, &name, error))
        return false;
    unsigned scope = kx_scope_find(kx_buffer_slice(&name));
    *scopes |= scope;
    return scope != 0 ||
           bad(error, "A scope is read, write, list, watch, index, monitor or "
                      "admin.");
}

static bool grant_scopes(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct grant_reading *reading = target;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice scope;
    size_t count;
    if (!document_count(value, &count, error))
        return false;
    kx_json_iterate(value, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &scope); i++)
        if (!add_scope(&reading->grant->scopes, scope, reading->memory, error))
            return input_error_in_element(error, i);
    return count > 0 || bad(error, "A grant needs at least one scope.");
}

static bool grant_prefix(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct grant_reading *reading = target;
    struct kx_buffer key;
    kx_buffer_init(&key, reading->memory);
    if (!key_text_from_json(value, &key, error))
        return false;
    reading->grant->prefix = kx_buffer_slice(&key);
    return key.size <= KX_KEY_MAX ||
           input_error_set(error, PROBLEM_KEY_TOO_LONG,
                           "The prefix has %zu encoded bytes; the limit is %d.",
                           key.size, KX_KEY_MAX);
}

static const struct member GRANT_MEMBERS[] = {
    {"scopes", grant_scopes},
    {"prefix", grant_prefix},
    {NULL, NULL},
};

/* A grant for all keys must say so by the empty prefix: a forgotten member must
 * not give more rights. */
static bool read_grant(struct token_reading *reading, struct kx_slice value,
                       struct kx_grant *grant, struct input_error *error)
{
    struct grant_reading one = {reading->memory, grant};
    struct kx_slice prefix;
    if (!document_read(value, GRANT_MEMBERS, &one, error))
        return false;
    if (grant->scopes == 0 || !kx_json_find(value, kx_text("/prefix"), &prefix))
        return bad(error,
                   "A grant has scopes and a prefix; [] is the prefix of "
                   "all keys.");
    return true;
}

/* Limits the size of prefixes, since all tokens are in memory. */
static bool check_prefixes(const struct kx_grant *grants, size_t count,
                           struct input_error *error)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += grants[i].prefix.size;
    return size <= KX_GRANTS_BYTES_MAX ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The prefixes of the grants have %zu encoded bytes "
                           "together; the limit is %d.",
                           size, KX_GRANTS_BYTES_MAX);
}

static bool read_grants(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct token_reading *reading = target;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t count;
    if (!document_count(array, &count, error))
        return false;
    if (count < 1 || count > KX_GRANTS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "There are %zu grants; a token has 1 to %d.",
                               count, KX_GRANTS_MAX);
    struct kx_grant *grants =
        talloc_zero_array(reading->memory, struct kx_grant, count);
    if (grants == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++)
        if (!read_grant(reading, value, &grants[i], error))
            return input_error_in_element(error, i);
    reading->token->grants = grants;
    reading->token->grant_count = count;
    return check_prefixes(grants, count, error);
}

static bool read_name(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct token_reading *reading = target;
    struct kx_buffer name;
    kx_buffer_init(&name, reading->memory);
    if (!document_text(value, &name, error))
        return false;
    reading->token->name = kx_buffer_slice(&name);
    return (name.size >= 1 && name.size <= KX_TOKEN_NAME_MAX) ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The name has %zu bytes; it has 1 to %d.", name.size,
                           KX_TOKEN_NAME_MAX);
}

static bool read_ttl(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct token_reading *reading = target;
    int64_t ms;
    if (!ttl_member(value, "ttl", reading->memory, &ms, error))
        return false;
    reading->token->expires_at_ms = reading->token->created_at_ms + ms;
    return true;
}

static const struct member TOKEN_MEMBERS[] = {
    {"name", read_name},
    {"grants", read_grants},
    {"ttl", read_ttl},
    {NULL, NULL},
};

/* Reads {"name":"app","grants":[{"scopes":["read","list"],"prefix":["users"]}],
 * "ttl":"30d"} into *token_out, in memory. */
static bool tokens_read(struct kx_slice document, void *memory,
                        struct kx_token *token_out, struct input_error *error)
{
    struct token_reading reading = {.memory = memory, .token = token_out};
    token_out->created_at_ms = kx_now_ms();
    if (!document_read(document, TOKEN_MEMBERS, &reading, error))
        return false;
    return (token_out->name.size > 0 && token_out->grant_count > 0) ||
           bad(error, "A token has a name and grants: {\"name\":\"app\","
                      "\"grants\":[{\"scopes\":[\"read\"],\"prefix\":"
                      "[\"users\"]}]}.");
}

/* ---- Writing ------------------------------------------------------------ */

static void add_grant(const struct kx_grant *grant, struct kx_buffer *out)
{
    bool some = false;
    kx_add_text(out, "{\"scopes\":[");
    for (unsigned scope = 1; scope < KX_MAY_ALL; scope <<= 1) {
        if ((grant->scopes & scope) == 0)
            continue;
        kx_add_text(out, some ? ",\"" : "\"");
        kx_add_text(out, kx_scope_name((enum kx_scope)scope));
        kx_add_byte(out, '"');
        some = true;
    }
    kx_add_text(out, "],\"prefix\":");
    kx_key_to_json(grant->prefix, out);
    kx_add_byte(out, '}');
}

static void add_time(const char *name, int64_t at_ms, struct kx_buffer *out)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%lld", name, (long long)at_ms);
    kx_add_text(out, text);
}

/* Appends a token without its digest, and with its text unless that is NULL. */
static void tokens_write(const struct kx_token *token, const char *text,
                         struct kx_buffer *out)
{
    kx_add_text(out, "{\"id\":\"");
    kx_add_text(out, token->id);
    kx_add_text(out, "\",\"name\":");
    kx_json_escape(token->name, out);
    if (token->issuer.size > 0) {
        kx_add_text(out, ",\"sub\":");
        kx_json_escape(token->name, out);
        kx_add_text(out, ",\"issuer\":");
        kx_json_escape(token->issuer, out);
    }
    kx_add_text(out, ",\"grants\":[");
    for (size_t i = 0; i < token->grant_count; i++) {
        if (i > 0)
            kx_add_byte(out, ',');
        add_grant(&token->grants[i], out);
    }
    kx_add_byte(out, ']');
    if (token->created_at_ms != 0)
        add_time("createdAt", token->created_at_ms, out);
    if (token->expires_at_ms != 0)
        add_time("expiresAt", token->expires_at_ms, out);
    if (token->fixed && token->issuer.size == 0)
        kx_add_text(out, ",\"fixed\":true");
    if (text != NULL) {
        kx_add_text(out, ",\"token\":\"");
        kx_add_text(out, text);
        kx_add_byte(out, '"');
    }
    kx_add_byte(out, '}');
}

/* True if the caller may administer all keys of the token's grants. */
static bool is_within(const struct request *request,
                      const struct kx_token *token)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if (!access_covers(request, SCOPE_ADMIN, token->grants[i].prefix))
            return false;
    return true;
}

/* Finds the token in the path. NULL if the caller may not see it. */
static struct kx_token *find(const struct request *request)
{
    struct kx_token *token =
        kx_token_find(request->service->store, request->argument);
    if (token == NULL || is_within(request, token))
        return token;
    kx_token_release(token);
    return NULL;
}

/* Finds the token of a request without parameters. NULL: the reply is complete.
 */
static struct kx_token *wanted(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct kx_token *token = NULL;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return NULL;
    }
    access_asked(request);
    token = find(request);
    if (token == NULL)
        problem(request, reply, PROBLEM_TOKEN_NOT_FOUND,
                "There is no such token.");
    return token;
}

/* ---- GET ---------------------------------------------------------------- */

static bool read_page(struct request *request, struct cursor_page *page,
                      struct input_error *error)
{
    struct kx_range range = {.start = kx_text("tokens")};
    page->limit = KX_PAGE_MAX;
    page->list = cursor_list(kx_slice(NULL, 0), &range);
    return cursor_page_read(request, page, error);
}

/* Returns the first token after an id that the caller may administer, or NULL.
 */
static struct kx_token *next_within(const struct request *request,
                                    struct kx_slice id)
{
    struct kx_store *store = request->service->store;
    char last[KX_TOKEN_ID_SIZE + 1];
    struct kx_token *token;
    while ((token = kx_token_after(store, id)) != NULL &&
           !is_within(request, token)) {
        memcpy(last, token->id, sizeof last);
        id = kx_text(last);
        kx_token_release(token);
    }
    return token;
}

/* Writes a page of tokens. Returns true if more follow. */
static bool write_page(const struct request *request, struct cursor_page *page,
                       struct kx_buffer *out)
{
    struct kx_token *token;
    size_t count = 0;
    while ((token = next_within(request, kx_buffer_slice(&page->after))) !=
           NULL) {
        bool full = count == page->limit || out->size > PAGE_BYTES_MAX;
        if (!full) {
            kx_add(out, ",", count++ > 0);
            tokens_write(token, NULL, out);
            page->after.size = 0;
            kx_add_text(&page->after, token->id);
        }
        kx_token_release(token);
        if (full || page->after.failed)
            return true;
    }
    return false;
}

void token_list(struct request *request, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    struct cursor_page page;
    struct input_error error;
    if (!read_page(request, &page, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    answer_json(reply, 200);
    kx_add_text(out, "{\"tokens\":[");
    if (write_page(request, &page, out)) {
        kx_add_text(out, "],\"cursor\":\"");
        cursor_write(page.list, kx_buffer_slice(&page.after), out);
        kx_add_text(out, "\"}");
    } else
        kx_add_text(out, "],\"cursor\":null}");
    out->failed |= page.after.failed;
}

void token_show(struct request *request, struct reply *reply)
{
    struct kx_token *token = wanted(request, reply);
    if (token == NULL)
        return;
    answer_json(reply, 200);
    tokens_write(token, NULL, &reply->body);
    kx_token_release(token);
}

/* Tells a client its rights, and whether it needs a token. */
void token_self(struct request *request, struct reply *reply)
{
    struct input_error error;
    const struct kx_token *token = request->caller.token;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    answer_json(reply, 200);
    reply_header(reply, "Cache-Control", "no-store");
    kx_add_text(&reply->body, access_needs_token(request)
                                  ? "{\"required\":true,\"token\":"
                                  : "{\"required\":false,\"token\":");
    if (token != NULL)
        tokens_write(token, NULL, &reply->body);
    else
        kx_add_text(&reply->body, "null");
    kx_add_byte(&reply->body, '}');
}

/* ---- POST --------------------------------------------------------------- */

struct creation {
    struct kx_token token;
    char text[CREDENTIAL_SIZE + 1];
};

static bool read_creation(struct request *request, void *arg,
                          struct input_error *error)
{
    struct creation *creation = arg;
    struct kx_token *token = &creation->token;
    struct credential credential;
    if (!query_params_none(request, error) || !body_json(request, error) ||
        !tokens_read(request->body, request->memory, token, error))
        return false;
    if (!credential_make(&credential, creation->text))
        return input_error_no_memory(error);
    memcpy(token->id, credential.id, sizeof token->id);
    memcpy(token->digest, credential.digest, sizeof token->digest);
    return true;
}

static bool has_all_of(struct request *request, struct reply *reply,
                       const struct kx_grant *grant)
{
    static const enum scope SCOPES[] = {SCOPE_READ,  SCOPE_LIST,
                                        SCOPE_WATCH, SCOPE_WRITE,
                                        SCOPE_INDEX, SCOPE_MONITOR};
    for (size_t i = 0; i < sizeof SCOPES / sizeof *SCOPES; i++)
        if ((grant->scopes & access_bit(SCOPES[i])) != 0 &&
            !access_prefix(request, reply, SCOPES[i], grant->prefix))
            return false;
    return true;
}

/* A caller can grant only keys and scopes that it has. The right to read the
 * entries of an index by its prefix does not include the index's name, because
 * a grant outlives the index. */
static bool may_grant(struct request *request, struct reply *reply,
                      const struct kx_token *token)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if (!access_prefix(request, reply, SCOPE_ADMIN,
                           token->grants[i].prefix) ||
            !has_all_of(request, reply, &token->grants[i]))
            return false;
    return true;
}

/* A token expires no later than the token that made it. */
static void end_with(const struct kx_token *giver, struct kx_token *token)
{
    if (giver != NULL && giver->expires_at_ms != 0 &&
        (token->expires_at_ms == 0 ||
         token->expires_at_ms > giver->expires_at_ms))
        token->expires_at_ms = giver->expires_at_ms;
}

/* Commits the command. False: the reply is complete. */
static bool commit(struct request *request)
{
    if (!request_commit(request))
        return false;
    if (request->commit.status == KX_OK)
        return true;
    request_read(request, refuse_commit, NULL);
    return false;
}

/* The secret is shown only in this reply, which caches must not store. */
void token_create(struct request *request, struct reply *reply)
{
    struct creation *creation = talloc_zero(request->memory, struct creation);
    if (creation == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!request_input(request, reply, read_creation, creation))
        return;
    if (!may_grant(request, reply, &creation->token))
        return;
    end_with(request->caller.token, &creation->token);
    request->commit.command.kind = KX_ADD_TOKEN;
    request->commit.command.token = &creation->token;
    if (!commit(request))
        return;
    request->subject = kx_text(creation->token.id);
    answer_json(reply, 201);
    reply_headerf(request, reply, "Location", "/tokens/%s", creation->token.id);
    reply_header(reply, "Cache-Control", "no-store");
    tokens_write(&creation->token, creation->text, &reply->body);
}

/* ---- DELETE ------------------------------------------------------------- */

void token_revoke(struct request *request, struct reply *reply)
{
    struct kx_token *token = wanted(request, reply);
    if (token == NULL)
        return;
    kx_token_release(token);
    request->commit.command.kind = KX_REVOKE_TOKEN;
    request->commit.command.token_id = request->argument;
    if (commit(request))
        reply->status = 204;
}
