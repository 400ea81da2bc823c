/* Reads the operations of a JSON Patch, and carries them out in order. Each is
 * one replacement of bytes in the text that the operations before it have
 * left. */
#include "json/json_patch.h"

#include <stdio.h>

#include "json/json_equal.h"
#include "json/json_find.h"
#include "json/json_number.h"
#include "json/json_scan.h"
#include "json/json_string.h"

/* A patch under way. The buffers have one owner. */
struct patching {
    struct json_patch *patch;
    struct kx_buffer text; /* the value so far */
    struct kx_buffer next;
    struct kx_buffer insertion; /* scratch of an edit */
    struct kx_buffer moved;     /* the operand of move and copy */
    struct kx_buffer path;      /* path of the present operation */
    struct kx_buffer from;
    struct kx_slice operand;
    struct kx_slice item;    /* the whole operation */
    struct kx_slice present; /* the number in the text that a sum adds to; empty
                              * if absent */
};

/* Carries out the present operation on the text. */
typedef enum json_patch_result operation_fn(struct patching *patching);

/* Copying bytes is this many times as fast as skipping JSON. */
enum { COPIED_PER_PASSED = 8 };

/* Pays for passing over the bytes once. */
static void pay(const struct patching *patching, size_t bytes)
{
    charge_add(patching->patch->charge, bytes, CHARGE_PASSED);
}

/* ---- Edits -------------------------------------------------------------- */

/* Replaces the bytes from `start` to `end`, which lie in the text. */
static enum json_patch_result edit(struct patching *patching,
                                   const uint8_t *start, const uint8_t *end,
                                   struct kx_slice insertion)
{
    struct kx_buffer *next = &patching->next;
    const uint8_t *first = patching->text.data;
    const uint8_t *last = first + patching->text.size;
    next->size = 0;
    pay(patching, patching->text.size / COPIED_PER_PASSED + insertion.size);
    kx_add(next, first, (size_t)(start - first));
    kx_add_slice(next, insertion);
    kx_add(next, end, (size_t)(last - end));
    struct kx_buffer text = patching->text;
    patching->text = *next;
    *next = text;
    return patching->text.failed ? JSON_PATCH_NO_MEMORY : JSON_PATCH_DONE;
}

static enum json_patch_result edit_value(struct patching *patching,
                                         struct kx_slice value,
                                         struct kx_slice insertion)
{
    return edit(patching, value.data, value.data + value.size, insertion);
}

/* Removes a member or an element with the comma and the white space before it;
 * from the first one, with the comma after it. */
static enum json_patch_result cut(struct patching *patching,
                                  struct kx_slice parent, struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice item;
    const uint8_t *text_end = parent.data + parent.size;
    pay(patching, (size_t)(value.data - parent.data));
    kx_json_iterate(parent, &iter);
    const uint8_t *first = iter.rest.data;
    const uint8_t *start = first;
    while (kx_json_next(&iter, &name, &item) && item.data != value.data)
        start = iter.rest.data;
    const uint8_t *end = value.data + value.size;
    const uint8_t *comma = json_skip_space(end, text_end);
    if (start == first && json_peek(comma, text_end) == ',')
        end = comma + 1;
    return edit(patching, start, end, kx_slice(NULL, 0));
}

/* Adds the insertion after the last member or element. */
static enum json_patch_result add_last(struct patching *patching,
                                       struct kx_slice parent)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice item;
    kx_json_iterate(parent, &iter);
    const uint8_t *first = iter.rest.data;
    while (kx_json_next(&iter, &name, &item))
        ;
    const uint8_t *at = iter.rest.data;
    pay(patching, (size_t)(at - first));
    struct kx_slice insertion = kx_buffer_slice(&patching->insertion);
    if (at == first) /* the comma that begins it */
        insertion = kx_slice(insertion.data + 1, insertion.size - 1);
    return patching->insertion.failed ? JSON_PATCH_NO_MEMORY
                                      : edit(patching, at, at, insertion);
}

/* ---- Places ------------------------------------------------------------- */

/* Finds the value in the text, and pays for the bytes up to its end. */
static bool find(const struct patching *patching, struct kx_slice pointer,
                 struct kx_slice *value_out)
{
    return json_pointer_find(kx_buffer_slice(&patching->text), pointer,
                             patching->patch->charge, value_out);
}

/* Splits the pointer before its last token. */
static struct kx_slice split(struct kx_slice pointer, struct kx_slice *last_out)
{
    size_t size = pointer.size;
    while (size > 0 && pointer.data[size - 1] != '/')
        size--;
    size -= size > 0;
    *last_out = kx_slice(pointer.data + size, pointer.size - size);
    return kx_slice(pointer.data, size);
}

static size_t token_count(struct kx_slice pointer)
{
    size_t count = 0;
    for (size_t i = 0; i < pointer.size; i++)
        count += pointer.data[i] == '/';
    return count;
}

static bool is_too_deep(const struct patching *patching, struct kx_slice path,
                        struct kx_slice value, size_t more)
{
    pay(patching, value.size);
    return token_count(path) + more + json_depth(value) > KX_JSON_DEPTH_MAX;
}

/* ---- add, remove, replace, move, copy, test ------------------------------ */

/* `item` begins the insertion: an element or a member after a comma. */
static void begin_insertion(struct patching *patching)
{
    patching->insertion.size = 0;
    kx_add_byte(&patching->insertion, ',');
}

/* token: "/-" or the index of an element before which the value is added. */
static enum json_patch_result add_element(struct patching *patching,
                                          struct kx_slice parent,
                                          struct kx_slice token,
                                          struct kx_slice value)
{
    struct kx_slice there;
    struct kx_slice before;
    size_t count = 0;
    struct kx_json_iter iter;
    struct kx_slice name;
    char end[24];
    kx_json_iterate(parent, &iter);
    while (kx_json_next(&iter, &name, &before))
        count++;
    pay(patching, 2 * parent.size);
    int size = snprintf(end, sizeof end, "/%zu", count);
    if (kx_json_find(parent, token, &there)) {
        patching->insertion.size = 0;
        kx_add_slice(&patching->insertion, value);
        kx_add_byte(&patching->insertion, ',');
        return patching->insertion.failed
                   ? JSON_PATCH_NO_MEMORY
                   : edit(patching, there.data, there.data,
                          kx_buffer_slice(&patching->insertion));
    }
    if (!kx_equal(token, kx_text("/-")) &&
        !kx_equal(token, kx_slice(end, (size_t)size)))
        return JSON_PATCH_NO_PLACE;
    begin_insertion(patching);
    kx_add_slice(&patching->insertion, value);
    return add_last(patching, parent);
}

static enum json_patch_result add_member(struct patching *patching,
                                         struct kx_slice parent,
                                         struct kx_slice token,
                                         struct kx_slice value)
{
    struct kx_slice there;
    if (json_pointer_find(parent, token, patching->patch->charge, &there))
        return edit_value(patching, there, value);
    begin_insertion(patching);
    json_pointer_add_name(json_pointer_take(&token), &patching->insertion);
    kx_add_slice(&patching->insertion, value);
    return add_last(patching, parent);
}

static enum json_patch_result add(struct patching *patching,
                                  struct kx_slice path, struct kx_slice value)
{
    struct kx_slice parent;
    struct kx_slice token;
    struct kx_slice before = split(path, &token);
    if (is_too_deep(patching, path, value, 0))
        return JSON_PATCH_TOO_DEEP;
    if (!find(patching, before, &parent))
        return JSON_PATCH_NO_PLACE;
    if (path.size == 0)
        return edit_value(patching, parent, value);
    switch ((int)kx_json_type(parent)) {
    case KX_JSON_OBJECT:
        return add_member(patching, parent, token, value);
    case KX_JSON_ARRAY:
        return add_element(patching, parent, token, value);
    default:
        return JSON_PATCH_NO_PLACE;
    }
}

static enum json_patch_result apply_add(struct patching *patching)
{
    return add(patching, kx_buffer_slice(&patching->path), patching->operand);
}

static enum json_patch_result remove_at(struct patching *patching,
                                        struct kx_slice path)
{
    struct kx_slice parent;
    struct kx_slice value;
    struct kx_slice token;
    struct kx_slice before = split(path, &token);
    if (path.size == 0 || !find(patching, before, &parent))
        return JSON_PATCH_NO_PLACE;
    if (!json_pointer_find(parent, token, patching->patch->charge, &value))
        return JSON_PATCH_NO_PLACE;
    return cut(patching, parent, value);
}

static enum json_patch_result apply_remove(struct patching *patching)
{
    return remove_at(patching, kx_buffer_slice(&patching->path));
}

static enum json_patch_result apply_replace(struct patching *patching)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice value;
    if (is_too_deep(patching, path, patching->operand, 0))
        return JSON_PATCH_TOO_DEEP;
    return find(patching, path, &value)
               ? edit_value(patching, value, patching->operand)
               : JSON_PATCH_NO_PLACE;
}

/* Copies the value at `from`: the edit moves it. */
static enum json_patch_result take_from(struct patching *patching)
{
    struct kx_slice value;
    patching->moved.size = 0;
    if (!find(patching, kx_buffer_slice(&patching->from), &value))
        return JSON_PATCH_NO_PLACE;
    pay(patching, value.size);
    kx_add_slice(&patching->moved, value);
    return patching->moved.failed ? JSON_PATCH_NO_MEMORY : JSON_PATCH_DONE;
}

static enum json_patch_result apply_copy(struct patching *patching)
{
    enum json_patch_result result = take_from(patching);
    return result == JSON_PATCH_DONE
               ? add(patching, kx_buffer_slice(&patching->path),
                     kx_buffer_slice(&patching->moved))
               : result;
}

/* A value cannot be moved into itself. */
static enum json_patch_result apply_move(struct patching *patching)
{
    struct kx_slice from = kx_buffer_slice(&patching->from);
    struct kx_slice path = kx_buffer_slice(&patching->path);
    enum json_patch_result result = take_from(patching);
    if (result != JSON_PATCH_DONE || kx_equal(from, path))
        return result;
    if (kx_pointer_covers(from, path))
        return JSON_PATCH_NO_PLACE;
    result = remove_at(patching, from);
    return result == JSON_PATCH_DONE
               ? add(patching, path, kx_buffer_slice(&patching->moved))
               : result;
}

/* Pays for comparing the operand with a value, before the comparison, which
 * passes each level of either text again. False if the budget does not suffice.
 */
static bool pay_comparison(const struct patching *patching,
                           struct kx_slice value)
{
    size_t levels = json_depth(patching->operand) + 1;
    charge_add(patching->patch->charge, 1, CHARGE_OPERATION);
    pay(patching, 2 * levels * (patching->operand.size + value.size));
    return !charge_passed(patching->patch->charge);
}

static enum json_patch_result apply_test(struct patching *patching)
{
    struct kx_slice value;
    if (!find(patching, kx_buffer_slice(&patching->path), &value))
        return JSON_PATCH_NO_PLACE;
    if (!pay_comparison(patching, value))
        return JSON_PATCH_TOO_LARGE;
    return json_equal_exactly(patching->operand, value)
               ? JSON_PATCH_DONE
               : JSON_PATCH_TEST_FAILED;
}

/* ---- set, append, include, exclude --------------------------------------- */

/* Writes the value, nested in an object for each token of the rest. */
static void nest(struct kx_slice rest, struct kx_slice value,
                 struct kx_buffer *out)
{
    size_t count = token_count(rest);
    while (rest.size > 0) {
        kx_add_byte(out, '{');
        json_pointer_add_name(json_pointer_take(&rest), out);
    }
    kx_add_slice(out, value);
    while (count-- > 0)
        kx_add_byte(out, '}');
}

/* Adds the value where the path leads, with the parents that are missing. */
static enum json_patch_result set(struct patching *patching,
                                  struct kx_slice value)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice there;
    if (is_too_deep(patching, path, value, 0))
        return JSON_PATCH_TOO_DEEP;
    if (find(patching, path, &there))
        return edit_value(patching, there, value);
    struct kx_slice token;
    struct kx_slice parent = path;
    do
        parent = split(parent, &token);
    while (!find(patching, parent, &there));
    struct kx_slice first = kx_slice(path.data, parent.size + token.size);
    patching->moved.size = 0;
    nest(kx_slice(path.data + first.size, path.size - first.size), value,
         &patching->moved);
    return patching->moved.failed
               ? JSON_PATCH_NO_MEMORY
               : add(patching, first, kx_buffer_slice(&patching->moved));
}

static enum json_patch_result apply_set(struct patching *patching)
{
    return set(patching, patching->operand);
}

/* An array of the operand alone, in the scratch `from`. */
static enum json_patch_result set_array(struct patching *patching)
{
    patching->from.size = 0;
    kx_add_byte(&patching->from, '[');
    kx_add_slice(&patching->from, patching->operand);
    kx_add_byte(&patching->from, ']');
    return patching->from.failed
               ? JSON_PATCH_NO_MEMORY
               : set(patching, kx_buffer_slice(&patching->from));
}

static enum json_patch_result apply_append(struct patching *patching)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice array;
    if (!find(patching, path, &array))
        return set_array(patching);
    if (kx_json_type(array) != KX_JSON_ARRAY)
        return JSON_PATCH_NO_ARRAY;
    if (is_too_deep(patching, path, patching->operand, 1))
        return JSON_PATCH_TOO_DEEP;
    return add_element(patching, array, kx_text("/-"), patching->operand);
}

/* Searches the array for the first element that equals the operand:
 * JSON_PATCH_DONE; JSON_PATCH_NO_PLACE: no element does; JSON_PATCH_TOO_LARGE.
 */
static enum json_patch_result find_equal(struct patching *patching,
                                         struct kx_slice array,
                                         struct kx_slice *element_out)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, element_out)) {
        if (!pay_comparison(patching, *element_out))
            return JSON_PATCH_TOO_LARGE;
        if (json_equal_exactly(patching->operand, *element_out))
            return JSON_PATCH_DONE;
    }
    return JSON_PATCH_NO_PLACE;
}

static enum json_patch_result apply_include(struct patching *patching)
{
    struct kx_slice array;
    struct kx_slice element;
    if (find(patching, kx_buffer_slice(&patching->path), &array) &&
        kx_json_type(array) == KX_JSON_ARRAY) {
        enum json_patch_result result = find_equal(patching, array, &element);
        if (result != JSON_PATCH_NO_PLACE)
            return result;
    }
    return apply_append(patching);
}

static enum json_patch_result apply_exclude(struct patching *patching)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice array;
    struct kx_slice element;
    enum json_patch_result result = JSON_PATCH_DONE;
    while (result == JSON_PATCH_DONE && find(patching, path, &array)) {
        if (kx_json_type(array) != KX_JSON_ARRAY)
            return JSON_PATCH_NO_ARRAY;
        result = find_equal(patching, array, &element);
        if (result == JSON_PATCH_DONE)
            result = cut(patching, array, element);
        else
            return result == JSON_PATCH_NO_PLACE ? JSON_PATCH_DONE : result;
    }
    return result;
}

/* ---- sum ---------------------------------------------------------------- */

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

/* A sum reads a number as a double, adds it, and compares it with both bounds.
 */
static void charge_number(struct patching *patching, struct kx_slice number)
{
    enum { PASSES = 4 };
    charge_add(patching->patch->charge, PASSES * number.size, CHARGE_PASSED);
}

/* Finds the number at the path, if any, and writes the sum to `from`. */
static enum json_patch_result add_up(struct patching *patching)
{
    struct kx_slice *present = &patching->present;
    patching->from.size = 0;
    *present = kx_slice(NULL, 0);
    charge_number(patching, patching->operand);
    if (!find(patching, kx_buffer_slice(&patching->path), present))
        kx_add_slice(&patching->from, patching->operand);
    else if (kx_json_type(*present) != KX_JSON_NUMBER)
        return JSON_PATCH_NO_NUMBER;
    else if (!json_number_sum(*present, patching->operand, &patching->from))
        return JSON_PATCH_NOT_FINITE;
    charge_number(patching, *present);
    return patching->from.failed ? JSON_PATCH_NO_MEMORY : JSON_PATCH_DONE;
}

/* Replaces a sum beyond a bound by the bound. */
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

static enum json_patch_result apply_sum(struct patching *patching)
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
    return apply_set(patching);
}

/* ---- Reading operations -------------------------------------------------- */

static const struct patch_operation {
    const char *name;
    operation_fn *operate;
    bool has_value;
    bool has_from;
} OPERATIONS[] = {
    {"\"add\"", apply_add, true, false},
    {"\"remove\"", apply_remove, false, false},
    {"\"replace\"", apply_replace, true, false},
    {"\"move\"", apply_move, false, true},
    {"\"copy\"", apply_copy, false, true},
    {"\"test\"", apply_test, true, false},
    {"\"set\"", apply_set, true, false},
    {"\"append\"", apply_append, true, false},
    {"\"include\"", apply_include, true, false},
    {"\"exclude\"", apply_exclude, true, false},
    {"\"sum\"", apply_sum, true, false},
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

/* The members of an operation are searched one after another. */
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
