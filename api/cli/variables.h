/* Warns about environment variables KINDEX_* that no option reads, since such a
 * variable is probably misspelled. */
#ifndef API_VARIABLES_H
#define API_VARIABLES_H

/* Prints a line with a suggestion to standard error for each variable that is
 * set but that no option of the server or of the commands reads. */
void variables_check(void);

#endif
