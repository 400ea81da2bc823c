/* Case folding: text in a form in which upper and lower case are equal, for
 * index fields that are declared with a fold. */
#ifndef CASEFOLD_H
#define CASEFOLD_H

#include "kindex.h"

enum fold {
    FOLD_NONE,
    FOLD_LOWER,   /* exactly JavaScript's String.prototype.toLowerCase */
    FOLD_CASEFOLD /* Unicode normalization form C, then case folding */
};

/* Appends the text folded. utf8 must be valid UTF-8, and so is the result. A
 * text that is too long for a key in any form may be appended unchanged. False
 * if memory runs out. */
bool casefold_text(enum fold fold, struct kx_slice utf8, struct kx_buffer *out);

/* The version of Unicode whose rules are used. Index entries made with another
 * version may differ. A constant. */
const char *casefold_unicode_version(void);

#endif
