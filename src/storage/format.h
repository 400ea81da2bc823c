/* The file "format" of a data directory: its format number
 * (engine/format_number.h). It is read before anything is opened, so that a
 * program that is too old changes nothing. */
#ifndef FORMAT_H
#define FORMAT_H

#include "engine/format_number.h"

/* Checks whether this program can read the directory. KX_OK, also if there is
 * no file; KX_BAD_DIRECTORY, with a fault that says why; KX_NO_MEMORY. */
enum kx_status format_look(const char *directory, struct kx_fault *fault);

/* Checks whether this program can open the directory, which the caller has
 * locked. Replaces a lower or missing number by FORMAT_NUMBER, and syncs the
 * file. KX_OK; KX_BAD_DIRECTORY, with a fault that says why: the number is
 * higher, or cannot be read or written, and nothing was changed; KX_NO_MEMORY.
 */
enum kx_status format_guard(const char *directory, struct kx_fault *fault);

#endif
