/* The operations of a JSON Patch. Each is one replacement of bytes in the text
 * that the operations before it have left. */
#include "json/json_patch_operate.h"

#include <stdio.h>

#include "json/json_equal.h"
#include "json/json_pointer.h"
#include "json/json_scan.h"

/* Bytes are copied so many times as fast as JSON is passed. */
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

bool json_patch_find(const struct patching *patching, struct kx_slice pointer,
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
    if (!json_patch_find(patching, before, &parent))
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

enum json_patch_result json_patch_add(struct patching *patching)
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
    if (path.size == 0 || !json_patch_find(patching, before, &parent))
        return JSON_PATCH_NO_PLACE;
    if (!json_pointer_find(parent, token, patching->patch->charge, &value))
        return JSON_PATCH_NO_PLACE;
    return cut(patching, parent, value);
}

enum json_patch_result json_patch_remove(struct patching *patching)
{
    return remove_at(patching, kx_buffer_slice(&patching->path));
}

enum json_patch_result json_patch_replace(struct patching *patching)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice value;
    if (is_too_deep(patching, path, patching->operand, 0))
        return JSON_PATCH_TOO_DEEP;
    return json_patch_find(patching, path, &value)
               ? edit_value(patching, value, patching->operand)
               : JSON_PATCH_NO_PLACE;
}

/* Copies the value at `from`: the edit moves it. */
static enum json_patch_result take_from(struct patching *patching)
{
    struct kx_slice value;
    patching->moved.size = 0;
    if (!json_patch_find(patching, kx_buffer_slice(&patching->from), &value))
        return JSON_PATCH_NO_PLACE;
    pay(patching, value.size);
    kx_add_slice(&patching->moved, value);
    return patching->moved.failed ? JSON_PATCH_NO_MEMORY : JSON_PATCH_DONE;
}

enum json_patch_result json_patch_copy(struct patching *patching)
{
    enum json_patch_result result = take_from(patching);
    return result == JSON_PATCH_DONE
               ? add(patching, kx_buffer_slice(&patching->path),
                     kx_buffer_slice(&patching->moved))
               : result;
}

/* A value cannot be moved into itself. */
enum json_patch_result json_patch_move(struct patching *patching)
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

/* Pays for comparing the operand with a value, before it is done: each level of
 * either text is passed again. False: the budget does not have so much. */
static bool pay_comparison(const struct patching *patching,
                           struct kx_slice value)
{
    size_t levels = json_depth(patching->operand) + 1;
    charge_add(patching->patch->charge, 1, CHARGE_OPERATION);
    pay(patching, 2 * levels * (patching->operand.size + value.size));
    return !charge_passed(patching->patch->charge);
}

enum json_patch_result json_patch_test(struct patching *patching)
{
    struct kx_slice value;
    if (!json_patch_find(patching, kx_buffer_slice(&patching->path), &value))
        return JSON_PATCH_NO_PLACE;
    if (!pay_comparison(patching, value))
        return JSON_PATCH_TOO_LARGE;
    return json_equal_exactly(patching->operand, value)
               ? JSON_PATCH_DONE
               : JSON_PATCH_TEST_FAILED;
}

/* ---- set, append, include, exclude --------------------------------------- */

/* Writes the value inside an object for each token of the rest. */
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
    if (json_patch_find(patching, path, &there))
        return edit_value(patching, there, value);
    struct kx_slice token;
    struct kx_slice parent = path;
    do
        parent = split(parent, &token);
    while (!json_patch_find(patching, parent, &there));
    struct kx_slice first = kx_slice(path.data, parent.size + token.size);
    patching->moved.size = 0;
    nest(kx_slice(path.data + first.size, path.size - first.size), value,
         &patching->moved);
    return patching->moved.failed
               ? JSON_PATCH_NO_MEMORY
               : add(patching, first, kx_buffer_slice(&patching->moved));
}

enum json_patch_result json_patch_set(struct patching *patching)
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

enum json_patch_result json_patch_append(struct patching *patching)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice array;
    if (!json_patch_find(patching, path, &array))
        return set_array(patching);
    if (kx_json_type(array) != KX_JSON_ARRAY)
        return JSON_PATCH_NO_ARRAY;
    if (is_too_deep(patching, path, patching->operand, 1))
        return JSON_PATCH_TOO_DEEP;
    return add_element(patching, array, kx_text("/-"), patching->operand);
}

/* Looks for the first element of the array that equals the operand:
 * JSON_PATCH_DONE; JSON_PATCH_NO_PLACE: no element does;
 * JSON_PATCH_TOO_LARGE. */
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

enum json_patch_result json_patch_include(struct patching *patching)
{
    struct kx_slice array;
    struct kx_slice element;
    if (json_patch_find(patching, kx_buffer_slice(&patching->path), &array) &&
        kx_json_type(array) == KX_JSON_ARRAY) {
        enum json_patch_result result = find_equal(patching, array, &element);
        if (result != JSON_PATCH_NO_PLACE)
            return result;
    }
    return json_patch_append(patching);
}

enum json_patch_result json_patch_exclude(struct patching *patching)
{
    struct kx_slice path = kx_buffer_slice(&patching->path);
    struct kx_slice array;
    struct kx_slice element;
    enum json_patch_result result = JSON_PATCH_DONE;
    while (result == JSON_PATCH_DONE &&
           json_patch_find(patching, path, &array)) {
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
