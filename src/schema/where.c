/* Reading conditions that stand alone, by the parser of declarations. */
#include "schema/where.h"

#include <talloc.h>

#include "schema/declaration_parse.h"

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

enum kx_status kx_where_read(void *memory, struct kx_slice text,
                             struct kx_where **where_out,
                             struct kx_fault *fault)
{
    struct kx_where *where = talloc_zero(memory, struct kx_where);
    enum kx_status status = KX_NO_MEMORY;
    if (where != NULL)
        where->conditions = talloc_zero(where, struct declaration);
    if (where != NULL && where->conditions != NULL)
        status = read_where(where, text, fault);
    if (status == KX_OK)
        *where_out = where;
    else
        talloc_free(where);
    return status;
}
