/* The conditions of a check: those of an index, without the rest of its
 * declaration. */
#ifndef WHERE_H
#define WHERE_H

#include "schema/declaration.h"

struct kx_where {
    struct declaration *conditions; /* only its `where` is set */
};

#endif
