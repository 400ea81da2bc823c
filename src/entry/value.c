/* Computes sum, min, max and patch of a stored value, holds sums within bounds,
 * and compares values.
 *
 * Types never mix. A KvU64 is combined with a KvU64. A number is combined with
 * a number, each in JSON or V8. A bigint is combined with a bigint or, if it is
 * from 0 to 2^64 - 1, with a stored KvU64. JSON integers that fit into 64 bits
 * are added exactly, also beyond the precision of a double. The result of min
 * and max is one of the two values, byte for byte. */
#include "entry/value.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "json/json_equal.h"
#include "json/json_number.h"
#include "json/json_patch.h"
#include "v8/v8_bigint.h"
#include "v8/v8_normalize.h"
#include "v8/v8_reader.h"
#include "v8/v8_writer.h"

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

/* ---- Numbers ------------------------------------------------------------- */

enum number_kind { NUMBER_NONE, NUMBER_DOUBLE, NUMBER_BIGINT, NUMBER_U64 };

struct value_number {
    enum number_kind kind;
    double number;
    struct v8_bigint bigint; /* points into the value */
    uint64_t u64;
};

static struct value_number read_json(struct kx_slice json)
{
    struct value_number out = {.kind = NUMBER_NONE};
    if (kx_json_type(json) == KX_JSON_NUMBER &&
        kx_json_find(json, kx_text(""), &json) &&
        kx_number_parse(json, &out.number))
        out.kind = NUMBER_DOUBLE;
    return out;
}

/* The only token of a V8 value. False if it has more, or is boxed. */
static bool only_token(struct kx_slice bytes, const void *memory,
                       struct v8_token *token_out)
{
    struct v8_reader reader;
    struct v8_token end;
    bool only = v8_open(&reader, bytes, memory) == KX_OK &&
                v8_next(&reader, token_out) == KX_OK &&
                v8_next(&reader, &end) == KX_END;
    v8_close(&reader);
    return only && !token_out->boxed;
}

static struct value_number read_v8(struct kx_slice bytes, const void *memory)
{
    struct value_number out = {.kind = NUMBER_NONE};
    struct v8_token token;
    if (!only_token(bytes, memory, &token))
        return out;
    if (token.kind == V8_NUMBER) {
        out.kind = NUMBER_DOUBLE;
        out.number = token.number;
    } else if (token.kind == V8_BIGINT &&
               token.bytes.size <= KX_V8_BIGINT_MAX) {
        out.kind = NUMBER_BIGINT;
        out.bigint = (struct v8_bigint){.bytes = token.bytes,
                                        .negative = token.negative};
    }
    return out;
}

static struct value_number read_u64(struct kx_slice bytes)
{
    struct value_number out = {.kind = NUMBER_NONE};
    if (bytes.size != sizeof out.u64)
        return out;
    out.kind = NUMBER_U64;
    memcpy(&out.u64, bytes.data, sizeof out.u64);
    out.u64 = le64toh(out.u64);
    return out;
}

/* The number that a value is. NUMBER_NONE: it is not a number, or is a bigint
 * of more than KX_V8_BIGINT_MAX bytes. memory: a talloc context for scratch. */
static struct value_number read_number(const struct kx_value *value,
                                       const void *memory)
{
    switch (value->encoding) {
    case KX_JSON:
        return read_json(value->data);
    case KX_V8:
        return read_v8(value->data, memory);
    case KX_LE64:
        return read_u64(value->data);
    case KX_BYTES:
    case KX_POINTER:
        break;
    }
    return (struct value_number){.kind = NUMBER_NONE};
}

bool kx_value_is_number(const struct kx_value *value, const void *memory)
{
    return read_number(value, memory).kind != NUMBER_NONE;
}

/* ---- One mutation -------------------------------------------------------- */

/* A mutation of a stored value. */
struct combination {
    const struct kx_mutation *mutation;
    const struct kx_value *stored; /* NULL: absent */
    struct value_number left;      /* the stored value; set for V8 only */
    struct value_number right;     /* the operand; not set for patches */
    struct charge *charge;
    struct kx_buffer *out;
    struct kx_value *result;
    struct kx_fault *fault;
};

/* Deno KV's message for an operand that is not a number. */
static const char NOT_A_NUMBER[] =
    "Some of the parameters are not valid V8 values";

static const char *verb_of(const struct combination *combination)
{
    enum kx_mutation_type type = combination->mutation->type;
    return type == KX_SUM ? "sum" : type == KX_MIN ? "min" : "max";
}

/* The result has been appended from `start` on. */
static enum kx_status give(struct combination *combination,
                           enum kx_encoding encoding, size_t start)
{
    const struct kx_buffer *out = combination->out;
    if (out->failed)
        return KX_NO_MEMORY;
    *combination->result = (struct kx_value){
        .encoding = encoding,
        .data = kx_slice(out->data + start, out->size - start)};
    return KX_OK;
}

/* min and max: order is that of the operand to the stored value. */
static enum kx_status give_either(struct combination *combination, int order)
{
    const struct kx_mutation *mutation = combination->mutation;
    bool new = mutation->type == KX_MIN ? order < 0 : order > 0;
    *combination->result = new ? mutation->value : *combination->stored;
    return KX_OK;
}

/* ---- JSON numbers ------------------------------------------------------- */

static struct kx_slice token_of(const struct kx_value *value)
{
    struct kx_slice token = value->data;
    kx_json_find(value->data, kx_text(""), &token);
    return token;
}

static enum kx_status combine_json(struct combination *combination)
{
    struct kx_slice a = token_of(combination->stored);
    struct kx_slice b = token_of(&combination->mutation->value);
    size_t start = combination->out->size;
    if (combination->mutation->type != KX_SUM)
        return give_either(combination, json_number_compare(b, a));
    return json_number_sum(a, b, combination->out)
               ? give(combination, KX_JSON, start)
               : kx_fail(combination->fault, KX_NUMBER_RANGE,
                         "the sum of %.*s and %.*s is too large for a double",
                         kx_excerpt_size(a), (const char *)a.data,
                         kx_excerpt_size(b), (const char *)b.data);
}

/* ---- KvU64 -------------------------------------------------------------- */

/* The sum wraps, as in Deno KV. */
static enum kx_status combine_u64(struct combination *combination,
                                  uint64_t stored, uint64_t operand)
{
    enum kx_mutation_type type = combination->mutation->type;
    size_t start = combination->out->size;
    uint64_t number = stored;
    if (type == KX_SUM)
        number += operand;
    else if (type == KX_MIN ? operand < stored : operand > stored)
        number = operand;
    number = htole64(number);
    kx_add(combination->out, &number, sizeof number);
    return give(combination, KX_LE64, start);
}

/* ---- V8 numbers and bigints ---------------------------------------------
 * Details have the wording of Deno KV. */

/* Gives a number in the encoding of the operand. */
static enum kx_status give_double(struct combination *combination,
                                  double number)
{
    size_t start = combination->out->size;
    struct v8_writer writer;
    char text[32];
    if (combination->mutation->value.encoding == KX_V8) {
        v8_begin(&writer, combination->out);
        v8_put_double(&writer, 'N', number);
        return give(combination, KX_V8, start);
    }
    if (!isfinite(number))
        return kx_fail(combination->fault, KX_NUMBER_RANGE,
                       "the sum is not a finite number");
    kx_add(combination->out, text, kx_number_text(number, text));
    return give(combination, KX_JSON, start);
}

static enum kx_status give_bigint(struct combination *combination,
                                  struct v8_bigint bigint)
{
    struct v8_writer writer;
    size_t start = combination->out->size;
    if (bigint.bytes.size > KX_V8_BIGINT_MAX)
        return kx_fail(combination->fault, KX_NUMBER_RANGE,
                       "the sum has more than %d bytes", KX_V8_BIGINT_MAX);
    v8_begin(&writer, combination->out);
    v8_put_bigint(&writer, bigint.bytes, bigint.negative);
    return give(combination, KX_V8, start);
}

/* Negative, 0 or positive; both must be of the same kind. */
static int compare(const struct value_number *a, const struct value_number *b)
{
    if (a->kind == NUMBER_BIGINT)
        return v8_bigint_compare(a->bigint, b->bigint);
    return (a->number > b->number) - (a->number < b->number);
}

/* The bounds that hold while numbers are combined: those of Deno KV. */
static const struct kx_bounds *deno_bounds(const struct kx_mutation *mutation)
{
    return mutation->bounds != NULL && mutation->bounds->of_deno
               ? mutation->bounds
               : NULL;
}

/* Reads a limit of a sum; without bytes there is no limit. */
static enum kx_status read_limit(struct combination *combination,
                                 const struct kx_value *value,
                                 struct value_number *limit_out)
{
    *limit_out = (struct value_number){.kind = NUMBER_NONE};
    if (value->data.size == 0)
        return KX_OK;
    *limit_out = read_number(value, combination->out->owner);
    if (limit_out->kind == NUMBER_NONE)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH, NOT_A_NUMBER);
    if (limit_out->kind != combination->right.kind)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "Min/max parameters have different types than the "
                       "operand");
    return KX_OK;
}

/* Replaces a sum beyond a limit by the limit, or refuses it. */
static enum kx_status limit_sum(struct combination *combination,
                                struct value_number *sum)
{
    const struct kx_bounds *bounds = deno_bounds(combination->mutation);
    struct value_number least;
    struct value_number most;
    if (bounds == NULL)
        return KX_OK;
    enum kx_status status = read_limit(combination, &bounds->min, &least);
    if (status == KX_OK)
        status = read_limit(combination, &bounds->max, &most);
    if (status != KX_OK)
        return status;
    bool below = least.kind != NUMBER_NONE && compare(sum, &least) < 0;
    bool above = most.kind != NUMBER_NONE && compare(sum, &most) > 0;
    if ((below || above) && bounds->out != KX_OUT_CLAMP)
        return kx_fail(combination->fault, KX_NUMBER_RANGE,
                       "The result of a Sum operation would exceed its range "
                       "limit");
    if (below || above)
        *sum = below ? least : most;
    return KX_OK;
}

static const char *kind_text(enum number_kind kind)
{
    static const char *const texts[] = {
        [NUMBER_NONE] = "this value",
        [NUMBER_DOUBLE] = "Number",
        [NUMBER_BIGINT] = "BigInt",
        [NUMBER_U64] = "KvU64",
    };
    return texts[kind];
}

static enum kx_status mismatch(const struct combination *combination)
{
    return kx_fail(combination->fault, KX_TYPE_MISMATCH, "Cannot %s %s with %s",
                   verb_of(combination), kind_text(combination->left.kind),
                   kind_text(combination->right.kind));
}

/* False if the bigint is negative or has more than 64 bits. */
static bool as_u64(struct v8_bigint bigint, uint64_t *number_out)
{
    uint8_t bytes[8] = {0};
    for (size_t i = 0; i < bigint.bytes.size; i++) {
        if (i < sizeof bytes)
            bytes[i] = bigint.bytes.data[i];
        else if (bigint.bytes.data[i] != 0)
            return false;
    }
    memcpy(number_out, bytes, sizeof bytes);
    *number_out = le64toh(*number_out);
    return !bigint.negative || *number_out == 0;
}

static enum kx_status sum_v8(struct combination *combination)
{
    struct value_number result = {.kind = combination->left.kind};
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, combination->out->owner);
    if (result.kind == NUMBER_BIGINT)
        result.bigint = v8_bigint_sum(combination->left.bigint,
                                      combination->right.bigint, &bytes);
    else
        result.number = combination->left.number + combination->right.number;
    enum kx_status status =
        bytes.failed ? KX_NO_MEMORY : limit_sum(combination, &result);
    if (status == KX_OK)
        status = result.kind == NUMBER_BIGINT
                     ? give_bigint(combination, result.bigint)
                     : give_double(combination, result.number);
    kx_buffer_free(&bytes);
    return status;
}

/* The operand or the stored value is V8. The sum of a KvU64 wraps, so the
 * bounds of Deno KV do not go with it. */
static enum kx_status combine_v8(struct combination *combination)
{
    enum number_kind kind = combination->left.kind;
    uint64_t operand;
    if (kind == NUMBER_NONE)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH, NOT_A_NUMBER);
    if (kind == NUMBER_U64)
        return combination->right.kind == NUMBER_BIGINT &&
                       deno_bounds(combination->mutation) == NULL &&
                       as_u64(combination->right.bigint, &operand)
                   ? combine_u64(combination, combination->left.u64, operand)
                   : mismatch(combination);
    if (kind != combination->right.kind)
        return mismatch(combination);
    if (combination->mutation->type == KX_SUM)
        return sum_v8(combination);
    return give_either(combination,
                       compare(&combination->right, &combination->left));
}

/* ---- sum, min and max ---------------------------------------------------- */

static bool is_json_number(const struct kx_value *value)
{
    return value->encoding == KX_JSON &&
           kx_json_type(value->data) == KX_JSON_NUMBER;
}

/* JSON numbers are combined as they are written, without reading doubles. */
static enum kx_status arithmetic(struct combination *combination)
{
    const struct kx_value *operand = &combination->mutation->value;
    const struct kx_value *stored = combination->stored;
    const void *memory = combination->out->owner;
    bool v8 = operand->encoding == KX_V8;
    if (is_json_number(operand) && stored != NULL && is_json_number(stored))
        return combine_json(combination);
    combination->right = read_number(operand, memory);
    enum number_kind kind = combination->right.kind;
    if (kind == NUMBER_NONE && v8)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH, NOT_A_NUMBER);
    if (kind == NUMBER_NONE)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "the operand of %s is %s; it must be a KvU64, a number "
                       "or a bigint",
                       verb_of(combination), value_type_text(operand));
    if (stored == NULL) {
        *combination->result = *operand;
        return KX_OK;
    }
    combination->left = read_number(stored, memory);
    if (v8 || stored->encoding == KX_V8)
        return combine_v8(combination);
    if (combination->left.kind != kind)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "the stored value is %s; %s with %s needs %s",
                       value_type_text(stored), verb_of(combination),
                       value_type_text(operand), value_type_text(operand));
    return combine_u64(combination, combination->left.u64,
                       combination->right.u64);
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

/* Describes the operation that failed, with its path. */
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
                               .operations = combination->mutation->value.data,
                               .charge = combination->charge};
    enum json_patch_result result = json_patch(&patch, combination->out);
    return result == JSON_PATCH_DONE
               ? KX_OK
               : fail_patch(&patch, result, combination->fault);
}

/* A merge passes each level of the target that the patch changes again. */
static enum kx_status merge(struct combination *combination,
                            struct kx_slice stored)
{
    struct kx_slice operand = combination->mutation->value.data;
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

/* With KX_OUT_OF_BOUNDS the result is the number at the path of the sum. */
static enum kx_status patch(struct combination *combination)
{
    const struct kx_value *operand = &combination->mutation->value;
    struct kx_buffer json;
    struct kx_slice stored;
    size_t start = combination->out->size;
    if (operand->encoding != KX_JSON)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "a patch is %s; it must be JSON",
                       value_type_text(operand));
    kx_buffer_init(&json, combination->out->owner);
    enum kx_status status = stored_json(combination, &json, &stored);
    if (status == KX_OK && combination->mutation->type == KX_JSON_PATCH)
        status = operate(combination, stored);
    else if (status == KX_OK)
        status = merge(combination, stored);
    kx_buffer_free(&json);
    if (status != KX_OK && status != KX_OUT_OF_BOUNDS)
        return status;
    enum kx_status given = give(combination, KX_JSON, start);
    return given == KX_OK ? status : given;
}

enum kx_status value_combine(const struct kx_mutation *mutation,
                             const struct kx_value *stored,
                             const struct value_work *work,
                             struct kx_value *result_out,
                             struct kx_fault *fault)
{
    struct combination combination = {.mutation = mutation,
                                      .stored = stored,
                                      .charge = work->charge,
                                      .out = work->out,
                                      .result = result_out,
                                      .fault = fault};
    return mutation->type == KX_PATCH || mutation->type == KX_JSON_PATCH
               ? patch(&combination)
               : arithmetic(&combination);
}

/* ---- Bounds --------------------------------------------------------------
 * Deno KV's bounds are kept while numbers are added (limit_sum). A sum is
 * beyond another bound if the lesser of it and the maximum, or the greater of
 * it and the minimum, is another value: so numbers are compared as min and max
 * compare them. */

static const uint8_t GREATEST_U64[8] = {0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff};

/* A KvU64 only grows by a sum, unless it has wrapped. */
static bool wrapped(const struct kx_value *stored, const struct kx_value *sum)
{
    return stored != NULL && stored->encoding == KX_LE64 &&
           sum->encoding == KX_LE64 &&
           read_u64(sum->data).u64 < read_u64(stored->data).u64;
}

/* Replaces the sum with the bound if the sum is beyond the bound: type KX_MIN
 * for the greatest value allowed, KX_MAX for the least one. */
static enum kx_status hold(enum kx_mutation_type type,
                           const struct kx_value *bound, struct kx_buffer *out,
                           struct kx_value *sum, struct kx_fault *fault)
{
    struct kx_mutation mutation = {.type = type, .value = *bound};
    if (bound->data.size == 0)
        return KX_OK;
    struct value_work work = {.out = out};
    return value_combine(&mutation, sum, &work, sum, fault);
}

enum kx_status value_bound(const struct kx_mutation *mutation,
                           const struct kx_value *stored, struct kx_buffer *out,
                           struct kx_value *sum, struct kx_fault *fault)
{
    const struct kx_bounds *bounds = mutation->bounds;
    if (bounds == NULL || bounds->of_deno)
        return KX_OK;
    struct kx_value exact = *sum;
    bool beyond = wrapped(stored, sum);
    if (beyond)
        sum->data = kx_slice(GREATEST_U64, sizeof GREATEST_U64);
    enum kx_status status = hold(KX_MIN, &bounds->max, out, sum, fault);
    bool above = beyond || !kx_equal(sum->data, exact.data);
    if (status == KX_OK)
        status = hold(KX_MAX, &bounds->min, out, sum, fault);
    if (status != KX_OK || kx_equal(sum->data, exact.data) ||
        bounds->out == KX_OUT_CLAMP)
        return status;
    return kx_fail(fault, KX_OUT_OF_BOUNDS, "the sum would be %s",
                   above ? "greater than max" : "less than min");
}

static bool is_like(const struct kx_value *bound,
                    const struct kx_value *operand)
{
    return bound->data.size == 0 || bound->encoding == operand->encoding;
}

/* The operand is combined with each bound only to learn whether it can be. */
enum kx_status kx_bounds_check(const struct kx_mutation *sum,
                               struct kx_buffer *scratch,
                               struct kx_fault *fault)
{
    const struct kx_bounds *bounds = sum->bounds;
    struct kx_value operand = sum->value;
    if (!is_like(&bounds->min, &operand) || !is_like(&bounds->max, &operand))
        return KX_TYPE_MISMATCH;
    enum kx_status status =
        hold(KX_MIN, &bounds->max, scratch, &operand, fault);
    if (status == KX_OK)
        status = hold(KX_MAX, &bounds->min, scratch, &operand, fault);
    if (status != KX_OK || bounds->min.data.size == 0)
        return status;
    struct kx_value least = bounds->min;
    status = hold(KX_MIN, &bounds->max, scratch, &least, fault);
    if (status == KX_OK && !kx_equal(least.data, bounds->min.data))
        return kx_fail(fault, KX_OUT_OF_BOUNDS, "min is greater than max");
    return status;
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
