/* /tokens: making, listing and revoking access tokens. An administrator for
 * some keys deals with the tokens that are for those keys alone; other tokens
 * look absent to it. */
#include "admin/admin_handlers.h"

#include <talloc.h>

#include "access/access_state.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "access/credential.h"
#include "rest/cursor.h"
#include "rest/query_params.h"
#include "rest/refusal.h"
#include "http/service.h"
#include "admin/tokens.h"

/* Is all that the token is for the caller's to administer? */
static bool is_within(const struct request *request,
                      const struct kx_token *token)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if (!access_covers(request, SCOPE_ADMIN, token->grants[i].prefix))
            return false;
    return true;
}

/* The token that the path names, if it is the caller's to know; NULL. */
static struct kx_token *find(const struct request *request)
{
    struct kx_token *token =
        kx_token_find(request->service->store, request->argument);
    if (token == NULL || is_within(request, token))
        return token;
    kx_token_release(token);
    return NULL;
}

/* The token of a request without parameters. NULL: the reply says what is
 * wrong. */
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

/* The first token after an id that is the caller's to administer; NULL. */
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

/* True when there are more of them. */
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

/* A client learns here what it may do, and whether it has to ask for a token.
 */
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
    kx_add_text(&reply->body, kx_tokens_any(request->service->store)
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
    struct input_error error; /* set unless `good` */
    bool good;
};

static bool read_creation(struct request *request, struct creation *creation,
                          struct input_error *error)
{
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

/* A caller can grant only keys and scopes that it has. A caller that may read
 * the entries of an index, because it may read what the index covers, does not
 * thereby have the index's name: a grant outlives the index. */
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

/* Nor for longer than they have it themselves. */
static void end_with(const struct kx_token *giver, struct kx_token *token)
{
    if (giver != NULL && giver->expires_at_ms != 0 &&
        (token->expires_at_ms == 0 ||
         token->expires_at_ms > giver->expires_at_ms))
        token->expires_at_ms = giver->expires_at_ms;
}

static void read_body(struct request *request, void *arg)
{
    struct creation *creation = arg;
    creation->good = read_creation(request, creation, &creation->error);
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

/* The secret is shown here and never again, so it must not be kept on the way.
 */
void token_create(struct request *request, struct reply *reply)
{
    struct creation *creation = talloc_zero(request->memory, struct creation);
    if (creation == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!request_work(request, read_body, creation))
        return;
    if (!creation->good) {
        input_error_reply(request, reply, &creation->error);
        return;
    }
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
