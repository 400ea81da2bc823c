/* The document of POST /atomic:
 *
 * {"checks":[{"key":[...],"versionstamp":"..."},{"prefix":[...],"none":true}],
 * "mutations":[{"type":"set",
 * "key":[...],"value":...,"ttl":"5m"}], "dry":false}, with "expiresAt" for
 * "ttl". */
#include "commits/atomic.h"

#include <talloc.h>

#include "rest/document.h"

/* The number of elements is checked before anything is allocated for them. */
static bool count_within(struct kx_slice array, size_t limit, size_t *count_out,
                         struct input_error *error)
{
    if (!document_count(array, count_out, error))
        return false;
    return *count_out <= limit ||
           input_error_set(error, PROBLEM_COMMIT_TOO_LARGE,
                           "There are %zu elements; the limit is %zu.",
                           *count_out, limit);
}

/* Elements are counted on the way, so that an error's pointer names the one it
 * is in: /checks/3/key. */
static bool read_checks(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct atomic *atomic = target;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t count;
    if (!count_within(array, KX_CHECKS_MAX, &count, error))
        return false;
    atomic->checks = talloc_zero_array(atomic->memory, struct kx_check, count);
    if (atomic->checks == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        size_t i = atomic->check_count++;
        if (!atomic_read_check(value, atomic->memory, &atomic->checks[i],
                               error))
            return input_error_in_element(error, i);
    }
    return true;
}

static bool read_mutations(void *target, struct kx_slice array,
                           struct input_error *error)
{
    struct atomic *atomic = target;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t count;
    if (!count_within(array, KX_MUTATIONS_MAX, &count, error))
        return false;
    atomic->mutations =
        talloc_zero_array(atomic->memory, struct kx_mutation, count);
    if (atomic->mutations == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        size_t i = atomic->mutation_count++;
        if (!atomic_read_mutation(atomic, value, &atomic->mutations[i], error))
            return input_error_in_element(error, i);
    }
    return true;
}

static bool read_dry(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct atomic *atomic = target;
    return document_flag(value, &atomic->dry, error);
}

static const struct member DOCUMENT_MEMBERS[] = {
    {"checks", read_checks},
    {"mutations", read_mutations},
    {"dry", read_dry},
    {NULL, NULL},
};

bool atomic_read(struct kx_slice document, struct atomic *atomic_out,
                 struct input_error *error)
{
    *atomic_out =
        (struct atomic){.memory = atomic_out->memory, .deep = atomic_out->deep};
    return document_read(document, DOCUMENT_MEMBERS, atomic_out, error);
}
