/* What a view and a read of the record cache cost when several threads open
 * them at the same time: nanoseconds of each thread for one, with 1 thread and
 * with 2. profile.sh runs it. */
#include <pthread.h>
#include <stdio.h>

#include "commit/view.h"
#include "kindex/clock.h"

enum { THREADS = 2, TIMES = 5000000 };

static struct view view;

static void *views(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        view_enter(&view);
        view_leave(&view);
    }
    return unused;
}

static void *cached(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        view_peek_begin(&view);
        view_peek_end(&view);
    }
    return unused;
}

static void measure(const char *what, void *(*run)(void *))
{
    for (int count = 1; count <= THREADS; count++) {
        pthread_t threads[THREADS];
        uint64_t began = kx_monotonic_ns();
        for (int i = 0; i < count; i++)
            pthread_create(&threads[i], NULL, run, NULL);
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        printf("%s, %d threads: %.0f ns\n", what, count,
               (double)(kx_monotonic_ns() - began) / TIMES);
    }
}

int main(void)
{
    if (view_init(&view, NULL, NULL) != KX_OK)
        return 1;
    measure("a view", views);
    measure("a read of the record cache", cached);
    view_finish(&view);
    return 0;
}
