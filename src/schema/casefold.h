/* Text brought into a form in which upper and lower case are the same, for
 * index fields that are declared with a fold. */
#ifndef CASEFOLD_H
#define CASEFOLD_H

#include "kindex.h"

enum fold {
    FOLD_NONE,
    FOLD_LOWER,   /* exactly JavaScript's String.prototype.toLowerCase */
    FOLD_CASEFOLD /* Unicode normalization form C, then case folding */
};

/* Appends the folded text, which must be valid UTF-8, as the result is. What
 * is too long to fit into a key in any form may be left as it is. False when
 * memory runs out. */
bool casefold_text(enum fold fold, struct kx_slice utf8, struct kx_buffer *out);

/* The version of Unicode whose rules these are: index entries made with other
 * rules may differ. A constant. */
const char *casefold_unicode_version(void);

#endif
