/* The operations of a JSON Patch, one function each: between json_patch.c,
 * which reads them, and json_patch_operate.c with json_patch_sum.c. */
#ifndef JSON_PATCH_OPERATE_H
#define JSON_PATCH_OPERATE_H

#include "json/json_patch.h"

/* A patch under way. The buffers have one owner. */
struct patching {
    struct json_patch *patch;
    struct kx_buffer text; /* the value so far */
    struct kx_buffer next;
    struct kx_buffer insertion; /* scratch of an edit */
    struct kx_buffer moved;     /* the operand of move and copy */
    struct kx_buffer path;      /* of the present operation, as `from` */
    struct kx_buffer from;
    struct kx_slice operand;
    struct kx_slice item;    /* the whole operation */
    struct kx_slice present; /* of a sum: the number in the text, or nothing */
};

/* Carries out the present operation on the text. */
typedef enum json_patch_result operation_fn(struct patching *patching);

operation_fn json_patch_add;
operation_fn json_patch_remove;
operation_fn json_patch_replace;
operation_fn json_patch_copy;
operation_fn json_patch_move;
operation_fn json_patch_test;
operation_fn json_patch_set;
operation_fn json_patch_append;
operation_fn json_patch_include;
operation_fn json_patch_exclude;
operation_fn json_patch_sum; /* json_patch_sum.c */

/* Finds the value in the text, and pays for the bytes up to its end. */
bool json_patch_find(const struct patching *patching, struct kx_slice pointer,
                     struct kx_slice *value_out);

#endif
