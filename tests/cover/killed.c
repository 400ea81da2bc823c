/* Linked into the server of `make cover`, which would lose its counts when a
 * story kills it: on SIGRTMIN + 5 it writes them, and then dies of SIGKILL. */
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

/* The thread takes no other signal, and no other thread takes this one. */
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
