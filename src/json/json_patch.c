/* Reads the operations of a JSON Patch, and carries them out in order. */
#include "json/json_patch_operate.h"
#include "json/json_string.h"

static const struct patch_operation {
    const char *name;
    operation_fn *operate;
    bool has_value;
    bool has_from;
} OPERATIONS[] = {
    {"\"add\"", json_patch_add, true, false},
    {"\"remove\"", json_patch_remove, false, false},
    {"\"replace\"", json_patch_replace, true, false},
    {"\"move\"", json_patch_move, false, true},
    {"\"copy\"", json_patch_copy, false, true},
    {"\"test\"", json_patch_test, true, false},
    {"\"set\"", json_patch_set, true, false},
    {"\"append\"", json_patch_append, true, false},
    {"\"include\"", json_patch_include, true, false},
    {"\"exclude\"", json_patch_exclude, true, false},
    {"\"sum\"", json_patch_sum, true, false},
};

static const struct patch_operation *operation_of(struct kx_slice item)
{
    struct kx_slice name;
    if (kx_json_type(item) != KX_JSON_OBJECT ||
        !kx_json_find(item, kx_text("/op"), &name) ||
        kx_json_type(name) != KX_JSON_STRING)
        return NULL;
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
        if (json_string_equal(name, kx_text(OPERATIONS[i].name)))
            return &OPERATIONS[i];
    return NULL;
}

/* Reads the member, a JSON Pointer. */
static enum json_patch_result read_pointer(struct patching *patching,
                                           struct kx_slice item,
                                           const char *member,
                                           struct kx_buffer *out)
{
    struct kx_slice text;
    out->size = 0;
    patching->patch->member = member;
    if (!kx_json_find(item, kx_text(member), &text) ||
        kx_json_type(text) != KX_JSON_STRING)
        return JSON_PATCH_MALFORMED;
    kx_json_unescape(text, out);
    if (out->failed)
        return JSON_PATCH_NO_MEMORY;
    return kx_pointer_valid(kx_buffer_slice(out)) ? JSON_PATCH_DONE
                                                  : JSON_PATCH_MALFORMED;
}

/* Members that the operation does not name are ignored (RFC 6902 section 4). */
static enum json_patch_result operate(struct patching *patching,
                                      struct kx_slice item)
{
    const struct patch_operation *operation = operation_of(item);
    patching->patch->member = "/op";
    if (operation == NULL)
        return JSON_PATCH_MALFORMED;
    enum json_patch_result result =
        read_pointer(patching, item, "/path", &patching->path);
    if (result == JSON_PATCH_DONE && operation->has_from)
        result = read_pointer(patching, item, "/from", &patching->from);
    if (result != JSON_PATCH_DONE)
        return result;
    patching->patch->member = "/value";
    if (operation->has_value &&
        !kx_json_find(item, kx_text("/value"), &patching->operand))
        return JSON_PATCH_MALFORMED;
    patching->item = item;
    return operation->operate(patching);
}

/* Its members are looked for one after another. */
static void charge_operation(struct charge *charge, struct kx_slice item)
{
    enum { LOOK_UPS = 4 };
    charge_add(charge, 1, CHARGE_OPERATION);
    charge_add(charge, LOOK_UPS * item.size, CHARGE_PASSED);
}

static enum json_patch_result operate_all(struct patching *patching)
{
    struct json_patch *patch = patching->patch;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice item;
    patch->operation = 0;
    patch->member = "";
    if (kx_json_type(patch->operations) != KX_JSON_ARRAY ||
        !kx_json_iterate(patch->operations, &iter))
        return JSON_PATCH_MALFORMED;
    for (; kx_json_next(&iter, &name, &item); patch->operation++) {
        patch->member = "";
        charge_operation(patch->charge, item);
        if (charge_passed(patch->charge))
            return JSON_PATCH_TOO_LARGE;
        enum json_patch_result result = operate(patching, item);
        if (result != JSON_PATCH_DONE)
            return result;
        if (charge_passed(patch->charge))
            return JSON_PATCH_TOO_LARGE;
    }
    return JSON_PATCH_DONE;
}

enum json_patch_result json_patch(struct json_patch *patch,
                                  struct kx_buffer *out)
{
    struct patching patching = {.patch = patch};
    enum { BUFFERS = 6 };
    struct kx_buffer *const buffers[BUFFERS] = {
        &patching.text,  &patching.next, &patching.insertion,
        &patching.moved, &patching.path, &patching.from};
    for (int i = 0; i < BUFFERS; i++)
        kx_buffer_init(buffers[i], out->owner);
    kx_add_slice(&patching.text, patch->target);
    charge_add(patch->charge, patch->target.size, CHARGE_PASSED);
    enum json_patch_result result =
        patching.text.failed ? JSON_PATCH_NO_MEMORY : operate_all(&patching);
    if (result == JSON_PATCH_DONE)
        kx_add_slice(out, kx_buffer_slice(&patching.text));
    else if (json_patch_beyond(result))
        kx_add_slice(out, patching.present);
    if (out->failed)
        result = JSON_PATCH_NO_MEMORY;
    for (int i = 0; i < BUFFERS; i++)
        kx_buffer_free(buffers[i]);
    return result;
}
