/* The conditions of a check: those of an index, without the rest of its
 * declaration. */
#ifndef WHERE_H
#define WHERE_H

#include "schema/declaration.h"
#include "schema/index_document.h"

struct kx_where {
    struct declaration *conditions; /* only its `where` is set */
    /* For kx_where_holds. */
    struct index_document decoded;
    struct kx_buffer scratch;
};

#endif
