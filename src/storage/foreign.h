/* Recognizes a directory with other data, so that no store is made among files
 * that do not belong to it. */
#ifndef FOREIGN_H
#define FOREIGN_H

#include "kindex.h"

/* KX_BAD_DIRECTORY, with a sentence that names a file: options->directory has
 * files but neither a store nor the remainder of one. Those of options->beside,
 * the archive and hidden files do not count. KX_OK otherwise, also when the
 * directory is missing or cannot be listed. */
enum kx_status foreign_look(const struct kx_options *options,
                            struct kx_fault *fault);

#endif
