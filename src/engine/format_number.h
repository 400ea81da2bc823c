/* The number of a store's format: how its rows, and the files of a data
 * directory, are understood. It stands in two places. The row "format" of the
 * catalog says how far the rows are (catalog/format_rows.h). In a data
 * directory the file "format" says what a program must know to open it
 * (storage/format.h).
 */
#ifndef FORMAT_NUMBER_H
#define FORMAT_NUMBER_H

#include "kindex.h"

/* What this program writes. */
enum { FORMAT_NUMBER = 2 };

/* Reads decimal digits, with or without a line end after them; false for
 * anything else, and for 0. */
bool format_number_read(const char *text, unsigned long *number_out);

/* KX_BAD_DIRECTORY, with a sentence: the data have this higher number. */
enum kx_status format_too_new(unsigned long number, struct kx_fault *fault);

#endif
