/* Linked into the server of `make cover`. A server killed by a story would lose
 * its counts, so stories send SIGRTMIN + 5 instead: the server then writes its
 * counts and kills itself with SIGKILL. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { KILLED = 5 };

void __gcov_dump(void);

static void *await_signal(void *signals)
{
    int number;
    sigwait(signals, &number);
    __gcov_dump();
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Blocks all other signals in the thread, and this signal in all other threads.
 */
__attribute__((constructor)) static void begin(void)
{
    static sigset_t signals;
    sigset_t all, before;
    pthread_t thread;
    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN + KILLED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, await_signal, &signals) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}
