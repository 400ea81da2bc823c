/* The file "format" of a data directory: the number of its format
 * (engine/format_number.h). It is read before anything is opened, so that a
 * program which is too old changes nothing. */
#ifndef FORMAT_H
#define FORMAT_H

#include "engine/format_number.h"

/* Returns whether this program may read the directory: KX_OK, also when there
 * is no file; KX_BAD_DIRECTORY with a sentence; KX_NO_MEMORY. */
enum kx_status format_look(const char *directory, struct kx_fault *fault);

/* Returns whether this program may open the directory, which it has locked. A
 * file with a lower number, or none, becomes one with FORMAT_NUMBER, on disk at
 * once. KX_OK; KX_BAD_DIRECTORY with a sentence for a higher number or one that
 * cannot be read or written, and then nothing was changed; KX_NO_MEMORY. */
enum kx_status format_guard(const char *directory, struct kx_fault *fault);

#endif
