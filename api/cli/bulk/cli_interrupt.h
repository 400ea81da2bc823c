/* Interrupts (SIGINT, SIGTERM) of commands that finish or clean up before they
 * end. */
#ifndef API_CLI_INTERRUPT_H
#define API_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first signal with this number sets a flag and ends a blocking
 * system call with EINTR. The second signal ends the program. */
void cli_interrupt_catch(int number);

/* True if a signal has set the flag. */
bool cli_interrupted(void);

#endif
