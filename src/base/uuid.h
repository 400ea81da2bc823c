/* Random UUIDs. */
#ifndef UUID_H
#define UUID_H

enum { UUID_SIZE = 37 }; /* bytes of the text and its NUL */

/* Writes a random UUID (RFC 9562, version 4) in lower case to out, which holds
 * UUID_SIZE bytes. Cannot fail. */
void uuid_make(char *out);

#endif
