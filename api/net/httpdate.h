/* The current time as HTTP writes it (RFC 9110 section 5.6.7). Any thread. */
#ifndef API_HTTPDATE_H
#define API_HTTPDATE_H

/* Returns the current second. The text changes at the thread's next call. */
const char *httpdate_now(void);

#endif
