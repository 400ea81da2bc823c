/* What a client asks of entries: which, under what conditions, in which order,
 * which members of them. The document of an explanation, read with the words of
 * declarations.
 */
#ifndef QUERY_H
#define QUERY_H

#include "schema/declaration.h"

struct kx_query {
    /* prefix, depth and where (whose conditions may have fold, key and each);
     * its fields are the order asked for, what it stores the members. It has no
     * name. */
    struct declaration *asked;
    bool reverse;
};

/* The place that a condition is about, as a field would name it. */
struct field query_subject(const struct condition *condition);

/* Are they taken from the same place? */
bool query_same_place(const struct field *a, const struct field *b);

/* And folded alike as well? */
bool query_same_field(const struct field *a, const struct field *b);

#endif
