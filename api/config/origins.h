/* The sites of --cors-origin, as browsers name them in the header Origin:
 * scheme://host or scheme://host:port (RFC 6454 section 6.2). */
#ifndef API_ORIGINS_H
#define API_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>

/* True if every item of the list (separated by commas) is a text that a browser
 * can send as Origin. */
bool origins_valid(const char *list);

/* For an invalid list writes the end of the sentence "LIST is not ...": the
 * first wrong item and, if known, its correction. Truncated to `size` bytes. */
void origins_expected(const char *list, char *out, size_t size);

#endif
