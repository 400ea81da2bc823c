/* Lines of a pipe: how the bytes arrive makes no difference. */
#include "cli/bulk/cli_ndjson.h"
#include "unit.h"

#include <errno.h>
#include <talloc.h>
#include <unistd.h>

enum { LONG_LINE = 100000 };

struct input {
    void *memory;
    int ends[2]; /* of the pipe: to read from, to write to */
    struct cli_lines lines;
};

static void begin(struct input *input)
{
    input->memory = talloc_new(NULL);
    assert_int_equal(pipe(input->ends), 0);
    cli_lines_begin(&input->lines, input->ends[0], input->memory);
}

static void end(struct input *input)
{
    close(input->ends[0]);
    talloc_free(input->memory);
}

static void arrive(struct input *input, const char *text)
{
    size_t size = strlen(text);
    assert_int_equal(write(input->ends[1], text, size), size);
    assert_true(cli_lines_readable(&input->lines));
    assert_true(cli_lines_read(&input->lines));
}

static void expect_line(struct input *input, const char *text)
{
    struct kx_slice line;
    assert_true(cli_lines_next(&input->lines, &line));
    assert_true(kx_equal(line, kx_text(text)));
}

static void expect_none(struct input *input)
{
    struct kx_slice line;
    assert_false(cli_lines_next(&input->lines, &line));
}

TEST(lines_returns_line_once_its_end_has_arrived)
{
    struct input input;
    begin(&input);
    expect_none(&input);
    assert_false(cli_lines_readable(&input.lines));
    arrive(&input, "a");
    expect_none(&input);
    arrive(&input, "b\n\nc");
    expect_line(&input, "ab\n");
    expect_line(&input, "\n");
    expect_none(&input);
    arrive(&input, "d\n");
    expect_line(&input, "cd\n");
    close(input.ends[1]);
    assert_true(cli_lines_read(&input.lines));
    assert_true(input.lines.ended);
    expect_none(&input);
    end(&input);
}

TEST(lines_accepts_last_line_without_end)
{
    struct input input;
    begin(&input);
    arrive(&input, "a\nb");
    close(input.ends[1]);
    assert_true(cli_lines_readable(&input.lines));
    assert_true(cli_lines_read(&input.lines));
    expect_line(&input, "a\n");
    expect_line(&input, "b");
    expect_none(&input);
    end(&input);
}

TEST(lines_returns_line_that_was_put_back)
{
    struct input input;
    struct kx_slice line;
    begin(&input);
    arrive(&input, "a\nbc\nd");
    expect_line(&input, "a\n");
    assert_true(cli_lines_next(&input.lines, &line));
    cli_lines_back(&input.lines, line);
    arrive(&input, "\n");
    expect_line(&input, "bc\n");
    expect_line(&input, "d\n");
    close(input.ends[1]);
    end(&input);
}

TEST(lines_joins_line_longer_than_one_read)
{
    struct input input;
    static char piece[LONG_LINE / 10 + 1];
    struct kx_slice line;
    begin(&input);
    memset(piece, 'x', sizeof piece - 1);
    arrive(&input, "before\n");
    expect_line(&input, "before\n");
    for (int i = 0; i < 10; i++) {
        expect_none(&input);
        arrive(&input, piece);
    }
    arrive(&input, "\n");
    assert_true(cli_lines_next(&input.lines, &line));
    assert_int_equal(line.size, LONG_LINE + 1);
    close(input.ends[1]);
    end(&input);
}

TEST(lines_reports_unreadable_input)
{
    struct input input;
    begin(&input);
    input.lines.fd = input.ends[1];
    assert_false(cli_lines_read(&input.lines));
    assert_int_equal(errno, EBADF);
    close(input.ends[1]);
    end(&input);
}
