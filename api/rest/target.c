/* The key that a request is about. */
#include "rest/target.h"

#include "rest/keyjson.h"
#include "rest/path.h"

/* A flaw in the array has a pointer into it; in a query the parameter's name is
 * what helps. */
static bool read_parameter(const struct query *query, struct kx_buffer *key,
                           struct flaw *flaw)
{
    struct kx_buffer text;
    kx_buffer_init(&text, query->memory);
    bool done = query_text(query, PARAMETER_KEY, &text, flaw) &&
                keyjson_read_text(kx_buffer_slice(&text), key, flaw);
    if (!done) {
        if (flaw->code == PROBLEM_BAD_JSON)
            flaw_set(flaw, PROBLEM_BAD_JSON,
                     "The parameter key takes a JSON array, such as "
                     "[\"users\",\"ada\"].");
        flaw->parameter = kx_text(query_name(PARAMETER_KEY));
        flaw->pointer[0] = '\0';
    }
    kx_buffer_free(&text);
    return done;
}

/* Most requests have no query: query_out is then not set up beyond `given`,
 * which is all that query_has looks at. */
bool target_read(const struct request *request, unsigned allowed,
                 struct query *query_out, struct kx_buffer *key,
                 struct flaw *flaw)
{
    query_out->given = 0;
    if (request->query.size > 0 &&
        !query_read(request->query, allowed | TAKES_KEY, request->memory,
                    query_out, flaw))
        return false;
    if (!query_has(query_out, PARAMETER_KEY))
        return !request->has_tail || path_read(request->tail, key, flaw);
    if (request->has_tail)
        return flaw_set(flaw, PROBLEM_BAD_PARAMETER,
                        "The key is given twice: in the path and in ?key=.");
    return read_parameter(query_out, key, flaw);
}

bool target_key(const struct request *request, unsigned allowed,
                struct query *query_out, struct kx_buffer *key,
                struct flaw *flaw)
{
    if (!target_read(request, allowed, query_out, key, flaw))
        return false;
    if (key->size == 0)
        return flaw_set(flaw, PROBLEM_BAD_KEY, "The key has no parts.");
    if (key->size > KX_KEY_MAX)
        return flaw_set(flaw, PROBLEM_KEY_TOO_LONG,
                        "The key has %zu encoded bytes; the limit is %d.",
                        key->size, KX_KEY_MAX);
    return true;
}

void target_location(struct kx_slice key, struct kx_buffer *out)
{
    kx_add_text(out, "/kv/");
    path_write(key, out);
    kx_add_byte(out, '\0');
}
