/* Runs the threads of a program one at a time, in an order that a seed decides,
 * so that an order that reveals a fault can be repeated. The linker replaces
 * the core's calls of X (locks, waits, flushes) by __wrap_X. In these functions
 * another thread may continue: before a lock is taken, after it
 * is released, in each wait, and around a flush. None of these calls is made
 * inside Berkeley DB, so no thread is suspended while it holds one of the
 * library's own locks.
 *
 * Time is simulated: each reading of the clock and each turn advance it a
 * little, and when all threads wait it advances to the end of the first wait.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>

/* Prints the fault, its seed and the command that finds it again, and exits
 * with status 1. */
__attribute__((format(printf, 1, 2), noreturn)) void
schedule_found(const char *format, ...);

/* From now until schedule_end the calling thread and the threads that it starts
 * run one at a time. */
void schedule_begin(uint64_t seed);
/* All other threads must have ended. Returns a digest of the turns. */
uint64_t schedule_end(void);
/* Lets another thread continue, if the seed says so. */
void schedule_turn(void);
/* Sets functions that are called before each flush of the log, and after it if
 * it has succeeded. */
void schedule_flushes(void (*begun)(void), void (*done)(void));

#endif
