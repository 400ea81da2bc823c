/* Finds the declaration of an index that would answer a query. */
#ifndef INDEX_ADVICE_H
#define INDEX_ADVICE_H

#include "read/query.h"

/* Makes its declaration under talloc context mem, without a name:
 * index_advice_name makes one. Its fields are first those of conditions of
 * equality, then those of the order or of a range; a condition that an order of
 * fields cannot answer becomes its `where`. KX_OK; KX_ABSENT: no index would
 * answer the query; KX_NO_MEMORY. */
enum kx_status index_advice_make(void *mem, const struct kx_query *query,
                                 struct declaration **declaration_out);

/* The same of an aggregate index that would hold the number of the entries: as
 * a group of the values of equality, or in all. */
enum kx_status index_advice_count(void *mem, const struct kx_query *query,
                                  struct declaration **declaration_out);

/* Appends a name made of prefix and fields, such as users_by_color; n > 1 is
 * appended to it. */
void index_advice_name(const struct declaration *declaration, unsigned n,
                       struct kx_buffer *out);

#endif
