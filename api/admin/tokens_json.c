/* The document of POST /tokens, and how tokens are shown. */
#include "admin/tokens.h"

#include <stdio.h>
#include <talloc.h>

#include "rest/key_text.h"
#include "rest/document.h"
#include "rest/ttl.h"

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

/* All keys have to be asked for, as the empty prefix: a member that was left
 * out must not be worth more than one that was not. */
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

/* All tokens are in memory, and a page shows many of them. */
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
    if (!ttl_member(value, reading->memory, &ms, error))
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

bool tokens_read(struct kx_slice document, void *memory,
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

void tokens_write(const struct kx_token *token, const char *text,
                  struct kx_buffer *out)
{
    kx_add_text(out, "{\"id\":\"");
    kx_add_text(out, token->id);
    kx_add_text(out, "\",\"name\":");
    kx_json_escape(token->name, out);
    kx_add_text(out, ",\"grants\":[");
    for (size_t i = 0; i < token->grant_count; i++) {
        if (i > 0)
            kx_add_byte(out, ',');
        add_grant(&token->grants[i], out);
    }
    kx_add_byte(out, ']');
    if (!token->fixed)
        add_time("createdAt", token->created_at_ms, out);
    if (token->expires_at_ms != 0)
        add_time("expiresAt", token->expires_at_ms, out);
    if (token->fixed)
        kx_add_text(out, ",\"fixed\":true");
    if (text != NULL) {
        kx_add_text(out, ",\"token\":\"");
        kx_add_text(out, text);
        kx_add_byte(out, '"');
    }
    kx_add_byte(out, '}');
}
