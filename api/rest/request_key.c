/* Reads the key of a request from its path or from ?key=. */
#include "rest/request_key.h"

#include "http/percent.h"
#include "rest/key_text.h"

/* An error in the array has a pointer into it, which is replaced by the name of
 * the parameter. */
static bool read_parameter(const struct query_params *query,
                           struct kx_buffer *key, struct input_error *error)
{
    struct kx_buffer text;
    kx_buffer_init(&text, query->memory);
    bool done = query_params_text(query, PARAMETER_KEY, &text, error) &&
                key_text_from_any_json(kx_buffer_slice(&text), key, error);
    if (!done) {
        if (error->code == PROBLEM_BAD_JSON)
            input_error_set(error, PROBLEM_BAD_JSON,
                            "The parameter key takes a JSON array, such as "
                            "[\"users\",\"ada\"].");
        error->parameter = kx_text(query_params_name(PARAMETER_KEY));
        error->pointer[0] = '\0';
    }
    kx_buffer_free(&text);
    return done;
}

/* Most requests have no query. For these only query_out->given is set, the one
 * member that query_params_has reads. */
bool request_key_read(const struct request *request, unsigned allowed,
                      struct query_params *query_out, struct kx_buffer *key,
                      struct input_error *error)
{
    query_out->given = 0;
    if (request->query.size > 0 &&
        !query_params_read(request->query, allowed | TAKES_KEY, request->memory,
                           query_out, error))
        return false;
    if (!query_params_has(query_out, PARAMETER_KEY))
        return !request->has_tail ||
               key_text_from_path(request->tail, key, error);
    if (request->has_tail)
        return input_error_set(
            error, PROBLEM_BAD_PARAMETER,
            "The key is given twice: in the path and in ?key=.");
    return read_parameter(query_out, key, error);
}

bool request_key(const struct request *request, unsigned allowed,
                 struct query_params *query_out, struct kx_buffer *key,
                 struct input_error *error)
{
    if (!request_key_read(request, allowed, query_out, key, error))
        return false;
    if (key->size == 0)
        return input_error_set(error, PROBLEM_BAD_KEY, "The key has no parts.");
    if (key->size > KX_KEY_MAX)
        return input_error_set(
            error, PROBLEM_KEY_TOO_LONG,
            "The key has %zu encoded bytes; the limit is %d.", key->size,
            KX_KEY_MAX);
    return true;
}

bool request_key_index(const struct request *request, struct kx_buffer *name,
                       struct input_error *error)
{
    kx_buffer_init(name, request->memory);
    if (!percent_decode(request->argument, name))
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "The name of the index has a '%%' without two "
                               "hexadecimal digits.");
    return !name->failed || input_error_no_memory(error);
}

void request_key_header(struct request *request, struct reply *reply,
                        const char *name, struct kx_slice key)
{
    struct kx_buffer address;
    kx_buffer_init(&address, request->memory);
    kx_add_text(&address, "/kv/");
    key_text_to_path(key, &address);
    kx_add_byte(&address, '\0');
    if (address.failed)
        reply->body.failed = true;
    else
        reply_header(reply, name, (const char *)address.data);
}
