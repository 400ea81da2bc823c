/* A directory that is somebody else's: a store made there would lie among files
 * that it knows nothing of, and that nobody would look for beside it. */
#ifndef FOREIGN_H
#define FOREIGN_H

#include "kindex.h"

/* KX_BAD_DIRECTORY, with a sentence that names a file: options->directory has
 * files but neither a store nor what is left of one. Those of options->beside,
 * the archive and hidden files do not count. KX_OK otherwise, also when the
 * directory is missing or cannot be listed. */
enum kx_status foreign_look(const struct kx_options *options,
                            struct kx_fault *fault);

#endif
