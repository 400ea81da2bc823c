/* PUT /indexes/{name}/get/<value...>: replaces the entry that has the value, or
 * makes one under ?new=. The writer finds the entry while it plans, so nothing
 * can come between. */
#include "entries/entry_handlers.h"

#include <stdio.h>

#include "rest/body.h"
#include "rest/request_key.h"

/* The key of a new entry, if it is given. */
static bool read_new(const struct query_params *query,
                     struct kx_mutation *mutation, struct input_error *error)
{
    struct kx_buffer key;
    struct kx_fault fault = {0};
    kx_buffer_init(&key, query->memory);
    if (!query_params_has(query, PARAMETER_NEW))
        return true;
    if (!query_params_key(query, PARAMETER_NEW, &key, error))
        return false;
    mutation->new_key = kx_buffer_slice(&key);
    if (key.size > 0 && kx_key_check(mutation->new_key, &fault) == KX_OK)
        return true;
    if (key.size == 0)
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "The parameter new is a key with at least one part.");
    else
        input_error_fault(error, &fault);
    error->parameter = kx_text(query_params_name(PARAMETER_NEW));
    return false;
}

static bool read_put(struct request *request, struct kx_mutation *mutation,
                     struct kx_by *by, struct input_error *error)
{
    struct kx_buffer name;
    struct kx_buffer value;
    struct query_params query;
    kx_buffer_init(&value, request->memory);
    mutation->by = by;
    if (!request_key_index(request, &name, error) ||
        !request_key(request, TAKES_TTL | TAKES_NEW, &query, &value, error) ||
        !body_value(request, &mutation->value, error) ||
        !kv_read_ttl(&query, mutation, error) ||
        !read_new(&query, mutation, error))
        return false;
    by->index = kx_buffer_slice(&name);
    by->value = kx_buffer_slice(&value);
    return true;
}

struct putting {
    struct kx_mutation mutation;
    struct kx_by by;
    struct input_error error; /* set unless `good` */
    bool good;
};

static void read_all(struct request *request, void *arg)
{
    struct putting *putting = arg;
    putting->good =
        read_put(request, &putting->mutation, &putting->by, &putting->error);
}

static void add_advice(struct kx_fault *fault)
{
    size_t size = strlen(fault->detail);
    snprintf(fault->detail + size, sizeof fault->detail - size,
             "; with ?new=KEY it is stored under KEY");
}

/* 201 with Location: the entry has another address. */
void kv_put_by(struct request *request, struct reply *reply)
{
    struct kx_commit *commit = &request->commit;
    struct putting putting;
    putting.mutation = (struct kx_mutation){.type = KX_SET};
    putting.by = (struct kx_by){.keeps = true};
    if (!request_work(request, read_all, &putting))
        return;
    if (!putting.good) {
        input_error_reply(request, reply, &putting.error);
        return;
    }
    if (!kv_commit(request, reply, &putting.mutation))
        return;
    if (commit->status == KX_ABSENT)
        add_advice(&commit->refusal.fault);
    kv_answer_write(request, reply);
    if (reply->status == 201)
        request_key_header(request, reply, "Location",
                           commit->mutations[0].key);
}
