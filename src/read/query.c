/* Reading a question: {"prefix":["users"],"where":[{"path":"/email","eq":"x"}],
 * "order":["/age"],"reverse":true,"fields":["/name"]}. */
#include "read/query.h"

#include <talloc.h>

#include "schema/declaration_parse.h"

static enum kx_status read_order(struct declaration_parse *reading,
                                 struct kx_slice value, void *target)
{
    enum kx_status status = declaration_read_fields(reading, value, target);
    if (status == KX_OK && reading->declaration->has_each)
        return declaration_parse_bad(
            reading,
            "an order cannot use each: an entry has one place in an order");
    return status;
}

/* Kept in the reading's declaration until it is done: `unique` has no meaning
 * for a question. */
static enum kx_status read_reverse(struct declaration_parse *reading,
                                   struct kx_slice value, void *target)
{
    struct declaration *asked = target;
    return declaration_parse_flag(reading, value, &asked->unique);
}

static const struct member members[] = {
    {"prefix", declaration_read_prefix},
    {"depth", declaration_read_depth},
    {"where", declaration_read_where},
    {"order", read_order},
    {"reverse", read_reverse},
    {"fields", declaration_read_stored},
    {NULL, NULL},
};

static enum kx_status check_parts(struct declaration_parse *reading)
{
    const struct declaration *asked = reading->declaration;
    for (size_t i = 0; i < asked->where_count; i++)
        if (asked->depth != 0 && asked->where[i].key_part > asked->depth) {
            declaration_parse_enter(reading, kx_text("where"));
            return declaration_no_part(reading, asked->where[i].key_part);
        }
    return declaration_check_fields(reading, "order");
}

static enum kx_status read_question(struct kx_question *question,
                                    struct kx_slice text,
                                    struct kx_fault *fault)
{
    struct declaration *asked = question->asked;
    struct declaration_parse reading = {
        .declaration = asked, .fault = fault, .question = true};
    enum kx_status status =
        declaration_parse_members(&reading, text, members, "a question", asked);
    if (status == KX_OK && !reading.has_prefix)
        return declaration_parse_bad(&reading,
                                     "a query needs a prefix, such as "
                                     "[\"users\"]; [] stands for all entries");
    if (status == KX_OK)
        status = check_parts(&reading);
    question->reverse = asked->unique;
    asked->unique = false;
    return status;
}

enum kx_status kx_question_read(void *memory, struct kx_slice text,
                                struct kx_question **question_out,
                                struct kx_fault *fault)
{
    enum kx_status status = kx_json_check(text, fault);
    if (status != KX_OK)
        return status;
    struct kx_question *question = talloc_zero(memory, struct kx_question);
    if (question != NULL)
        question->asked = talloc_zero(question, struct declaration);
    status = KX_NO_MEMORY;
    if (question != NULL && question->asked != NULL)
        status = read_question(question, text, fault);
    if (status == KX_OK)
        *question_out = question;
    else
        talloc_free(question);
    return status;
}

struct field query_subject(const struct condition *condition)
{
    return (struct field){.path = condition->path,
                          .key_part = condition->key_part,
                          .fold = condition->fold,
                          .each = condition->each};
}

bool query_same_place(const struct field *a, const struct field *b)
{
    return a->key_part == b->key_part && a->each == b->each &&
           (a->key_part != 0 || kx_equal(a->path, b->path));
}

bool query_same_field(const struct field *a, const struct field *b)
{
    return a->fold == b->fold && query_same_place(a, b);
}

size_t kx_question_conditions(const struct kx_question *question)
{
    return question->asked->where_count;
}

void kx_question_condition(const struct kx_question *question, size_t n,
                           struct kx_buffer *out)
{
    declaration_write_condition(&question->asked->where[n], out);
}

struct kx_slice kx_question_prefix(const struct kx_question *question)
{
    return question->asked->prefix;
}

size_t kx_question_fields(const struct kx_question *question,
                          const struct kx_slice **fields_out)
{
    *fields_out = question->asked->stored;
    return question->asked->stored_count;
}
