/* What the files that read declarations share: a place in the document, and
 * objects read by a table of members. */
#ifndef DECLARATION_PARSE_H
#define DECLARATION_PARSE_H

#include "schema/declaration.h"

struct member;

/* A declaration on its way. */
struct declaration_parse {
    struct declaration *declaration;
    struct kx_fault *fault;
    bool has_prefix;             /* also when it is empty */
    char pointer[128];           /* of the value being read */
    size_t pointer_end;          /* its bytes */
    const struct member *member; /* the row that is being read */
    bool question; /* conditions have the members of a field, too */
};

/* Reads the raw value of one member into target; says in the fault what is
 * wrong with it. */
typedef enum kx_status member_fn(struct declaration_parse *reading,
                                 struct kx_slice value, void *target);

struct member {
    const char *name; /* NULL ends a table */
    member_fn *read;
};

/* KX_BAD_INDEX, with the pointer of the present place. */
enum kx_status declaration_parse_bad(struct declaration_parse *reading,
                                     const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Goes to a member or an element of the present value, and back; what `enter`
 * gives goes to `leave`. */
size_t declaration_parse_enter(struct declaration_parse *reading,
                               struct kx_slice name);
size_t declaration_parse_enter_element(struct declaration_parse *reading,
                                       size_t number);
void declaration_parse_leave(struct declaration_parse *reading, size_t end);

/* Reads an object member by member. What the table does not have is refused
 * with the nearest name that it has; `what` stands for the object in that
 * sentence ("a field"). */
enum kx_status declaration_parse_members(struct declaration_parse *reading,
                                         struct kx_slice object,
                                         const struct member *table,
                                         const char *what, void *target);

/* The characters of a string token, in the declaration's memory. */
enum kx_status declaration_parse_text(struct declaration_parse *reading,
                                      struct kx_slice value,
                                      struct kx_slice *text_out);

/* A JSON Pointer, in the declaration's memory. */
enum kx_status declaration_parse_pointer(struct declaration_parse *reading,
                                         struct kx_slice value,
                                         struct kx_slice *pointer_out);

enum kx_status declaration_parse_flag(struct declaration_parse *reading,
                                      struct kx_slice value, bool *flag_out);

/* A whole number from 1 to KX_KEY_MAX; `meaning` ends the sentence that refuses
 * another. */
enum kx_status declaration_parse_count(struct declaration_parse *reading,
                                       struct kx_slice value,
                                       const char *meaning, size_t *count_out);

/* One of the words of a list that NULL ends; its place in it. */
enum kx_status declaration_parse_word(struct declaration_parse *reading,
                                      struct kx_slice value,
                                      const char *const *words,
                                      size_t *word_out);

/* KX_NO_MEMORY, with the fault filled. */
enum kx_status declaration_parse_no_memory(struct declaration_parse *reading);

/* The member `fold` of a field. */
enum kx_status declaration_read_fold(struct declaration_parse *reading,
                                     struct kx_slice value,
                                     enum fold *fold_out);

/* Members of a declaration that have files of their own, or are those of a
 * question as well. The target of the first two is the declaration. */
member_fn declaration_read_prefix;
member_fn declaration_read_depth;
member_fn declaration_read_stored;
member_fn declaration_read_fields;
member_fn declaration_read_store;
member_fn declaration_read_where;

/* Refuses `each` of a part of the key: KX_BAD_INDEX. */
enum kx_status declaration_no_array(struct declaration_parse *reading);

/* Key parts behind the last one that `depth` allows are in no entry. The first
 * refuses fields, which are the elements of this member, that name one; the
 * second says so of a part. KX_OK, KX_BAD_INDEX. */
enum kx_status declaration_check_fields(struct declaration_parse *reading,
                                        const char *member);
enum kx_status declaration_no_part(struct declaration_parse *reading,
                                   size_t part);

/* Appends one condition as canonical JSON. */
void declaration_write_condition(const struct condition *condition,
                                 struct kx_buffer *out);

/* Appends the canonical JSON of a checked declaration to its text. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status declaration_write(struct declaration *declaration);

#endif
