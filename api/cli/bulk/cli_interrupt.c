/* A flag that the handler sets. */
#include "cli/bulk/cli_interrupt.h"

#include <signal.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void cli_interrupt_catch(int number)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)SA_RESETHAND};
    sigaction(number, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}
