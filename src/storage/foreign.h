/* Recognizes a directory with other data, so that no store is created among
 * files that do not belong to it. */
#ifndef FOREIGN_H
#define FOREIGN_H

#include "kindex.h"

/* Checks options->directory before a store is created there. KX_BAD_DIRECTORY,
 * with a fault that names a file: the directory has files, but no store and no
 * remainder of one. Files named in options->beside, the archive and hidden
 * files do not count. KX_OK otherwise, even if the directory is missing or
 * cannot be listed. */
enum kx_status foreign_look(const struct kx_options *options,
                            struct kx_fault *fault);

#endif
