/* Number parts of keys as text. A key is an identity: a number that a double
 * cannot hold exactly would silently become another key, so it is refused. */
#ifndef API_KEYNUMBER_H
#define API_KEYNUMBER_H

#include "flaw.h"

/* Reads a JSON number token, -0 included. PROBLEM_KEY_NUMBER_INEXACT for an
 * integer that no double equals, PROBLEM_BAD_KEY for what is no number. */
bool keynumber_read(struct kx_slice token, double *number_out,
                    struct flaw *flaw);

/* Reads "NaN", "Infinity", "-Infinity" or "-0"; false for other texts. */
bool keynumber_special(struct kx_slice name, double *number_out);

/* The name of a number that JSON cannot carry ("NaN" ...), else NULL. */
const char *keynumber_special_name(double number);

#endif
