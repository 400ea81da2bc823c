/* The variables KINDEX_* of the environment: those that no option reads are
 * most likely misspelt. */
#ifndef API_VARIABLES_H
#define API_VARIABLES_H

/* Says to standard error, in a line each, which are set that neither an option
 * of the server nor one of the command line reads, and which may be meant. */
void variables_check(void);

#endif
