/* Arithmetic with numbers written by JavaScript. A number is combined with a
 * number, each in JSON or V8. A bigint is combined with a bigint or, if it is
 * from 0 to 2^64 - 1, with a stored KvU64. */
#include "entry/value_number.h"

#include <endian.h>
#include <math.h>

#include "v8/v8_bigint.h"
#include "v8/v8_reader.h"
#include "v8/v8_writer.h"

enum number_kind { NUMBER_NONE, NUMBER_DOUBLE, NUMBER_BIGINT, NUMBER_U64 };

struct value_number {
    enum number_kind kind;
    double number;
    struct v8_bigint bigint; /* points into the value */
    uint64_t u64;
};

/* ---- Reading ------------------------------------------------------------ */

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

/* ---- Limits and results ------------------------------------------------- */

const char value_not_number[] =
    "Some of the parameters are not valid V8 values";

/* The state of one sum, min or max. */
struct number_combination {
    const struct kx_mutation *mutation;
    const struct kx_value *stored;
    struct value_number left; /* the stored value */
    struct value_number right;
    struct kx_buffer *out;
    struct kx_value *result;
    struct kx_fault *fault;
};

static enum kx_status give(struct number_combination *combination,
                           enum kx_encoding encoding, size_t start)
{
    if (combination->out->failed)
        return KX_NO_MEMORY;
    *combination->result =
        (struct kx_value){.encoding = encoding,
                          .data = kx_slice(combination->out->data + start,
                                           combination->out->size - start)};
    return KX_OK;
}

/* Gives a number in the encoding of the operand. */
static enum kx_status give_double(struct number_combination *combination,
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

static enum kx_status give_bigint(struct number_combination *combination,
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
static const struct kx_bounds *bounds_of(const struct kx_mutation *mutation)
{
    return mutation->bounds != NULL && mutation->bounds->of_deno
               ? mutation->bounds
               : NULL;
}

/* Reads a limit of a sum; without bytes there is no limit. */
static enum kx_status read_limit(struct number_combination *combination,
                                 const struct kx_value *value,
                                 struct value_number *limit_out)
{
    *limit_out = (struct value_number){.kind = NUMBER_NONE};
    if (value->data.size == 0)
        return KX_OK;
    *limit_out = read_number(value, combination->out->owner);
    if (limit_out->kind == NUMBER_NONE)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH, "%s",
                       value_not_number);
    if (limit_out->kind != combination->right.kind)
        return kx_fail(combination->fault, KX_TYPE_MISMATCH,
                       "Min/max parameters have different types than the "
                       "operand");
    return KX_OK;
}

/* Replaces a sum beyond a limit by the limit, or refuses it. */
static enum kx_status limit_sum(struct number_combination *combination,
                                struct value_number *sum)
{
    const struct kx_bounds *bounds = bounds_of(combination->mutation);
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

/* ---- Combining ---------------------------------------------------------- */

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

const char *value_verb(enum kx_mutation_type type)
{
    return type == KX_SUM ? "sum" : type == KX_MIN ? "min" : "max";
}

static enum kx_status mismatch(struct number_combination *combination)
{
    return kx_fail(combination->fault, KX_TYPE_MISMATCH, "Cannot %s %s with %s",
                   value_verb(combination->mutation->type),
                   kind_text(combination->left.kind),
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

/* Combines a stored KvU64. Its sum wraps, so limits are refused. */
static enum kx_status combine_u64(struct number_combination *combination)
{
    const struct kx_mutation *mutation = combination->mutation;
    size_t start = combination->out->size;
    uint64_t a = combination->left.u64;
    uint64_t b;
    if (combination->right.kind != NUMBER_BIGINT ||
        bounds_of(mutation) != NULL || !as_u64(combination->right.bigint, &b))
        return mismatch(combination);
    if (mutation->type == KX_SUM)
        a += b;
    else if (mutation->type == KX_MIN)
        a = b < a ? b : a;
    else
        a = b > a ? b : a;
    a = htole64(a);
    kx_add(combination->out, &a, sizeof a);
    return give(combination, KX_LE64, start);
}

static enum kx_status sum(struct number_combination *combination)
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

static enum kx_status combine(struct number_combination *combination)
{
    enum kx_mutation_type type = combination->mutation->type;
    if (combination->left.kind == NUMBER_U64)
        return combine_u64(combination);
    if (combination->left.kind != combination->right.kind)
        return mismatch(combination);
    if (type == KX_SUM)
        return sum(combination);
    int order = compare(&combination->right, &combination->left);
    bool new = type == KX_MIN ? order < 0 : order > 0;
    *combination->result =
        new ? combination->mutation->value : *combination->stored;
    return KX_OK;
}

enum kx_status value_combine_v8(const struct kx_mutation *mutation,
                                const struct kx_value *stored,
                                struct kx_buffer *out,
                                struct kx_value *result_out,
                                struct kx_fault *fault)
{
    const void *memory = out->owner;
    struct number_combination combination = {
        .mutation = mutation,
        .stored = stored,
        .left = read_number(stored, memory),
        .right = read_number(&mutation->value, memory),
        .out = out,
        .result = result_out,
        .fault = fault};
    if (combination.left.kind == NUMBER_NONE ||
        combination.right.kind == NUMBER_NONE)
        return kx_fail(fault, KX_TYPE_MISMATCH, "%s", value_not_number);
    return combine(&combination);
}
