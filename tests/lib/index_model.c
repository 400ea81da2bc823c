#include "index_model.h"

/* ---- Values ------------------------------------------------------------- */

#define SAME(part)                                                             \
    {                                                                          \
        part, part, part                                                       \
    }
const struct sample_value sample_values[] = {
    {"\"a\"", SAME("[\"a\"]"), 's', NO_NUMBER},
    {"\"A\"", {"[\"A\"]", "[\"a\"]", "[\"a\"]"}, 's', NO_NUMBER},
    {"\"\\u00c9\"", {"[\"É\"]", "[\"é\"]", "[\"é\"]"}, 's', NO_NUMBER},
    {"\"é\"", SAME("[\"é\"]"), 's', NO_NUMBER},
    {"\"ß\"", {"[\"ß\"]", "[\"ß\"]", "[\"ss\"]"}, 's', NO_NUMBER},
    {"\"SS\"", {"[\"SS\"]", "[\"ss\"]", "[\"ss\"]"}, 's', NO_NUMBER},
    {"\"\"", SAME("[\"\"]"), 's', NO_NUMBER},
    {"\"x\\u0000\"", SAME("[\"x\\u0000\"]"), 's', NO_NUMBER},
    {"1", SAME("[1]"), 'n', 10},
    {"1.0", SAME("[1]"), 'n', 10},
    {"-2.5e0", SAME("[-2.5]"), 'n', -25},
    {"1e2", SAME("[100]"), 'n', 1000},
    {"0", SAME("[0]"), 'n', 0},
    {"-0.0", SAME("[0]"), 'n', 0},
    {"{\"type\":\"Date\",\"value\":\"1970-01-01T00:00:00.100Z\"}",
     SAME("[100]"), 'n', NO_NUMBER},
    {"{\"type\":\"number\",\"value\":\"-0\"}", SAME("[0]"), 'n', NO_NUMBER},
    {"{\"type\":\"bigint\",\"value\":\"7\"}",
     SAME("[{\"type\":\"bigint\",\"value\":\"7\"}]"), 'i', 70},
    {"{\"type\":\"bigint\",\"value\":\"-7\"}",
     SAME("[{\"type\":\"bigint\",\"value\":\"-7\"}]"), 'i', -70},
    {"true", SAME("[true]"), 'b', NO_NUMBER},
    {"false", SAME("[false]"), 'b', NO_NUMBER},
    {"null", SAME(NULL), '0', NO_NUMBER},
    {"{}", SAME(NULL), 'o', NO_NUMBER},
    {"[1]", SAME(NULL), 'o', NO_NUMBER},
    {"{\"type\":\"bigint\",\"value\":\"?\"}", SAME(NULL), 'o', NO_NUMBER},
    {"{\"type\":\"Date\",\"value\":\"1970-01-01T00:00:00.100Z\",\"n\":1}",
     SAME(NULL), 'o', NO_NUMBER},
};
#undef SAME

enum {
    VALUES = sizeof sample_values / sizeof sample_values[0],
    PARTS = 20 /* so many of them, from the first, can be indexed */
};

static const struct sample_value *random_value(uint64_t *seed)
{
    bool part = random_below(seed, 6) > 0;
    return &sample_values[random_below(seed, part ? PARTS : VALUES)];
}

static const struct sample_value *perhaps(uint64_t *seed)
{
    return random_below(seed, 8) > 0 ? random_value(seed) : NULL;
}

struct written random_document(uint64_t *seed)
{
    struct written document = {.json = random_below(seed, 16) > 0};
    document.a = perhaps(seed);
    document.b = perhaps(seed);
    document.n = random_below(seed, 6) > 0;
    document.x = document.n ? perhaps(seed) : NULL;
    document.t_count = (int)random_below(seed, ELEMENTS + 2) - 1;
    for (int i = 0; i < document.t_count; i++)
        document.t[i] = random_value(seed);
    if (document.t_count < 0 && random_below(seed, 2) > 0)
        document.t_other = &sample_values[random_below(seed, PLAIN)];
    return document;
}

static char *add_member(char *out, const char *name,
                        const struct sample_value *value)
{
    if (value == NULL)
        return out;
    const char *comma = out[strlen(out) - 1] == '{' ? "" : ",";
    return talloc_asprintf_append(out, "%s\"%s\":%s", comma, name, value->json);
}

static char *array_text(void *mem, const struct written *document)
{
    char *out = talloc_strdup(mem, "[");
    for (int i = 0; i < document->t_count; i++)
        out = talloc_asprintf_append(out, "%s%s", i > 0 ? "," : "",
                                     document->t[i]->json);
    return talloc_strdup_append(out, "]");
}

char *document_json(void *mem, const struct written *document)
{
    char *out = add_member(talloc_strdup(mem, "{"), "a", document->a);
    struct sample_value array = {.json = array_text(mem, document)};
    struct sample_value n = {.json = "{}"};
    if (document->x != NULL)
        n.json = talloc_asprintf(mem, "{\"x\":%s}", document->x->json);
    out = add_member(out, "t",
                     document->t_count >= 0 ? &array : document->t_other);
    out = add_member(out, "n", document->n ? &n : NULL);
    return talloc_strdup_append(add_member(out, "b", document->b), "}");
}

/* ---- Declarations ------------------------------------------------------- */

static const char *const comparisons[] = {"eq", "ne", "in", "exists",
                                          "gt", "ge", "lt", "le"};

struct index_shape random_shape(uint64_t *seed, size_t n)
{
    struct index_shape shape = {.field_count = 1 + random_below(seed, 3)};
    bool each = false;
    snprintf(shape.name, sizeof shape.name, "i%zu", n);
    for (size_t i = 0; i < shape.field_count; i++) {
        shape.fields[i] = random_below(seed, each ? FROM_T : FROM_T + 1);
        shape.folds[i] = (int)random_below(seed, 3);
        shape.descending[i] = random_below(seed, 3) == 0;
        each |= shape.fields[i] == FROM_T;
    }
    shape.unique = random_below(seed, 3) == 0;
    if (!shape.unique && shape.field_count < 3 && random_below(seed, 3) == 0)
        shape.fields[shape.field_count++] = FROM_STAMP;
    shape.store = (int)random_below(seed, 3);
    shape.store_x = random_below(seed, 2) > 0;
    shape.error = random_below(seed, 8) == 0;
    shape.null = !shape.error && random_below(seed, 3) == 0;
    shape.deep = random_below(seed, 4) == 0;
    shape.where = (int)random_below(seed, 16);
    shape.where = shape.where < 8 ? shape.where : -1;
    shape.where_field = random_below(seed, 2) > 0 ? FROM_B : FROM_X;
    shape.operand = &sample_values[random_below(seed, PARTS)];
    shape.must_exist = random_below(seed, 2) > 0;
    return shape;
}

/* An aggregate index has no descending fields. */
static bool descends(const struct index_shape *shape, size_t i)
{
    return shape->descending[i] && !shape->aggregate;
}

static char *field_json(void *mem, const struct index_shape *shape, size_t i)
{
    static const char *const sources[] = {
        "\"path\":\"/a\"", "\"path\":\"/b\"", "\"path\":\"/n/x\"",
        "\"key\":1",       "\"key\":2",       "\"path\":\"/t\",\"each\":true"};
    static const char *const folds[] = {"none", "lower", "casefold"};
    if (shape->fields[i] == FROM_STAMP)
        return talloc_asprintf(mem, "%s{\"versionstamp\":true}",
                               i > 0 ? "," : "");
    const char *order = descends(shape, i) ? "desc" : "asc";
    return talloc_asprintf(mem, "%s{%s,\"fold\":\"%s\",\"order\":\"%s\"}",
                           i > 0 ? "," : "", sources[shape->fields[i]],
                           folds[shape->folds[i]], order);
}

char *condition_json(void *mem, const struct index_shape *shape)
{
    const char *operand = shape->operand->json;
    const char *name = comparisons[shape->where];
    if (strcmp(name, "in") == 0)
        operand = talloc_asprintf(mem, "[%s,\"a\"]", operand);
    if (strcmp(name, "exists") == 0)
        operand = shape->must_exist ? "true" : "false";
    return talloc_asprintf(mem, "{\"path\":\"%s\",\"%s\":%s}",
                           shape->where_field == FROM_B ? "/b" : "/n/x", name,
                           operand);
}

static char *where_json(void *mem, const struct index_shape *shape)
{
    return shape->where < 0 ? talloc_strdup(mem, "")
                            : talloc_asprintf(mem, ",\"where\":%s",
                                              condition_json(mem, shape));
}

char *shape_json(void *mem, const struct index_shape *shape)
{
    static const char *const stores[] = {
        "\"pointer\"",
        "\"value\"",
        "{\"fields\":[\"/t\",\"/n/x\"]}",
        "{\"fields\":[\"/t\"]}",
        "{\"aggregate\":{\"count\":true}}",
        "{\"aggregate\":{\"sum\":[{\"path\":\"/n/x\",\"scale\":1}]}}"};
    int store = shape->store;
    char *fields = talloc_strdup(mem, "");
    for (size_t i = 0; i < shape->field_count; i++)
        fields = talloc_strdup_append(fields, field_json(mem, shape, i));
    if (store == 2 && !shape->store_x)
        store = 3;
    if (shape->aggregate)
        store = shape->sum ? 5 : 4;
    return talloc_asprintf(
        mem,
        "{\"name\":\"%s\",\"prefix\":[\"p\"],%s\"fields\":[%s],\"unique\":%s,"
        "\"store\":%s,\"missing\":\"%s\"%s}",
        shape->name, shape->deep ? "\"depth\":2," : "", fields,
        shape->unique ? "true" : "false", stores[store],
        shape->error  ? "error"
        : shape->null ? "null"
                      : "skip",
        where_json(mem, shape));
}

/* ---- What an index has of one entry ------------------------------------- */

static const char *const suffix_text[SUFFIXES] = {"", ",\"A\"", ",\"a\"",
                                                  ",\"é\""};
static const char *const suffix_part[SUFFIXES][3] = {
    {NULL, NULL, NULL},
    {"[\"A\"]", "[\"a\"]", "[\"a\"]"},
    {"[\"a\"]", "[\"a\"]", "[\"a\"]"},
    {"[\"é\"]", "[\"é\"]", "[\"é\"]"}};

struct kx_slice slot_key(void *mem, size_t slot)
{
    return test_key(mem, talloc_asprintf(mem, "[\"p\",%zu%s]", slot / SUFFIXES,
                                         suffix_text[slot % SUFFIXES]));
}

static const struct sample_value *member_of(const struct written *document,
                                            enum field_source source)
{
    if (!document->json)
        return NULL;
    return source == FROM_A   ? document->a
           : source == FROM_B ? document->b
                              : document->x;
}

static int order_of(void *mem, const struct sample_value *a,
                    const struct sample_value *b)
{
    return kx_compare(test_key(mem, a->parts[0]), test_key(mem, b->parts[0]));
}

static bool equals(void *mem, const struct sample_value *value,
                   const struct sample_value *operand)
{
    return value != NULL && value->parts[0] != NULL &&
           order_of(mem, value, operand) == 0;
}

bool meets_condition(void *mem, const struct index_shape *shape,
                     const struct written *document)
{
    const struct sample_value *value = member_of(document, shape->where_field);
    const struct sample_value *operand = shape->operand;
    bool same = equals(mem, value, operand);
    if (shape->where == 0)
        return same;
    if (shape->where == 1)
        return !same;
    if (shape->where == 2)
        return same || equals(mem, value, &sample_values[0]);
    if (shape->where == 3)
        return (value != NULL) == shape->must_exist;
    if (value == NULL || value->type != operand->type)
        return false;
    int order = order_of(mem, value, operand);
    bool either = shape->where % 2 == 1 && order == 0;
    return either || (shape->where < 6 ? order > 0 : order < 0);
}

/* What an index has in place of nothing and of null. */
static const char *part_of(const struct sample_value *value, int fold,
                           const char *null)
{
    return value == NULL || value->type == '0' ? null : value->parts[fold];
}

/* The parts of one field: how many, and their JSON. `bad` is set when the
 * entry, or an element, cannot be indexed. */
static size_t field_parts(const struct index_shape *shape, size_t i,
                          const struct written *document, size_t slot,
                          enum model_flaw flaw, const char *parts[ELEMENTS],
                          bool *bad)
{
    static char number[NUMBERS][24];
    static char stamp[KX_STAMP_DIGITS + 5];
    int fold = flaw == FLAW_FOLD ? 0 : shape->folds[i];
    const char *null = shape->null && flaw != FLAW_NULL
                           ? "[{\"type\":\"Uint8Array\",\"value\":\"\"}]"
                           : NULL;
    size_t count = 0;
    if (shape->fields[i] == FROM_KEY_1) {
        snprintf(number[slot / SUFFIXES], 24, "[%zu]", slot / SUFFIXES);
        parts[count++] = number[slot / SUFFIXES];
    } else if (shape->fields[i] == FROM_KEY_2) {
        parts[count] = suffix_part[slot % SUFFIXES][fold];
        if (parts[count] == NULL)
            parts[count] = null;
        count++;
    } else if (shape->fields[i] == FROM_STAMP) {
        char digits[KX_STAMP_DIGITS];
        kx_stamp_text(document->stamp - (flaw == FLAW_STAMP), digits);
        snprintf(stamp, sizeof stamp, "[\"%.*s\"]", KX_STAMP_DIGITS, digits);
        parts[count++] = stamp;
    } else if (shape->fields[i] != FROM_T) {
        const struct sample_value *value =
            member_of(document, shape->fields[i]);
        parts[count++] = part_of(value, fold, null);
    } else if (document->json && document->t_count >= 0) {
        for (int n = 0; n < document->t_count; n++)
            parts[count++] = part_of(document->t[n], fold, null);
        count = flaw == FLAW_EACH && count > 1 ? 1 : count;
    } else {
        bool other = document->json && document->t_other != NULL;
        parts[count++] = other ? NULL : null;
    }
    size_t kept = 0;
    for (size_t n = 0; n < count; n++) {
        *bad |= parts[n] == NULL;
        if (parts[n] != NULL)
            parts[kept++] = parts[n];
    }
    return kept;
}

/* A byte string that sorts the other way: the encoded part and a zero, with all
 * bits inverted. */
static struct kx_slice opposite(void *mem, struct kx_slice part)
{
    struct kx_buffer out;
    uint8_t *bytes = talloc_array(mem, uint8_t, part.size + 1);
    for (size_t i = 0; i < part.size; i++)
        bytes[i] = part.data[i] ^ 0xff;
    bytes[part.size] = 0xff;
    kx_buffer_init(&out, mem);
    assert_int_equal(kx_key_add_bytes(&out, kx_slice(bytes, part.size + 1)),
                     KX_OK);
    return kx_buffer_slice(&out);
}

/* Each value becomes one for each of the parts (only one field has several). */
static void extend(void *mem, struct values *values, const char *const *parts,
                   size_t count, bool descending)
{
    struct values made = {.count = 0};
    for (size_t n = 0; n < values->count; n++) {
        for (size_t i = 0; i < count; i++) {
            struct kx_buffer *value = &made.list[made.count++];
            kx_buffer_init(value, mem);
            kx_add_slice(value, kx_buffer_slice(&values->list[n]));
            struct kx_slice part = test_key(mem, parts[i]);
            kx_add_slice(value, descending ? opposite(mem, part) : part);
        }
    }
    *values = made;
}

static void drop_repeated(struct values *values)
{
    size_t kept = 0;
    for (size_t n = 0; n < values->count; n++) {
        bool seen = false;
        for (size_t m = 0; m < kept; m++)
            seen |= kx_equal(kx_buffer_slice(&values->list[m]),
                             kx_buffer_slice(&values->list[n]));
        if (!seen)
            values->list[kept++] = values->list[n];
    }
    values->count = kept;
}

int summed_tenths(const struct written *document)
{
    const struct sample_value *value = member_of(document, FROM_X);
    return value == NULL ? NO_NUMBER : value->tenths;
}

struct values index_values(void *mem, const struct index_shape *shape,
                           const struct written *document, size_t slot,
                           enum model_flaw flaw, bool *bad)
{
    struct values values = {.count = 0};
    *bad = false;
    if ((shape->deep && slot % SUFFIXES == 0) ||
        (flaw != FLAW_WHERE && shape->where >= 0 &&
         !meets_condition(mem, shape, document)))
        return values;
    values.count = 1;
    kx_buffer_init(&values.list[0], mem);
    for (size_t i = 0; i < shape->field_count; i++) {
        const char *parts[ELEMENTS];
        size_t count = field_parts(shape, i, document, slot, flaw, parts, bad);
        extend(mem, &values, parts, count,
               descends(shape, i) && flaw != FLAW_ORDER);
    }
    drop_repeated(&values);
    if (shape->sum && summed_tenths(document) == NO_NUMBER) {
        *bad = true;
        values.count = 0;
    }
    return values;
}

char *stored_json(void *mem, const struct index_shape *shape,
                  const struct written *document, enum model_flaw flaw)
{
    struct sample_value array = {.json = array_text(mem, document)};
    struct sample_value n = {.json = "{}"};
    char *out = talloc_strdup(mem, "{");
    if (document->x != NULL)
        n.json = talloc_asprintf(mem, "{\"x\":%s}", document->x->json);
    if (document->json)
        out = add_member(out, "t",
                         document->t_count >= 0 ? &array : document->t_other);
    if (document->json && shape->store_x && flaw != FLAW_STORED)
        out = add_member(out, "n", document->n ? &n : NULL);
    return talloc_strdup_append(out, "}");
}
