/* The format number of a store: says how to read its rows and the files of its
 * data directory. It is stored twice. The row "format" of the catalog says
 * which format the rows have (catalog/format_rows.h). The file "format" of a
 * data directory says which format a program must know to open the directory
 * (storage/directory.h). */
#ifndef FORMAT_NUMBER_H
#define FORMAT_NUMBER_H

#include "kindex.h"

/* The format that this program writes. */
enum { FORMAT_NUMBER = 3 };

/* Reads a decimal number that a line break may follow. False for other text,
 * and for 0. */
bool format_number_read(const char *text, unsigned long *number_out);

/* Returns KX_BAD_DIRECTORY, with a fault that says: the data have the format
 * `number`, which is newer than this program's. */
enum kx_status format_too_new(unsigned long number, struct kx_fault *fault);

#endif
