/* A JSON Patch: target and operations, one on each line. The patched text is
 * what the operations make of Jansson's trees, one member or element after the
 * other, or both refuse the same operation.
 *
 * A tree has doubles where a text has decimal numbers, so inputs with many
 * digits are passed over, and nothing is compared from a sum with a large
 * result on. The model has no limits of depth and work: what exceeds those of
 * the patch is not compared either. */
#include "fuzz.h"

#include <math.h>

#include "json/json_patch.h"
#include "json_second.h"

enum {
    TOKENS_MAX = 64,
    DIGITS = 7, /* before a point, and after it */
    EXPONENT_DIGITS = 2,
    WORK_MAX = 1 << 20 /* units, for all operations */
};
#define EXACT_MAX 9007199254740991.0

/* A tree that is patched. */
struct model {
    json_t *root;
    bool vague; /* it can no longer say what must be */
};

/* The path of an operation. */
struct place {
    char tokens[TOKENS_MAX][KX_POINTER_MAX + 1];
    size_t count;
};

/* ---- Paths -------------------------------------------------------------- */

/* False: the text is not a JSON Pointer. */
static bool read_place(const json_t *text, struct place *place)
{
    const char *at = json_string_value(text);
    size_t size = 0;
    place->count = 0;
    if (at == NULL || strlen(at) > KX_POINTER_MAX || (*at != '/' && *at != 0))
        return false;
    for (; *at != 0; at++) {
        if (*at == '/') {
            place->tokens[place->count++][0] = 0;
            size = 0;
            continue;
        }
        char letter = *at;
        if (letter == '~') {
            at++;
            if (*at != '0' && *at != '1')
                return false;
            letter = *at == '0' ? '~' : '/';
        }
        place->tokens[place->count - 1][size++] = letter;
        place->tokens[place->count - 1][size] = 0;
    }
    return true;
}

/* The number of an element by RFC 6901: digits without leading zeros. SIZE_MAX:
 * the token is not a number. */
static size_t element_of(const char *token)
{
    size_t number = 0;
    if (*token == 0 || (token[0] == '0' && token[1] != 0) || strlen(token) > 9)
        return SIZE_MAX;
    for (; *token != 0; token++) {
        if (*token < '0' || *token > '9')
            return SIZE_MAX;
        number = number * 10 + (size_t)(*token - '0');
    }
    return number;
}

static json_t *child_of(const json_t *parent, const char *token)
{
    if (json_is_object(parent))
        return json_object_get(parent, token);
    return json_is_array(parent) ? json_array_get(parent, element_of(token))
                                 : NULL;
}

/* What the first `count` tokens lead to; NULL: nothing. */
static json_t *at_place(const struct model *model, const struct place *place,
                        size_t count)
{
    json_t *value = model->root;
    for (size_t i = 0; value != NULL && i < count; i++)
        value = child_of(value, place->tokens[i]);
    return value;
}

static json_t *find_all(const struct model *model, const struct place *place)
{
    return at_place(model, place, place->count);
}

/* ---- Changes ------------------------------------------------------------ */

/* All of them take over the value; false: there is no such place. */
static bool replace_root(struct model *model, json_t *value)
{
    json_decref(model->root);
    model->root = value;
    return true;
}

static bool drop(json_t *value)
{
    json_decref(value);
    return false;
}

/* Adds the value to the parent that the first `count` - 1 tokens lead to. */
static bool add_at(struct model *model, const struct place *place, size_t count,
                   json_t *value)
{
    if (count == 0)
        return replace_root(model, value);
    json_t *parent = at_place(model, place, count - 1);
    const char *token = place->tokens[count - 1];
    if (json_is_object(parent))
        return json_object_set_new(parent, token, value) == 0;
    if (!json_is_array(parent))
        return drop(value);
    size_t size = json_array_size(parent);
    size_t at = strcmp(token, "-") == 0 ? size : element_of(token);
    return at <= size ? json_array_insert_new(parent, at, value) == 0
                      : drop(value);
}

static bool replace_at(struct model *model, const struct place *place,
                       json_t *value)
{
    if (find_all(model, place) == NULL)
        return drop(value);
    if (place->count == 0)
        return replace_root(model, value);
    json_t *parent = at_place(model, place, place->count - 1);
    const char *token = place->tokens[place->count - 1];
    return json_is_object(parent)
               ? json_object_set_new(parent, token, value) == 0
               : json_array_set_new(parent, element_of(token), value) == 0;
}

static bool remove_at(struct model *model, const struct place *place)
{
    if (place->count == 0 || find_all(model, place) == NULL)
        return false;
    json_t *parent = at_place(model, place, place->count - 1);
    const char *token = place->tokens[place->count - 1];
    return json_is_object(parent)
               ? json_object_del(parent, token) == 0
               : json_array_remove(parent, element_of(token)) == 0;
}

/* Replaces, or adds with a new object for each parent that is missing. */
static bool set_at(struct model *model, const struct place *place,
                   json_t *value)
{
    size_t there = place->count;
    if (find_all(model, place) != NULL)
        return replace_at(model, place, value);
    while (at_place(model, place, there) == NULL)
        there--;
    for (size_t i = place->count; i > there + 1; i--) {
        json_t *outer = json_object();
        json_object_set_new(outer, place->tokens[i - 1], value);
        value = outer;
    }
    return add_at(model, place, there + 1, value);
}

/* ---- Operations --------------------------------------------------------- */

/* An operation as it was read. */
struct call {
    struct place path;
    struct place from;
    json_t *item;
    json_t *value; /* NULL: it has none */
};

typedef bool operation_model(struct model *model, const struct call *call);

static bool add(struct model *model, const struct call *call)
{
    return add_at(model, &call->path, call->path.count,
                  json_deep_copy(call->value));
}

static bool remove_value(struct model *model, const struct call *call)
{
    return remove_at(model, &call->path);
}

static bool replace(struct model *model, const struct call *call)
{
    return replace_at(model, &call->path, json_deep_copy(call->value));
}

static bool copy(struct model *model, const struct call *call)
{
    json_t *value = find_all(model, &call->from);
    return value != NULL &&
           add_at(model, &call->path, call->path.count, json_deep_copy(value));
}

/* Does the path lead to `from`, or into it? */
static bool leads_into(const struct call *call)
{
    size_t i = 0;
    while (i < call->from.count && i < call->path.count &&
           strcmp(call->from.tokens[i], call->path.tokens[i]) == 0)
        i++;
    return i == call->from.count;
}

static bool move(struct model *model, const struct call *call)
{
    json_t *value = find_all(model, &call->from);
    if (value == NULL || leads_into(call))
        return value != NULL && call->from.count == call->path.count;
    value = json_deep_copy(value);
    return remove_at(model, &call->from)
               ? add_at(model, &call->path, call->path.count, value)
               : drop(value);
}

static bool test(struct model *model, const struct call *call)
{
    json_t *value = find_all(model, &call->path);
    return value != NULL && json_equal(value, call->value);
}

static bool set(struct model *model, const struct call *call)
{
    return set_at(model, &call->path, json_deep_copy(call->value));
}

static bool append(struct model *model, const struct call *call)
{
    json_t *array = find_all(model, &call->path);
    if (array != NULL)
        return json_is_array(array) &&
               json_array_append_new(array, json_deep_copy(call->value)) == 0;
    array = json_array();
    json_array_append_new(array, json_deep_copy(call->value));
    return set_at(model, &call->path, array);
}

/* The number of the first element from `first` on that is equal. */
static size_t find_equal(const json_t *array, size_t first, const json_t *value)
{
    while (first < json_array_size(array) &&
           !json_equal(json_array_get(array, first), value))
        first++;
    return first;
}

static bool include(struct model *model, const struct call *call)
{
    json_t *array = find_all(model, &call->path);
    return (json_is_array(array) &&
            find_equal(array, 0, call->value) < json_array_size(array)) ||
           append(model, call);
}

static bool exclude(struct model *model, const struct call *call)
{
    json_t *array = find_all(model, &call->path);
    size_t at = 0;
    if (array != NULL && !json_is_array(array))
        return false;
    while ((at = find_equal(array, at, call->value)) < json_array_size(array))
        json_array_remove(array, at);
    return true;
}

/* A bound, or `absent`. Clears *fits if it is there and not a number. */
static double bound_of(const struct call *call, const char *name, double absent,
                       bool *fits)
{
    json_t *bound = json_object_get(call->item, name);
    *fits &= bound == NULL || json_is_number(bound);
    return json_is_number(bound) ? json_number_value(bound) : absent;
}

/* 'r', 'c' or 's' for what happens beyond a bound; 0: `out` is wrong. */
static char out_of(const struct call *call)
{
    json_t *out = json_object_get(call->item, "out");
    const char *word = json_string_value(out);
    if (out == NULL)
        return 'r';
    if (word == NULL || (json_object_get(call->item, "min") == NULL &&
                         json_object_get(call->item, "max") == NULL))
        return 0;
    return strcmp(word, "refuse") == 0  ? 'r'
           : strcmp(word, "clamp") == 0 ? 'c'
           : strcmp(word, "skip") == 0  ? 's'
                                        : 0;
}

static bool sum(struct model *model, const struct call *call)
{
    bool fits = json_is_number(call->value);
    double min = bound_of(call, "min", -INFINITY, &fits);
    double max = bound_of(call, "max", INFINITY, &fits);
    char out = out_of(call);
    json_t *present = find_all(model, &call->path);
    if (!fits || out == 0 || min > max ||
        (present != NULL && !json_is_number(present)))
        return false;
    double result = json_number_value(call->value) + json_number_value(present);
    if (!isfinite(result))
        return false;
    model->vague |= fabs(result) > EXACT_MAX;
    bool beyond = result < min || result > max;
    if (beyond && out != 'c')
        return out == 's';
    result = result > max ? max : result < min ? min : result;
    return set_at(model, &call->path, json_real(result));
}

static const struct {
    const char *name;
    operation_model *operate;
    bool has_value;
    bool has_from;
} OPERATIONS[] = {
    {"add", add, true, false},         {"remove", remove_value, false, false},
    {"replace", replace, true, false}, {"move", move, false, true},
    {"copy", copy, false, true},       {"test", test, true, false},
    {"set", set, true, false},         {"append", append, true, false},
    {"include", include, true, false}, {"exclude", exclude, true, false},
    {"sum", sum, true, false},
};

static bool operate(struct model *model, json_t *item)
{
    static struct call call;
    const char *name = json_string_value(json_object_get(item, "op"));
    call.item = item;
    call.value = json_object_get(item, "value");
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
        if (name != NULL && strcmp(name, OPERATIONS[i].name) == 0)
            return read_place(json_object_get(item, "path"), &call.path) &&
                   (!OPERATIONS[i].has_from ||
                    read_place(json_object_get(item, "from"), &call.from)) &&
                   (!OPERATIONS[i].has_value || call.value != NULL) &&
                   OPERATIONS[i].operate(model, &call);
    return false;
}

/* ---- The comparison ----------------------------------------------------- */

/* Does every number of the text have its decimal value as a double? */
static bool has_plain_numbers(struct kx_slice text)
{
    uint8_t before = 0; /* the letter before the digits and their sign */
    for (size_t i = 0; i < text.size; i++) {
        size_t digits = 0;
        while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9')
            digits++, i++;
        if (digits > ((before | 0x20) == 'e' ? EXPONENT_DIGITS : DIGITS))
            return false;
        if (i < text.size && text.data[i] != '+' && text.data[i] != '-')
            before = text.data[i];
    }
    return true;
}

/* Paths fit into a place, and have no NUL, which is in no name of Jansson's. */
static bool has_plain_paths(struct kx_slice text)
{
    size_t marks = 0;
    for (size_t i = 0; i < text.size; i++)
        marks += text.data[i] == '/' || text.data[i] == '\\';
    return marks < TOKENS_MAX &&
           memmem(text.data, text.size, "\\u0000", 6) == NULL;
}

static void compare(struct kx_slice target, struct kx_slice operations,
                    json_t *tree, json_t *list, void *memory)
{
    struct charge charge = {.most = WORK_MAX};
    struct json_patch patch = {
        .target = target, .operations = operations, .charge = &charge};
    struct model model = {.root = tree};
    struct kx_buffer out;
    size_t done = 0;
    kx_buffer_init(&out, memory);
    enum json_patch_result result = json_patch(&patch, &out);
    model.vague =
        result == JSON_PATCH_TOO_LARGE || result == JSON_PATCH_TOO_DEEP;
    while (done < json_array_size(list) && !model.vague &&
           operate(&model, json_array_get(list, done)))
        done++;
    bool all = json_is_array(list) && done == json_array_size(list);
    if (result == JSON_PATCH_DONE)
        assert_int_equal(kx_json_check(kx_buffer_slice(&out), NULL), KX_OK);
    if (!model.vague) {
        assert_int_equal(result == JSON_PATCH_DONE, all);
        if (all)
            second_same(kx_buffer_slice(&out), model.root);
        else
            assert_int_equal(patch.operation, done);
    }
    json_decref(model.root);
}

void fuzz(struct kx_slice input, void *memory)
{
    struct kx_slice target = fuzz_alone(fuzz_until(&input, '\n'), memory);
    struct kx_slice operations = fuzz_alone(input, memory);
    json_error_t error;
    if (kx_json_check(target, NULL) != KX_OK ||
        kx_json_check(operations, NULL) != KX_OK ||
        !has_plain_numbers(target) || !has_plain_numbers(operations) ||
        !has_plain_paths(operations))
        return;
    json_t *tree = second_read(target, &error);
    json_t *list = second_read(operations, &error);
    if (tree != NULL && list != NULL)
        compare(target, operations, tree, list, memory);
    else
        json_decref(tree);
    json_decref(list);
}
