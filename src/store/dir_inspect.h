/* What is looked at before a data directory is opened. */
#ifndef DIR_INSPECT_H
#define DIR_INSPECT_H

#include "kindex.h"

/* Looks whether a restore into options->directory has come to its end, whether
 * this program knows its format, whether all tables are there and every page
 * has its checksum, and whether the log can be read, as far as the archive
 * (options->archive, or NULL) has it. Changes nothing but that an archive's
 * damaged part of a sound log is put aside, to be copied again. KX_OK;
 * KX_DAMAGED, with a sentence that says what; KX_BAD_DIRECTORY: it does not
 * know the format; other errors when something could not be looked at. */
enum kx_status dir_inspect(const struct kx_options *options,
                           struct kx_fault *fault);

#endif
