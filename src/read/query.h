/* A query for entries: prefix, conditions, order and members, as in the
 * document of an explanation. It has the members of a declaration. */
#ifndef QUERY_H
#define QUERY_H

#include "schema/declaration.h"

struct kx_query {
    /* prefix, depth and where (whose conditions may have fold, key and each);
     * its fields are the order asked for, what it stores the members. It has no
     * name. */
    struct declaration *asked;
    bool reverse;
    size_t compared; /* bytes, of KX_MATCH_MAX */
};

/* The place that a condition compares, as a field. */
struct field query_subject(const struct condition *condition);

/* True if both are taken from the same place. */
bool query_same_place(const struct field *a, const struct field *b);

/* True if both are taken from the same place and folded in the same way. */
bool query_same_field(const struct field *a, const struct field *b);

/* True if the entries must be read as well when the index answers the query. */
bool query_reads_entries(const struct declaration *asked,
                         const struct declaration *index);

#endif
