/* What the options of the server mean for the store. */
#ifndef API_STORE_OPTIONS_H
#define API_STORE_OPTIONS_H

#include "config/options.h"
#include "kindex.h"

/* Fills in all members of *store_out except `beside` and `node`. Its texts
 * point into options, which must outlive store_out. */
void store_options_set(const struct options *options,
                       struct kx_options *store_out);

enum { STORE_OPTIONS_BESIDE_MAX = 6 };

/* Lists the files of the options, which may lie in the data directory, ended by
 * NULL. */
void store_options_beside(const struct options *options,
                          const char *files[STORE_OPTIONS_BESIDE_MAX]);

/* Logs a warning for options that do not fit together; the server starts
 * nevertheless. */
void store_options_warn(const struct options *options);

#endif
