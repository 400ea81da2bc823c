/* `sum` of a JSON Patch: adds to the number at a path, within bounds. */
#include "json/json_arithmetic.h"
#include "json/json_patch_operate.h"
#include "json/json_string.h"

struct sum_bounds {
    struct kx_slice min; /* without data: no bound */
    struct kx_slice max;
    enum kx_out out;
};

/* A member of the operation, which is a number if it is there. */
static bool read_bound(struct patching *patching, const char *member,
                       struct kx_slice *bound_out)
{
    patching->patch->member = member;
    *bound_out = kx_slice(NULL, 0);
    return !kx_json_find(patching->item, kx_text(member), bound_out) ||
           kx_json_type(*bound_out) == KX_JSON_NUMBER;
}

/* `out` needs a bound. */
static bool read_out(struct patching *patching, struct sum_bounds *bounds)
{
    static const char *const WORDS[] = {"\"refuse\"", "\"clamp\"", "\"skip\""};
    struct kx_slice word;
    patching->patch->member = "/out";
    bounds->out = KX_OUT_REFUSE;
    if (!kx_json_find(patching->item, kx_text("/out"), &word))
        return true;
    if (kx_json_type(word) != KX_JSON_STRING)
        return false;
    for (; bounds->out <= KX_OUT_SKIP; bounds->out++)
        if (json_string_equal(word, kx_text(WORDS[bounds->out])))
            return bounds->min.size > 0 || bounds->max.size > 0;
    return false;
}

static enum json_patch_result read_bounds(struct patching *patching,
                                          struct sum_bounds *bounds)
{
    patching->patch->member = "/value";
    if (kx_json_type(patching->operand) != KX_JSON_NUMBER ||
        !read_bound(patching, "/max", &bounds->max) ||
        !read_bound(patching, "/min", &bounds->min) ||
        !read_out(patching, bounds))
        return JSON_PATCH_MALFORMED;
    patching->patch->member = "/min";
    if (bounds->min.size > 0 && bounds->max.size > 0 &&
        json_number_compare(bounds->min, bounds->max) > 0)
        return JSON_PATCH_MIN_ABOVE_MAX;
    return JSON_PATCH_DONE;
}

/* A number is read as a double, added up, and compared with both bounds. */
static void charge_number(struct patching *patching, struct kx_slice number)
{
    enum { PASSES = 4 };
    charge_add(patching->patch->charge, PASSES * number.size, CHARGE_PASSED);
}

/* The number at the path, or nothing, and the sum, in the scratch `from`. */
static enum json_patch_result add_up(struct patching *patching)
{
    struct kx_slice *present = &patching->present;
    patching->from.size = 0;
    *present = kx_slice(NULL, 0);
    charge_number(patching, patching->operand);
    if (!json_patch_find(patching, kx_buffer_slice(&patching->path), present))
        kx_add_slice(&patching->from, patching->operand);
    else if (kx_json_type(*present) != KX_JSON_NUMBER)
        return JSON_PATCH_NO_NUMBER;
    else if (!json_number_sum(*present, patching->operand, &patching->from))
        return JSON_PATCH_NOT_FINITE;
    charge_number(patching, *present);
    return patching->from.failed ? JSON_PATCH_NO_MEMORY : JSON_PATCH_DONE;
}

/* Replaces the sum by the bound if it is beyond it. */
static enum json_patch_result hold(const struct sum_bounds *bounds,
                                   struct kx_slice *sum)
{
    if (bounds->max.size > 0 && json_number_compare(*sum, bounds->max) > 0) {
        *sum = bounds->max;
        return JSON_PATCH_ABOVE_MAX;
    }
    if (bounds->min.size > 0 && json_number_compare(*sum, bounds->min) < 0) {
        *sum = bounds->min;
        return JSON_PATCH_BELOW_MIN;
    }
    return JSON_PATCH_DONE;
}

enum json_patch_result json_patch_sum(struct patching *patching)
{
    struct sum_bounds bounds;
    enum json_patch_result result = read_bounds(patching, &bounds);
    if (result == JSON_PATCH_DONE)
        result = add_up(patching);
    if (result != JSON_PATCH_DONE)
        return result;
    patching->operand = kx_buffer_slice(&patching->from);
    result = hold(&bounds, &patching->operand);
    if (result != JSON_PATCH_DONE && bounds.out == KX_OUT_REFUSE)
        return result;
    if (result != JSON_PATCH_DONE && bounds.out == KX_OUT_SKIP)
        return JSON_PATCH_DONE;
    return json_patch_set(patching);
}
