/* Reads JSON documents by tables of members, and the members that declarations
 * and queries share. */
#ifndef DECLARATION_PARSE_H
#define DECLARATION_PARSE_H

#include "schema/declaration.h"

struct declaration_member;

/* The state of the parser. */
struct declaration_parse {
    struct declaration *declaration;
    struct kx_fault *fault;
    bool has_prefix;    /* also if it is empty */
    char pointer[128];  /* of the value being read */
    size_t pointer_end; /* bytes used in pointer */
    const struct declaration_member
        *member;   /* the row of the member being read */
    bool is_query; /* a query: conditions have the members of a field, too */
};

/* Reads the raw value of one member into target; fills the fault on errors. */
typedef enum kx_status declaration_member_fn(struct declaration_parse *parse,
                                             struct kx_slice value,
                                             void *target);

struct declaration_member {
    const char *name; /* NULL ends a table */
    declaration_member_fn *read;
};

/* Returns KX_BAD_INDEX; fills the fault with the detail and the current
 * pointer. */
enum kx_status declaration_parse_bad(struct declaration_parse *parse,
                                     const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Moves the pointer of errors to a member or an element of the current value.
 * Returns the former end of the pointer. */
size_t declaration_parse_enter(struct declaration_parse *parse,
                               struct kx_slice name);
size_t declaration_parse_enter_element(struct declaration_parse *parse,
                                       size_t number);

/* Reads an object member by member. A member that is not in the table is
 * refused, with the nearest name that is. `what` names the object in that
 * sentence ("a field"). */
enum kx_status declaration_parse_members(struct declaration_parse *parse,
                                         struct kx_slice object,
                                         const struct declaration_member *table,
                                         const char *what, void *target);

/* Reads the characters of a string token into the declaration's memory. */
enum kx_status declaration_parse_text(struct declaration_parse *parse,
                                      struct kx_slice value,
                                      struct kx_slice *text_out);

enum kx_status declaration_parse_flag(struct declaration_parse *parse,
                                      struct kx_slice value, bool *flag_out);

/* Reads a whole number from 1 to KX_KEY_MAX. `meaning` is the end of the
 * sentence that refuses other values. */
enum kx_status declaration_parse_count(struct declaration_parse *parse,
                                       struct kx_slice value,
                                       const char *meaning, size_t *count_out);

/* Reads an array of key parts into the declaration's memory. `name` begins the
 * sentence that refuses other values. */
enum kx_status declaration_parse_prefix(struct declaration_parse *parse,
                                        struct kx_slice value, const char *name,
                                        struct kx_slice *prefix_out);

/* Reads a JSON Pointer into the declaration's memory. */
enum kx_status declaration_parse_pointer(struct declaration_parse *parse,
                                         struct kx_slice value,
                                         struct kx_slice *pointer_out);

/* Reads a period such as "7d"; `name` begins the sentence that refuses other
 * values. The second function appends one in its largest unit. */
enum kx_status declaration_parse_period(struct declaration_parse *parse,
                                        struct kx_slice value, const char *name,
                                        int64_t *ms_out);
void declaration_write_period(int64_t ms, struct kx_buffer *out);

/* Reads one of the words of a list, which NULL ends. *word_out is its index. */
enum kx_status declaration_parse_word(struct declaration_parse *parse,
                                      struct kx_slice value,
                                      const char *const *words,
                                      size_t *word_out);

/* Fills the fault and returns KX_NO_MEMORY. */
enum kx_status declaration_parse_no_memory(struct declaration_parse *parse);

/* Read members of a declaration, most of which a query has as well. The target
 * is the declaration. */
declaration_member_fn declaration_read_name;
declaration_member_fn declaration_read_prefix;
declaration_member_fn declaration_read_depth;
declaration_member_fn declaration_read_stored;
declaration_member_fn declaration_read_fields;
declaration_member_fn declaration_read_store;
declaration_member_fn declaration_read_where;
declaration_member_fn declaration_read_tombstones;
declaration_member_fn declaration_read_queue;

/* Refuses members that an aggregate index cannot have: KX_OK, KX_BAD_INDEX. */
enum kx_status declaration_check_aggregate(struct declaration_parse *parse);

/* Refuses members that a queue cannot have, and marks its last field: KX_OK,
 * KX_BAD_INDEX. */
enum kx_status declaration_check_queue(struct declaration_parse *parse);

/* No entry has key parts after the last one that `depth` allows. The first
 * function refuses fields with such a part; `member` is the name of the array
 * of fields. The second refuses the part itself. KX_OK, KX_BAD_INDEX. */
enum kx_status declaration_check_fields(struct declaration_parse *parse,
                                        const char *member);
enum kx_status declaration_no_part(struct declaration_parse *parse,
                                   size_t part);

/* Appends one condition as canonical JSON. */
void declaration_write_condition(const struct condition *condition,
                                 struct kx_buffer *out);

/* Appends the `store` of an aggregate index as canonical JSON. */
void declaration_write_aggregate(const struct declaration *declaration,
                                 struct kx_buffer *out);

/* Appends the member `tombstones`, if the declaration has it. */
void declaration_write_tombstones(const struct declaration *declaration,
                                  struct kx_buffer *out);

/* Appends the member `queue`, if the declaration has it. */
void declaration_write_queue(const struct declaration *declaration,
                             struct kx_buffer *out);

#endif
