/* Reading conditions that stand alone, by the parser of declarations. */
#include "schema/where.h"

#include <talloc.h>

#include "schema/declaration_parse.h"
#include "schema/predicate.h"

static enum kx_status read_where(struct kx_where *where, struct kx_slice text,
                                 struct kx_fault *fault)
{
    struct declaration_parse parse = {.declaration = where->conditions,
                                      .fault = fault};
    enum kx_status status =
        declaration_read_where(&parse, text, where->conditions);
    if (status == KX_OK && where->conditions->where_count == 0)
        return declaration_parse_bad(&parse, "at least one condition is "
                                             "expected here");
    return status;
}

enum kx_status kx_where_read(const void *memory, struct kx_slice text,
                             struct kx_where **where_out,
                             struct kx_fault *fault)
{
    struct kx_where *where = talloc_zero(memory, struct kx_where);
    enum kx_status status = KX_NO_MEMORY;
    if (where != NULL)
        where->conditions = talloc_zero(where, struct declaration);
    if (where != NULL && where->conditions != NULL)
        status = read_where(where, text, fault);
    if (status != KX_OK) {
        talloc_free(where);
        return status;
    }
    index_document_init(&where->decoded, where);
    kx_buffer_init(&where->scratch, where);
    *where_out = where;
    return KX_OK;
}

enum kx_status kx_where_holds(struct kx_where *where,
                              const struct kx_value *value)
{
    struct kx_slice document;
    enum kx_status status =
        index_document_of_value(&where->decoded, value, &document);
    return status == KX_OK ? predicate_holds(where->conditions, document,
                                             &where->scratch, NULL, NULL)
                           : status;
}
