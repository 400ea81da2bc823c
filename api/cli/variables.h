/* The environment variables KINDEX_*: one that no option reads is probably a
 * typing error. */
#ifndef API_VARIABLES_H
#define API_VARIABLES_H

/* Prints a line to standard error for each variable that is set but read by no
 * option, neither of the server nor of the commands, with a suggestion. */
void variables_check(void);

#endif
