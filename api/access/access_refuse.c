/* Refusals for lack of a right: 403 with the scope that the token would need,
 * and a line in the audit log. */
#include "access/access_state.h"

#include "access/audit.h"

unsigned access_bit(enum scope scope)
{
    static const unsigned BITS[] = {
        [SCOPE_READ] = KX_MAY_READ,       [SCOPE_LIST] = KX_MAY_LIST,
        [SCOPE_WATCH] = KX_MAY_WATCH,     [SCOPE_WRITE] = KX_MAY_WRITE,
        [SCOPE_MONITOR] = KX_MAY_MONITOR, [SCOPE_INDEX] = KX_MAY_INDEX,
        [SCOPE_TOKENS] = KX_MAY_ADMIN,    [SCOPE_ADMIN] = KX_MAY_ADMIN,
    };
    return BITS[scope];
}

static void refuse(struct request *request, struct reply *reply,
                   enum scope scope, const char *what)
{
    const char *name = kx_scope_name((enum kx_scope)access_bit(scope));
    problem(request, reply, PROBLEM_FORBIDDEN,
            "The token does not have the scope %s for %s.", name, what);
    problem_member_text(reply, "scope", kx_text(name));
    reply_headerf(request, reply, "WWW-Authenticate",
                  "Bearer realm=\"kindex\", error=\"insufficient_scope\", "
                  "scope=\"%s\"",
                  name);
}

bool access_refuse_key(struct request *request, struct reply *reply,
                       enum scope scope, const struct kx_slice *key)
{
    struct kx_buffer json;
    refuse(request, reply, scope,
           key == NULL      ? "any key"
           : key->size == 0 ? "all keys"
                            : "a prefix that covers these keys");
    kx_buffer_init(&json, request->memory);
    if (key != NULL)
        kx_key_to_json(*key, &json);
    if (key != NULL)
        problem_member_json(reply, "prefix", kx_buffer_slice(&json));
    reply->body.failed |= json.failed;
    audit_denial(request, reply->status, key);
    return false;
}

bool access_refuse_index(struct request *request, struct reply *reply,
                         enum scope scope, struct kx_slice name)
{
    refuse(request, reply, scope,
           scope == SCOPE_INDEX
               ? "the entries of such an index and for its own name"
               : "the entries of such an index");
    if (kx_utf8_valid(name))
        problem_member_text(reply, "index", name);
    audit_denial(request, reply->status, &name);
    return false;
}
