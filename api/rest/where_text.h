/* Conditions as short texts in requests and on the command line:
 *
 *   status=open            address/city!=Oslo
 *   total>=5,total<100     several, which must all be true
 *   zip="0150"             a quoted text is a JSON string
 *
 * A path is a JSON Pointer without its first '/', or with it. A value
 * that is a JSON number, true, false, null or a quoted string is that value;
 * any other value is a string up to the next comma. */
#ifndef API_WHERE_TEXT_H
#define API_WHERE_TEXT_H

#include "kindex.h"

/* Appends the conditions as JSON: text that begins with '{' or '[' as it is,
 * otherwise an array made from the short form. Returns false if the text is
 * neither. out->failed is set if memory ran out. */
bool where_text_read(struct kx_slice text, struct kx_buffer *out);

#endif
