/* The progress line. */
#include "cli/cli_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "kindex.h"

enum { BAR = 24 };

static const uint64_t REDRAW_NS = 100000000;

void cli_progress_begin(struct cli_progress *progress, const char *what)
{
    *progress = (struct cli_progress){.what = what,
                                      .begun_ns = kx_monotonic_ns(),
                                      .terminal = isatty(STDERR_FILENO)};
}

double cli_progress_seconds(const struct cli_progress *progress)
{
    return (double)(kx_monotonic_ns() - progress->begun_ns) / 1e9;
}

static void draw_bar(double share, double seconds)
{
    int full = (int)(share * BAR);
    fputs("  [", stderr);
    for (int i = 0; i < BAR; i++)
        fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f%%", share * 100);
    if (share > 0 && share < 1)
        fprintf(stderr, ", %.0f s left", seconds / share - seconds);
}

void cli_progress_show(struct cli_progress *progress, uint64_t count,
                       uint64_t part, uint64_t whole)
{
    uint64_t now = kx_monotonic_ns();
    if (!progress->terminal || now - progress->drawn_ns < REDRAW_NS)
        return;
    double seconds = cli_progress_seconds(progress);
    double rate = seconds > 0 ? (double)count / seconds : 0;
    progress->drawn_ns = now;
    progress->drawn = true;
    fprintf(stderr, "\r\033[K%s %llu, %.0f/s", progress->what,
            (unsigned long long)count, rate);
    if (whole > 0)
        draw_bar(part < whole ? (double)part / (double)whole : 1, seconds);
    fflush(stderr);
}

void cli_progress_clear(struct cli_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
