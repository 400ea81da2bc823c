/* The members that every range of a document has: in POST /get and POST /list.
 */
#ifndef API_GET_MANY_H
#define API_GET_MANY_H

#include "rest/document.h"
#include "rest/selector.h"

/* The readers below fill the selection, which is initialized. Their target
 * begins with this struct. */
struct range_target {
    struct selection *selection;
};

/* For tables of document_read. The errors are PROBLEM_BAD_REQUEST and those of
 * key_text_from_json. */
member_fn range_member_prefix;
member_fn range_member_start;
member_fn range_member_end;
member_fn range_member_index;
member_fn range_member_reverse;

#endif
