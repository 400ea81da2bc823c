/* Signals that end commands which have something to finish: SIGINT (control-C),
 * SIGTERM. */
#ifndef API_CLI_INTERRUPT_H
#define API_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first signal with this number is only noted, and a wait in a
 * system call ends with it. The second one ends the program. */
void cli_interrupt_catch(int number);

/* True if a signal was noted. */
bool cli_interrupted(void);

#endif
