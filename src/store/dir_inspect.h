/* The checks of a data directory before it is opened. */
#ifndef DIR_INSPECT_H
#define DIR_INSPECT_H

#include "bdb/page_check.h"
#include "kindex.h"

/* Checks that a restore into options->directory has finished, that this program
 * knows its format, that all tables are there and every page has its checksum
 * (the first options->check_pages, unless the directory is suspect: the walk
 * says how far they were checked), and that the log can be read as far as the
 * archive (options->archive, or NULL) has it. Changes one thing only: when the
 * log is sound and the archive's copy of it is damaged, that copy is renamed,
 * to be made again. KX_OK; KX_DAMAGED, with a sentence that says what is
 * damaged; KX_BAD_DIRECTORY: unknown format; other errors when a check could
 * not be made. */
enum kx_status dir_inspect(const struct kx_options *options,
                           struct page_walk *walk, struct kx_fault *fault);

#endif
