/* Checks the bearer token of every request, and whether its grants have the
 * route's scope. */
#include "access/access.h"

#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <sys/random.h>

#include "access/access_state.h"
#include "access/audit.h"
#include "http/service.h"
#include "identity/identity.h"

/* ---- The limit of a token on requests in a minute ----------------------- */

enum { WINDOW_SECONDS = 60, NUMBER_BITS = 32 };

static uint64_t now_seconds(void)
{
    return (uint64_t)kx_now_ms() / 1000;
}

/* The upper half of the counter is the number of the minute, the lower half the
 * number of requests in it. */
static uint64_t requests_of(uint64_t counter)
{
    return counter >> NUMBER_BITS == now_seconds() / WINDOW_SECONDS
               ? counter & UINT32_MAX
               : 0;
}

static atomic_uint_fast64_t *counter_of(struct kx_token *token)
{
    return token->shared_uses != NULL ? token->shared_uses : &token->uses;
}

static uint64_t count_one(struct kx_token *token)
{
    atomic_uint_fast64_t *counter = counter_of(token);
    uint64_t window = now_seconds() / WINDOW_SECONDS << NUMBER_BITS;
    uint_fast64_t before = atomic_load(counter);
    uint64_t now;
    do
        now = before >> NUMBER_BITS == window >> NUMBER_BITS ? before + 1
                                                             : window + 1;
    while (!atomic_compare_exchange_weak(counter, &before, now));
    return now & UINT32_MAX;
}

static unsigned seconds_left(void)
{
    return WINDOW_SECONDS - (unsigned)(now_seconds() % WINDOW_SECONDS);
}

/* Adds the headers of draft-ietf-httpapi-ratelimit-headers. */
static void add_headers(struct request *request, struct reply *reply,
                        uint64_t left)
{
    uint64_t quota = request->service->options->token_rate;
    reply_headerf(request, reply, "RateLimit", "\"default\";r=%llu;t=%u",
                  (unsigned long long)left, seconds_left());
    reply_headerf(request, reply, "RateLimit-Policy", "\"default\";q=%llu;w=%d",
                  (unsigned long long)quota, WINDOW_SECONDS);
}

bool access_count(struct request *request, struct reply *reply)
{
    uint64_t quota = request->service->options->token_rate;
    if (count_one(request->caller.token) <= quota)
        return true;
    problem(request, reply, PROBLEM_RATE_LIMITED,
            "The token has sent more than %llu requests in this minute.",
            (unsigned long long)quota);
    problem_member_number(reply, "limit", quota);
    reply->header_count = 0; /* the table's Retry-After is too long */
    reply_headerf(request, reply, "Retry-After", "%u", seconds_left());
    return false;
}

/* Adds headers with the number of requests left if the number is low. */
static void add_quota(struct request *request, struct reply *reply)
{
    uint64_t quota = request->service->options->token_rate;
    uint64_t used = requests_of(atomic_load(counter_of(request->caller.token)));
    if (used >= quota / 2)
        add_headers(request, reply, used < quota ? quota - used : 0);
}

/* ---- Texts of tokens ---------------------------------------------------- */

/* The secret is 256 random bits, so its digest needs neither salt nor a slow
 * hash. */

static const char BEGIN[] = "kindex_";
enum { BEGIN_SIZE = sizeof BEGIN - 1, ID_BYTES = KX_TOKEN_ID_SIZE / 2 };

static bool is_digit(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static bool has_form(struct kx_slice text)
{
    bool good = text.size == CREDENTIAL_SIZE &&
                kx_starts_with(text, kx_text(BEGIN)) &&
                text.data[BEGIN_SIZE + KX_TOKEN_ID_SIZE] == '_';
    for (size_t i = 0; good && i < KX_TOKEN_ID_SIZE; i++)
        good = is_digit(text.data[BEGIN_SIZE + i]);
    return good;
}

bool credential_make(struct credential *credential_out, char *text)
{
    uint8_t random[ID_BYTES + CREDENTIAL_SECRET_SIZE];
    struct kx_buffer secret;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    kx_hex_write(kx_slice(random, ID_BYTES), credential_out->id);
    kx_buffer_init(&secret, NULL);
    kx_base64_write(kx_slice(random + ID_BYTES, CREDENTIAL_SECRET_SIZE),
                    &secret);
    kx_sha256(kx_slice(random + ID_BYTES, CREDENTIAL_SECRET_SIZE),
              credential_out->digest);
    bool good = !secret.failed;
    if (good)
        snprintf(text, CREDENTIAL_SIZE + 1, "%s%s_%.*s", BEGIN,
                 credential_out->id, (int)secret.size,
                 (const char *)secret.data);
    kx_buffer_free(&secret);
    gnutls_memset(random, 0, sizeof random);
    return good;
}

/* The decoded secret fits into `bytes`, so nothing is allocated: a lack of
 * memory cannot make a valid token look invalid. */
bool credential_read(struct kx_slice text, struct credential *credential_out)
{
    uint8_t bytes[CREDENTIAL_SIZE];
    struct kx_buffer secret = {.data = bytes, .capacity = sizeof bytes};
    size_t at = BEGIN_SIZE + KX_TOKEN_ID_SIZE + 1;
    if (!has_form(text))
        return false;
    memcpy(credential_out->id, text.data + BEGIN_SIZE, KX_TOKEN_ID_SIZE);
    credential_out->id[KX_TOKEN_ID_SIZE] = '\0';
    bool good =
        kx_base64_read(kx_slice(text.data + at, text.size - at), &secret) &&
        secret.size == CREDENTIAL_SECRET_SIZE;
    if (good)
        kx_sha256(kx_buffer_slice(&secret), credential_out->digest);
    return good;
}

bool credential_fits(const struct credential *credential,
                     const struct kx_token *token)
{
    return gnutls_memcmp(credential->digest, token->digest,
                         sizeof token->digest) == 0;
}

/* ---- Refusals ----------------------------------------------------------- */

/* RFC 6750 section 3: an error code is only for requests that carry a token. */
static const char NO_TOKEN[] = "Bearer realm=\"kindex\"";
static const char BAD_TOKEN[] =
    "Bearer realm=\"kindex\", error=\"invalid_token\"";

static bool refuse_token(struct request *request, struct reply *reply,
                         const char *challenge, const char *detail)
{
    problem(request, reply, PROBLEM_UNAUTHORIZED, "%s", detail);
    reply_header(reply, "WWW-Authenticate", challenge);
    audit_denial(request, reply->status, NULL);
    return false;
}

/* ---- Admission ---------------------------------------------------------- */

const char *access_bearer(const struct request *request)
{
    const char *given = request_header(request, "Authorization");
    if (given == NULL || strncasecmp(given, "Bearer ", 7) != 0)
        return NULL;
    given += 7;
    return given + strspn(given, " ");
}

static bool is_over(const struct kx_token *token)
{
    return atomic_load(&token->revoked) ||
           (token->expires_at_ms != 0 && token->expires_at_ms <= kx_now_ms());
}

bool access_needs_token(const struct request *request)
{
    if (request->service->identities != NULL)
        return true;
    return request->caller.standby_read
               ? kx_follower_tokens_any(request->reader)
               : kx_tokens_any(request->service->store);
}

static struct kx_token *look_up(const struct request *request, const char *id)
{
    return request->caller.standby_read
               ? kx_follower_token(request->reader, kx_text(id))
               : kx_token_find(request->service->store, kx_text(id));
}

static bool is_jwt(const struct request *request, const char *text)
{
    return request->service->issuer != NULL &&
           strncmp(text, BEGIN, BEGIN_SIZE) != 0;
}

static bool find_identity(struct request *request, struct reply *reply,
                          const char *text)
{
    const struct service *service = request->service;
    const char *why;
    request->caller.token =
        identity_of_bearer(service->identities, service->issuer, kx_text(text),
                           request->memory, &why);
    reply->body.failed |= why == ISSUER_NO_MEMORY;
    if (request->caller.token != NULL || why == ISSUER_NO_MEMORY)
        return request->caller.token != NULL;
    return refuse_token(request, reply, BAD_TOKEN, why);
}

/* Another node sends its own certificate, not that of its client. */
static bool has_identity(const struct request *request)
{
    return request->certificate != NULL &&
           request->service->identities != NULL &&
           request_header(request, NODE_HOP) == NULL;
}

/* Finds the identity of the client's certificate, if lines of --grants give it
 * anything. */
static bool find_holder(struct request *request, struct reply *reply)
{
    struct caller *caller = &request->caller;
    if (has_identity(request)) {
        caller->token =
            identity_of_certificate(request->service->identities,
                                    request->certificate, request->memory);
        reply->body.failed |= caller->token == NULL;
    }
    if (caller->token != NULL && caller->token->grant_count > 0 &&
        !is_over(caller->token))
        return true;
    kx_token_release(caller->token);
    caller->token = NULL;
    return (request->route->scope == SCOPE_OPTIONAL && !reply->body.failed) ||
           refuse_token(request, reply, NO_TOKEN,
                        "The request has no Authorization: Bearer.");
}

/* An unknown id and a wrong secret get the same answer, so that it tells
 * nothing about ids. Only a caller with the right secret learns that the token
 * has expired. */
static bool find_token(struct request *request, struct reply *reply)
{
    struct credential credential;
    const char *text = access_bearer(request);
    if (text == NULL)
        return find_holder(request, reply);
    if (is_jwt(request, text))
        return find_identity(request, reply, text);
    if (!credential_read(kx_text(text), &credential))
        return refuse_token(request, reply, BAD_TOKEN,
                            "The credential is not a Kindex access token.");
    struct kx_token *token = look_up(request, credential.id);
    if (token != NULL && !credential_fits(&credential, token)) {
        kx_token_release(token);
        token = NULL;
    }
    request->caller.token = token;
    if (token == NULL)
        return refuse_token(request, reply, BAD_TOKEN,
                            "The access token is not valid.");
    return !is_over(token) || refuse_token(request, reply, BAD_TOKEN,
                                           "The access token has expired.");
}

static bool is_granted(const struct kx_token *token, unsigned bit)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if ((token->grants[i].scopes & bit) != 0)
            return true;
    return false;
}

/* SCOPE_MONITOR and SCOPE_ADMIN must be granted for all keys. */
static bool check_scope(struct request *request, struct reply *reply)
{
    enum scope scope = request->route->scope;
    unsigned bit = access_bit(scope);
    struct kx_slice all = kx_slice(NULL, 0);
    if (scope == SCOPE_MONITOR || scope == SCOPE_ADMIN)
        return access_key(request, reply, scope, all);
    if (scope == SCOPE_TOKEN)
        request->caller.asked = true;
    return bit == 0 || is_granted(request->caller.token, bit) ||
           access_refuse_key(request, reply, scope, NULL);
}

/* A server that other machines reach refuses requests while there are no
 * tokens. It started with one, but the last one may have been revoked. */
static bool admit_unknown(struct request *request, struct reply *reply)
{
    return !request->service->closed ||
           refuse_token(request, reply, NO_TOKEN,
                        "No access tokens are left: restart the server with "
                        "--token-file.");
}

static const char REVOKED[] =
    "The client certificate was revoked after it was accepted.";

/* True if the certificate of the connection is no longer accepted. Then not
 * even a token helps. */
static bool is_revoked(const struct request *request)
{
    return request->certificate != NULL &&
           atomic_load(&request->certificate->revoked);
}

bool access_admit(struct request *request, struct reply *reply)
{
    if (request->route->scope == SCOPE_NONE)
        return true;
    if (is_revoked(request))
        return refuse_token(request, reply, NO_TOKEN, REVOKED);
    if (!access_needs_token(request))
        return admit_unknown(request, reply);
    if (!find_token(request, reply))
        return false;
    return request->caller.token == NULL ||
           (access_count(request, reply) && check_scope(request, reply));
}

/* A request that was admitted without a token ends when there are tokens,
 * unless its route needs none. A standby looks for these with each slice
 * (access_admit_again). */
bool access_holds(const struct request *request)
{
    const struct caller *caller = &request->caller;
    if (is_revoked(request))
        return false;
    if (caller->token != NULL)
        return !is_over(caller->token);
    return (request->route->scope <= SCOPE_OPTIONAL && !caller->ticket) ||
           caller->forwarded ||
           (caller->standby_read && request->reader == NULL) ||
           !access_needs_token(request);
}

/* A standby learns that a token was revoked when it looks it up. */
static void look_again(const struct request *request)
{
    if (request->caller.standby_read && request->caller.token != NULL)
        kx_token_release(look_up(request, request->caller.token->id));
}

bool access_admit_again(struct request *request, struct reply *reply)
{
    look_again(request);
    return access_holds(request) ||
           refuse_token(request, reply,
                        request->caller.token != NULL ? BAD_TOKEN : NO_TOKEN,
                        "The access token is not valid.");
}

uint64_t access_until_ns(const struct request *request)
{
    const struct kx_token *token = request->caller.token;
    if (token == NULL || token->expires_at_ms == 0)
        return 0;
    int64_t left_ms = token->expires_at_ms - kx_now_ms();
    return kx_monotonic_ns() + (left_ms > 0 ? (uint64_t)left_ms * KX_MS_NS : 0);
}

/* ---- The end ------------------------------------------------------------ */

void access_asked(struct request *request)
{
    request->caller.asked = true;
}

/* A handler that did not check the caller's rights is an error in the program:
 * its reply is replaced, so that it cannot disclose entries. */
static void check_asked(struct request *request, struct reply *reply)
{
    if (request->caller.asked || reply->status >= 400)
        return;
    kx_log(KX_LOG_ERROR, "access-not-asked", "operation=%s",
           request->route->operation);
    problem(request, reply, PROBLEM_INTERNAL,
            "The handler did not check the caller's rights.");
}

/* Replies for which audit_denial has already written a line. */
static bool is_denial(const struct reply *reply)
{
    return reply->status == 401 || reply->status == 403;
}

void access_finish(struct request *request, struct reply *reply)
{
    const struct route *route = request->route;
    if (request->caller.forwarded)
        return;
    if (route != NULL && request->caller.token != NULL) {
        check_asked(request, reply);
        add_quota(request, reply);
    }
    if (route != NULL && route->scope >= SCOPE_INDEX && !is_denial(reply))
        audit_action(request, reply->status);
}

void access_leave(struct request *request)
{
    struct caller *caller = &request->caller;
    kx_token_release(caller->token);
    certificate_release(request->certificate);
    request->certificate = NULL;
    *caller = (struct caller){.token = NULL};
}
