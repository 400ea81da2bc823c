/* Files that an operator writes: read whole, at the start and again on request.
 */
#ifndef API_TEXT_FILE_H
#define API_TEXT_FILE_H

#include "kindex.h"

/* Reads a file of at most `most` bytes into memory (a talloc context). On false
 * why_out (`size` bytes) says what is wrong, without the name of the file. */
bool text_file_read(const char *path, size_t most, struct kx_buffer *text_out,
                    char *why_out, size_t size);

#endif
