/* The current time as HTTP writes it (RFC 9110 section 5.6.7). Any thread. */
#ifndef API_HTTPDATE_H
#define API_HTTPDATE_H

enum { HTTPDATE_MAX = 32 /* bytes, with the NUL */ };

/* Writes the current second to out (HTTPDATE_MAX bytes). */
void httpdate_write(char *out);

#endif
