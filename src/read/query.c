/* Reading a query: {"prefix":["users"],"where":[{"path":"/email","eq":"x"}],
 * "order":["/age"],"reverse":true,"fields":["/name"]}. */
#include "read/query.h"

#include <talloc.h>

#include "schema/declaration_parse.h"

static enum kx_status read_order(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    enum kx_status status = declaration_read_fields(parse, value, target);
    if (status == KX_OK && parse->declaration->has_each)
        return declaration_parse_bad(
            parse,
            "an order cannot use each: an entry has one place in an order");
    return status;
}

/* Kept in the parsed declaration until the end: `unique` has no meaning for a
 * query. */
static enum kx_status read_reverse(struct declaration_parse *parse,
                                   struct kx_slice value, void *target)
{
    struct declaration *asked = target;
    return declaration_parse_flag(parse, value, &asked->unique);
}

static const struct declaration_member members[] = {
    {"prefix", declaration_read_prefix},
    {"depth", declaration_read_depth},
    {"where", declaration_read_where},
    {"order", read_order},
    {"reverse", read_reverse},
    {"fields", declaration_read_stored},
    {NULL, NULL},
};

static enum kx_status check_parts(struct declaration_parse *parse)
{
    const struct declaration *asked = parse->declaration;
    for (size_t i = 0; i < asked->where_count; i++)
        if (asked->depth != 0 && asked->where[i].key_part > asked->depth) {
            declaration_parse_enter(parse, kx_text("where"));
            return declaration_no_part(parse, asked->where[i].key_part);
        }
    return declaration_check_fields(parse, "order");
}

static enum kx_status read_query(struct kx_query *query, struct kx_slice text,
                                 struct kx_fault *fault)
{
    struct declaration *asked = query->asked;
    struct declaration_parse parse = {
        .declaration = asked, .fault = fault, .is_query = true};
    enum kx_status status =
        declaration_parse_members(&parse, text, members, "a query", asked);
    if (status == KX_OK && !parse.has_prefix)
        return declaration_parse_bad(&parse,
                                     "a query needs a prefix, such as "
                                     "[\"users\"]; [] stands for all entries");
    if (status == KX_OK)
        status = check_parts(&parse);
    query->reverse = asked->unique;
    asked->unique = false;
    return status;
}

enum kx_status kx_query_read(void *memory, struct kx_slice text,
                             struct kx_query **query_out,
                             struct kx_fault *fault)
{
    enum kx_status status = kx_json_check(text, fault);
    if (status != KX_OK)
        return status;
    struct kx_query *query = talloc_zero(memory, struct kx_query);
    if (query != NULL)
        query->asked = talloc_zero(query, struct declaration);
    status = KX_NO_MEMORY;
    if (query != NULL && query->asked != NULL)
        status = read_query(query, text, fault);
    if (status == KX_OK)
        *query_out = query;
    else
        talloc_free(query);
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
           a->versionstamp == b->versionstamp && a->due == b->due &&
           (!field_of_value(a) || kx_equal(a->path, b->path));
}

bool query_same_field(const struct field *a, const struct field *b)
{
    return a->fold == b->fold && query_same_place(a, b);
}

size_t kx_query_conditions(const struct kx_query *query)
{
    return query->asked->where_count;
}

void kx_query_condition(const struct kx_query *query, size_t n,
                        struct kx_buffer *out)
{
    declaration_write_condition(&query->asked->where[n], out);
}

struct kx_slice kx_query_prefix(const struct kx_query *query)
{
    return query->asked->prefix;
}

size_t kx_query_fields(const struct kx_query *query,
                       const struct kx_slice **fields_out)
{
    *fields_out = query->asked->stored;
    return query->asked->stored_count;
}

bool query_reads_entries(const struct declaration *asked,
                         const struct declaration *index)
{
    if (index->store != STORE_FIELDS)
        return index->store == STORE_POINTER;
    for (size_t i = 0; i < asked->stored_count; i++)
        if (!declaration_stores(index, asked->stored[i]))
            return true;
    return asked->stored_count == 0;
}
