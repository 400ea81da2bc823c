/* Log lines, read back from a socket that keeps what each write gave it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kindex.h"
#include "unit.h"

struct capture {
    int former; /* the real standard error */
    int reader;
};

static int capture_open(void **state)
{
    static struct capture capture;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) != 0)
        return -1;
    capture.former = dup(STDERR_FILENO);
    capture.reader = pair[0];
    dup2(pair[1], STDERR_FILENO);
    close(pair[1]);
    unsetenv("JOURNAL_STREAM");
    kx_log_level(KX_LOG_DEBUG);
    *state = &capture;
    return 0;
}

static int capture_close(void **state)
{
    struct capture *capture = *state;
    dup2(capture->former, STDERR_FILENO);
    close(capture->former);
    close(capture->reader);
    return 0;
}

/* Returns the text of the next write, or "" if there was none. */
static const char *next_write(struct capture *capture)
{
    static char text[8192];
    ssize_t size = read(capture->reader, text, sizeof(text) - 1);
    text[size < 0 ? 0 : size] = '\0';
    return text;
}

TEST_WITH(log_event_is_one_line_in_one_write, capture_open, capture_close)
{
    kx_log(KX_LOG_INFO, "started", "port=%d directory=%s", 4512, "/tmp/x");
    assert_string_equal(next_write(*state),
                        "level=info event=started port=4512 "
                        "directory=/tmp/x\n");
    assert_string_equal(next_write(*state), "");
}

TEST_WITH(log_event_needs_no_fields, capture_open, capture_close)
{
    kx_log(KX_LOG_ERROR, "stopped", NULL);
    assert_string_equal(next_write(*state), "level=error event=stopped\n");
    kx_log(KX_LOG_ERROR, "stopped", "%s", "");
    assert_string_equal(next_write(*state), "level=error event=stopped \n");
}

TEST_WITH(log_omits_levels_above_the_limit, capture_open, capture_close)
{
    static const char *const lines[] = {
        "level=error event=e n=1\n", "level=warning event=e n=1\n",
        "level=info event=e n=1\n", "level=debug event=e n=1\n"};
    for (int most = KX_LOG_ERROR; most <= KX_LOG_DEBUG; most++) {
        kx_log_level((enum kx_log_level)most);
        for (int level = KX_LOG_ERROR; level <= KX_LOG_DEBUG; level++) {
            kx_log((enum kx_log_level)level, "e", "n=%d", 1);
            assert_string_equal(next_write(*state),
                                level <= most ? lines[level] : "");
        }
    }
}

TEST_WITH(log_line_begins_with_priority_under_systemd, capture_open,
          capture_close)
{
    static const char *const lines[] = {
        "<3>level=error event=e\n", "<4>level=warning event=e\n",
        "<6>level=info event=e\n", "<7>level=debug event=e\n"};
    setenv("JOURNAL_STREAM", "8:1234", 1);
    for (int level = KX_LOG_ERROR; level <= KX_LOG_DEBUG; level++) {
        kx_log((enum kx_log_level)level, "e", NULL);
        assert_string_equal(next_write(*state), lines[level]);
    }
    unsetenv("JOURNAL_STREAM");
}

TEST_WITH(long_log_line_is_cut_and_ends_with_line_break, capture_open,
          capture_close)
{
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    kx_log(KX_LOG_INFO, "e", "t=%s", text);
    const char *line = next_write(*state);
    size_t size = strlen(line);
    assert_true(size > 1000 && size < sizeof(text));
    assert_int_equal(line[size - 1], '\n');

    kx_log(KX_LOG_INFO, text, "t=%d", 1);
    line = next_write(*state);
    assert_int_equal(strlen(line), size);
    assert_int_equal(line[size - 1], '\n');
}

TEST_WITH(log_replaces_line_breaks_in_fields, capture_open, capture_close)
{
    kx_log(KX_LOG_INFO, "e", "t=%s", "a\nlevel=error\r");
    assert_string_equal(next_write(*state),
                        "level=info event=e t=a level=error \n");
}

TEST_WITH(log_keeps_errno, capture_open, capture_close)
{
    errno = ENOSPC;
    kx_log(KX_LOG_INFO, "e", NULL);
    assert_int_equal(errno, ENOSPC);
    assert_string_not_equal(next_write(*state), "");
}

/* A write that blocks would stop the thread that serves all clients. */
TEST_WITH(log_never_blocks_on_a_full_pipe, capture_open, capture_close)
{
    enum { LINES = 200 };
    static char text[LINES * 1024];
    char expected[80];
    int ends[2];
    int shown = 0;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    for (int i = 0; i < LINES; i++)
        kx_log(KX_LOG_INFO, "e", "t=%01000d", i);
    ssize_t size = read(ends[0], text, sizeof text);
    for (ssize_t i = 0; i < size; i++)
        shown += text[i] == '\n';
    assert_in_range(shown, 1, LINES - 1);
    kx_log(KX_LOG_INFO, "again", NULL);
    size = read(ends[0], text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    snprintf(expected, sizeof expected,
             "level=warning event=log-lines-lost count=%d\n"
             "level=info event=again\n",
             LINES - shown);
    assert_string_equal(text, expected);
    close(ends[0]);
}
