/* The mutations sum, min, max and patch of a stored value. Types never mix: a
 * KvU64 is combined with a KvU64, a JSON number with a JSON number. JSON
 * integers that fit into 64 bits are added exactly, also beyond the precision
 * of a double. The result of min and max is one of the two values, byte for
 * byte. */
#include "entry/value.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

#include "json/json_arithmetic.h"
#include "json/json_equal.h"
#include "json/json_patch.h"
#include "entry/value_number.h"
#include "v8/v8_normalize.h"

const char *value_type_text(const struct kx_value *value)
{
    static const char *const json[] = {
        [KX_JSON_NULL] = "JSON null",       [KX_JSON_FALSE] = "a JSON boolean",
        [KX_JSON_TRUE] = "a JSON boolean",  [KX_JSON_NUMBER] = "a JSON number",
        [KX_JSON_STRING] = "a JSON string", [KX_JSON_ARRAY] = "a JSON array",
        [KX_JSON_OBJECT] = "a JSON object"};
    switch (value->encoding) {
    case KX_JSON:
        return json[kx_json_type(value->data)];
    case KX_V8:
        return "a V8 value";
    case KX_LE64:
        return "a KvU64";
    case KX_BYTES:
        return "bytes";
    case KX_POINTER:
        return "an index pointer";
    }
    return "a value of an unknown type";
}

/* The operation, and the buffer of its result. */
struct combination {
    const struct kx_mutation *mutation;
    enum kx_mutation_type type;
    const struct kx_value *stored;
    const struct kx_value *operand;
    struct charge *charge;
    struct kx_buffer *out;
    struct kx_fault *fault;
};

/* The result has been appended from `start` on. */
static enum kx_status give(struct combination *combination,
                           enum kx_encoding encoding, size_t start,
                           struct kx_value *result_out)
{
    const struct kx_buffer *out = combination->out;
    if (out->failed)
        return KX_NO_MEMORY;
    *result_out = (struct kx_value){
        .encoding = encoding,
        .data = kx_slice(out->data + start, out->size - start)};
    return KX_OK;
}

/* ---- JSON numbers ------------------------------------------------------- */

static struct kx_slice token_of(const struct kx_value *value)
{
    struct kx_slice token = value->data;
    kx_json_find(value->data, kx_text(""), &token);
    return token;
}

static enum kx_status combine_numbers(struct combination *combination,
                                      struct kx_value *result_out)
{
    struct kx_slice a = token_of(combination->stored);
    struct kx_slice b = token_of(combination->operand);
    size_t start = combination->out->size;
    if (combination->type != KX_SUM) {
        int order = json_number_compare(b, a);
        bool new = combination->type == KX_MIN ? order < 0 : order > 0;
        *result_out = new ? *combination->operand : *combination->stored;
        return KX_OK;
    }
    return json_number_sum(a, b, combination->out)
               ? give(combination, KX_JSON, start, result_out)
               : kx_fail(combination->fault, KX_NUMBER_RANGE,
                         "the sum of %.*s and %.*s is too large for a double",
                         kx_shown(a), (const char *)a.data, kx_shown(b),
                         (const char *)b.data);
}

/* ---- KvU64 -------------------------------------------------------------- */

static uint64_t read_u64(const struct kx_value *value)
{
    uint64_t number;
    memcpy(&number, value->data.data, sizeof(number));
    return le64toh(number);
}

/* The sum wraps, as in Deno KV. */
static enum kx_status combine_u64(struct combination *combination,
                                  struct kx_value *result_out)
{
    uint64_t a = read_u64(combination->stored);
    uint64_t b = read_u64(combination->operand);
    if (combination->type != KX_SUM) {
        bool new = combination->type == KX_MIN ? b < a : a < b;
        *result_out = new ? *combination->operand : *combination->stored;
        return KX_OK;
    }
    uint64_t sum = htole64(a + b);
    size_t start = combination->out->size;
    kx_add(combination->out, &sum, sizeof sum);
    return give(combination, KX_LE64, start, result_out);
}

/* ---- Patches ------------------------------------------------------------ */

/* The stored value as JSON; of a V8 value, json gets the text. */
static enum kx_status stored_json(const struct combination *combination,
                                  struct kx_buffer *json,
                                  struct kx_slice *text_out)
{
    *text_out = kx_slice(NULL, 0);
    if (combination->stored == NULL)
        return KX_OK;
    *text_out = combination->stored->data;
    if (combination->stored->encoding == KX_JSON)
        return KX_OK;
    enum kx_status status = KX_ABSENT;
    if (combination->stored->encoding == KX_V8)
        status = kx_v8_to_json(combination->stored->data, json);
    *text_out = kx_buffer_slice(json);
    charge_add(combination->charge, 2 * text_out->size, CHARGE_STORED);
    if (status == KX_OK)
        status = kx_json_check(*text_out, NULL);
    return status == KX_OK || status == KX_NO_MEMORY
               ? status
               : kx_fail(combination->fault, KX_TYPE_MISMATCH,
                         "the stored value is %s; a patch needs JSON",
                         value_type_text(combination->stored));
}

/* Names the operation that failed, with its path. */
static enum kx_status fail_patch(const struct json_patch *patch,
                                 enum json_patch_result result,
                                 struct kx_fault *fault)
{
    static const struct {
        enum kx_status status;
        const char *why;
    } ROWS[] = {
        [JSON_PATCH_MALFORMED] = {KX_BAD_VALUE, "it is not valid"},
        [JSON_PATCH_MIN_ABOVE_MAX] = {KX_BAD_VALUE, "min is greater than max"},
        [JSON_PATCH_NO_PLACE] = {KX_PATH_ABSENT, "the path leads to nothing"},
        [JSON_PATCH_TEST_FAILED] = {KX_TEST_FAILED,
                                    "another value is at the path"},
        [JSON_PATCH_NO_ARRAY] = {KX_TYPE_MISMATCH, "no array is at the path"},
        [JSON_PATCH_NO_NUMBER] = {KX_TYPE_MISMATCH, "no number is at the path"},
        [JSON_PATCH_NOT_FINITE] = {KX_NUMBER_RANGE,
                                   "the sum is too large for a double"},
        [JSON_PATCH_BELOW_MIN] = {KX_OUT_OF_BOUNDS,
                                  "the sum would be less than min"},
        [JSON_PATCH_ABOVE_MAX] = {KX_OUT_OF_BOUNDS,
                                  "the sum would be greater than max"},
        [JSON_PATCH_TOO_DEEP] = {KX_JSON_TOO_DEEP,
                                 "the value would be nested too deeply"},
        [JSON_PATCH_TOO_LARGE] = {KX_COMMIT_TOO_LARGE,
                                  "with it the commit costs more than its "
                                  "budget"},
    };
    char place[40];
    struct kx_slice path = kx_text("");
    if (result == JSON_PATCH_NO_MEMORY)
        return KX_NO_MEMORY;
    snprintf(place, sizeof place, "/%zu/path", patch->operation);
    kx_json_find(patch->operations, kx_text(place), &path);
    char budget[40] = "";
    if (result == JSON_PATCH_TOO_LARGE)
        snprintf(budget, sizeof budget, " of %" PRIu64 " units",
                 patch->charge->most);
    kx_fail(fault, ROWS[result].status,
            "operation %zu of the patch, %.*s: %s%s", patch->operation,
            (int)path.size, (const char *)path.data, ROWS[result].why, budget);
    snprintf(fault->pointer, sizeof fault->pointer, "/%zu%s", patch->operation,
             ROWS[result].status == KX_BAD_VALUE ? patch->member : "/path");
    return ROWS[result].status;
}

/* Without a stored value the operations are carried out on {}. */
static enum kx_status operate(struct combination *combination,
                              struct kx_slice stored)
{
    struct json_patch patch = {.target =
                                   stored.size > 0 ? stored : kx_text("{}"),
                               .operations = combination->operand->data,
                               .charge = combination->charge};
    enum json_patch_result result = json_patch(&patch, combination->out);
    return result == JSON_PATCH_DONE
               ? KX_OK
               : fail_patch(&patch, result, combination->fault);
}

/* A merge passes each level of the target again that the patch goes into. */
static enum kx_status merge(struct combination *combination,
                            struct kx_slice stored)
{
    struct kx_slice operand = combination->operand->data;
    size_t levels = json_depth(operand) + 1;
    charge_add(combination->charge, 1, CHARGE_OPERATION);
    charge_add(combination->charge, levels * (stored.size + 2 * operand.size),
               CHARGE_PASSED);
    if (charge_passed(combination->charge))
        return kx_fail(combination->fault, KX_COMMIT_TOO_LARGE,
                       "with this patch the commit costs more than its budget "
                       "of %" PRIu64 " units",
                       combination->charge->most);
    kx_json_merge(stored, operand, combination->out);
    return KX_OK;
}

/* The number at the place of a sum that is out of bounds is the result then. */
static enum kx_status patch(struct combination *combination,
                            struct kx_value *result_out)
{
    struct kx_buffer json;
    struct kx_slice stored;
    size_t start = combination->out->size;
    kx_buffer_init(&json, combination->out->owner);
    enum kx_status status = stored_json(combination, &json, &stored);
    if (status == KX_OK && combination->type == KX_JSON_PATCH)
        status = operate(combination, stored);
    else if (status == KX_OK)
        status = merge(combination, stored);
    kx_buffer_free(&json);
    if (status != KX_OK && status != KX_OUT_OF_BOUNDS)
        return status;
    enum kx_status given = give(combination, KX_JSON, start, result_out);
    return given == KX_OK ? status : given;
}

/* ---- Types -------------------------------------------------------------- */

static bool is_number(const struct kx_value *value)
{
    return value->encoding == KX_JSON &&
           kx_json_type(value->data) == KX_JSON_NUMBER;
}

static bool is_u64(const struct kx_value *value)
{
    return value->encoding == KX_LE64 && value->data.size == sizeof(uint64_t);
}

static enum kx_status arithmetic(struct combination *combination,
                                 struct kx_value *result_out)
{
    bool number = is_number(combination->operand);
    bool v8 = combination->operand->encoding == KX_V8;
    if (v8 &&
        !kx_value_is_number(combination->operand, combination->out->owner))
        return kx_fail(combination->fault, KX_TYPE_MISMATCH, "%s",
                       value_not_number);
    if (!number && !v8 && !is_u64(combination->operand))
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "the operand of %s is %s; it must be a KvU64, a number "
                       "or a bigint",
                       value_verb(combination->type),
                       value_type_text(combination->operand));
    if (combination->stored == NULL) {
        *result_out = *combination->operand;
        return KX_OK;
    }
    if (v8 || combination->stored->encoding == KX_V8)
        return value_combine_v8(combination->mutation, combination->stored,
                                combination->out, result_out,
                                combination->fault);
    bool fits =
        number ? is_number(combination->stored) : is_u64(combination->stored);
    if (!fits)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "the stored value is %s; %s with %s needs %s",
                       value_type_text(combination->stored),
                       value_verb(combination->type),
                       value_type_text(combination->operand),
                       value_type_text(combination->operand));
    return number ? combine_numbers(combination, result_out)
                  : combine_u64(combination, result_out);
}

enum kx_status value_combine(const struct kx_mutation *mutation,
                             const struct kx_value *stored,
                             const struct value_work *work,
                             struct kx_value *result_out,
                             struct kx_fault *fault)
{
    const struct kx_value *operand = &mutation->value;
    struct combination combination = {.mutation = mutation,
                                      .type = mutation->type,
                                      .stored = stored,
                                      .operand = operand,
                                      .charge = work->charge,
                                      .out = work->out,
                                      .fault = fault};
    if (mutation->type != KX_PATCH && mutation->type != KX_JSON_PATCH)
        return arithmetic(&combination, result_out);
    if (operand->encoding != KX_JSON)
        return kx_fail(fault, KX_TYPE_MISMATCH,
                       "a patch is %s; it must be JSON",
                       value_type_text(operand));
    return patch(&combination, result_out);
}

/* ---- Equality ----------------------------------------------------------- */

/* Compares values of one encoding: JSON by value, others by bytes. */
static bool plainly_equal(const struct kx_value *a, const struct kx_value *b)
{
    if (a->encoding == KX_JSON)
        return kx_json_equal(a->data, b->data);
    return kx_equal(a->data, b->data) && kx_equal(a->media_type, b->media_type);
}

/* A V8 value that JSON cannot show is compared in its normalized form. */
static enum kx_status show(const struct kx_value *value, struct kx_buffer *out,
                           bool *plain_out)
{
    struct kx_value shown = *value;
    struct kx_buffer normal;
    kx_buffer_init(&normal, out->owner);
    enum kx_status status = KX_OK;
    if (value->encoding == KX_V8)
        status = v8_normalize(value->data, &normal);
    if (status == KX_OK && value->encoding == KX_V8)
        shown.data = kx_buffer_slice(&normal);
    *plain_out = kx_value_to_json(&shown, out);
    kx_buffer_free(&normal);
    return out->failed || status == KX_NO_MEMORY ? KX_NO_MEMORY : KX_OK;
}

enum kx_status value_equal(const struct kx_value *a, const struct kx_value *b,
                           const void *memory, bool *equal_out)
{
    struct kx_buffer texts[2];
    bool plain[2] = {false, false};
    *equal_out = a->encoding == b->encoding && plainly_equal(a, b);
    if (*equal_out || (a->encoding == b->encoding && a->encoding != KX_V8))
        return KX_OK;
    kx_buffer_init(&texts[0], memory);
    kx_buffer_init(&texts[1], memory);
    enum kx_status status = show(a, &texts[0], &plain[0]);
    if (status == KX_OK)
        status = show(b, &texts[1], &plain[1]);
    if (status == KX_OK)
        *equal_out =
            plain[0] == plain[1] && kx_json_equal(kx_buffer_slice(&texts[0]),
                                                  kx_buffer_slice(&texts[1]));
    kx_buffer_free(&texts[0]);
    kx_buffer_free(&texts[1]);
    return status;
}
