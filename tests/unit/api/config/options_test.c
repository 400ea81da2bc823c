/* Options: what each type takes, which source wins, and what is refused. */
#include "config/options.h"
#include "kindex.h"
#include "unit.h"

#include <netinet/in.h>
#include <unistd.h>

/* Reads options from a command line; the program's complaints are dropped. */
static bool read_line(struct options *options, int count, char **words)
{
    fflush(stderr);
    int shown = dup(STDERR_FILENO);
    assert_non_null(freopen("/dev/null", "w", stderr));
    bool read = options_read(options, count, words);
    fflush(stderr);
    assert_int_equal(dup2(shown, STDERR_FILENO), STDERR_FILENO);
    close(shown);
    return read;
}

static bool read_one(struct options *options, const char *flag,
                     const char *value)
{
    char *words[] = {"serve", (char *)flag, (char *)value, NULL};
    return read_line(options, value == NULL ? 2 : 3, words);
}

/* Addresses with a space between them. */
static void listens_on(const struct options *options, const char *expected)
{
    char texts[ADDRESSES_MAX * (ADDRESS_TEXT_MAX + 1) + 1] = "";
    for (size_t i = 0; i < options->listen.count; i++) {
        char text[ADDRESS_TEXT_MAX];
        address_print(&options->listen.all[i], text);
        strcat(strcat(texts, i > 0 ? " " : ""), text);
    }
    assert_string_equal(texts, expected);
}

TEST(every_option_is_optional)
{
    struct options options;
    char *words[] = {"serve", NULL};
    assert_true(read_line(&options, 1, words));
    assert_string_equal(options.data, "./kindex-data");
    assert_int_equal(options.cache, 256 << 20);
    assert_int_equal(options.idle_timeout_ms, 60000);
    assert_int_equal(options.log_level, KX_LOG_INFO);
    assert_null(addresses_open(&options.listen));
    listens_on(&options, "127.0.0.1:4512 [::1]:4512");
    assert_false(options.insecure);
    assert_null(options.port_file);
}

TEST(sizes_and_durations_accept_units)
{
    static const struct {
        const char *flag, *value;
        size_t offset;
        uint64_t amount;
    } cases[] = {
        {"--value-max", "1", offsetof(struct options, value_max), 1},
        {"--value-max", "64KiB", offsetof(struct options, value_max), 65536},
        {"--value-max", "5kB", offsetof(struct options, value_max), 5000},
        {"--cache", "1GiB", offsetof(struct options, cache), 1u << 30},
        {"--cache", "1G", offsetof(struct options, cache), 1u << 30},
        {"--cache", "64M", offsetof(struct options, cache), 64 << 20},
        {"--value-max", "64K", offsetof(struct options, value_max), 65536},
        {"--idle-timeout", "1500ms", offsetof(struct options, idle_timeout_ms),
         1500},
        {"--idle-timeout", "2m", offsetof(struct options, idle_timeout_ms),
         120000},
        {"--loops", "64", offsetof(struct options, loops), 64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        assert_true(read_one(&options, cases[i].flag, cases[i].value));
        assert_int_equal(*(uint64_t *)((char *)&options + cases[i].offset),
                         cases[i].amount);
    }
}

TEST(options_reject_values_of_wrong_type)
{
    static const char *const cases[][2] = {
        {"--cache", ""},
        {"--cache", "lots"},
        {"--cache", "-1"},
        {"--cache", "1 MiB"},
        {"--cache", "1mib"},
        {"--cache", "1KiB"}, /* less than the least */
        {"--cache", "99999999999999999999"},
        {"--cache", "18446744073709551615GiB"},
        {"--idle-timeout", "60"},
        {"--idle-timeout", "1ms"},
        {"--loops", "0"},
        {"--loops", "65"},
        {"--loops", "1x"},
        {"--log-level", "loud"},
        {"--data", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        assert_false(read_one(&options, cases[i][0], cases[i][1]));
    }
}

TEST(listen_takes_numeric_host_and_port)
{
    static const struct {
        const char *text;
        const char *addresses; /* NULL: it is none */
    } cases[] = {
        {"127.0.0.1:4512", "127.0.0.1:4512"},
        {"127.9.9.9:0", "127.9.9.9:0"},
        {"[::1]:65535", "[::1]:65535"},
        {"localhost:80", "127.0.0.1:80 [::1]:80"},
        {":4512", "127.0.0.1:4512 [::1]:4512"},
        {"4512", "127.0.0.1:4512 [::1]:4512"},
        {"0.0.0.0:1 , [::]:2", "0.0.0.0:1 [::]:2"},
        {"", NULL},
        {":", NULL},
        {"localhost", NULL},
        {"65536", NULL},
        {"80,", NULL},
        {",80", NULL},
        {"80 81", NULL},
        {"127.0.0.1", NULL},
        {"127.0.0.1:", NULL},
        {"127.0.0.1:65536", NULL},
        {"127.0.0.1:-1", NULL},
        {"127.0.0.1:0x10", NULL},
        {"127.0.0.256:80", NULL},
        {"::1:80", NULL},
        {"[::1:80", NULL},
        {"[]:80", NULL},
        {"[:80", NULL},
        {"example.org:80", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        bool valid = read_one(&options, "--listen", cases[i].text);
        assert_int_equal(valid, cases[i].addresses != NULL);
        if (valid)
            listens_on(&options, cases[i].addresses);
    }
}

TEST(listen_addresses_come_from_one_source)
{
    struct options options;
    char *words[] = {
        "serve", "--listen", "8080", "--listen", "[::1]:1, 192.0.2.1:2", NULL};
    setenv("KINDEX_LISTEN", "127.0.0.1:3,[::1]:3", 1);
    assert_true(read_line(&options, 1, words));
    listens_on(&options, "127.0.0.1:3 [::1]:3");
    assert_true(read_line(&options, 5, words));
    listens_on(&options, "127.0.0.1:8080 [::1]:8080 [::1]:1 192.0.2.1:2");
    assert_string_equal(options.listen.text, "8080,[::1]:1, 192.0.2.1:2");
    unsetenv("KINDEX_LISTEN");
    assert_true(read_one(&options, "--listen", "1,2,3,4"));
    assert_int_equal(options.listen.count, ADDRESSES_MAX);
    assert_false(read_one(&options, "--listen", "1,2,3,4,5"));
    assert_false(read_one(&options, "--listen", "1,2,3,4,[::1]:5"));
}

/* The rule that needs a token looks at each of them. */
TEST(addresses_open_finds_first_non_loopback_address)
{
    struct options options;
    char *words[] = {"serve", "--listen", "4512,0.0.0.0:4513", "--insecure",
                     NULL};
    assert_true(read_line(&options, 4, words));
    assert_true(options.insecure);
    assert_ptr_equal(addresses_open(&options.listen), &options.listen.all[2]);
}

TEST(flag_overrides_variable_overrides_default)
{
    struct options options;
    setenv("KINDEX_VALUE_MAX", "2MiB", 1);
    setenv("KINDEX_BODY_MAX", "3MiB", 1);
    bool read = read_one(&options, "--value-max", "4MiB");
    setenv("KINDEX_BODY_MAX", "much", 1);
    struct options other;
    bool wrong = read_one(&other, "--value-max", "4MiB");
    unsetenv("KINDEX_VALUE_MAX");
    unsetenv("KINDEX_BODY_MAX");
    assert_true(read);
    assert_false(wrong);
    assert_int_equal(options.value_max, 4 << 20);
    assert_int_equal(options.body_max, 3 << 20);
}

TEST(variable_is_named_after_its_flag)
{
    size_t count;
    const struct option_row *table = options_table(&count);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        option_variable(&table[i], name, sizeof name);
        if (strcmp(table[i].name, "idle-timeout") == 0)
            assert_string_equal(name, "KINDEX_IDLE_TIMEOUT");
        assert_memory_equal(name, "KINDEX_", 7);
    }
}

TEST(unknown_options_are_refused)
{
    struct options options;
    assert_false(read_one(&options, "--unknown", NULL));
    assert_false(read_one(&options, "--port", "8080")); /* --port-file */
    assert_false(read_one(&options, "-d", NULL));
    assert_false(read_one(&options, "stray", NULL));
    assert_false(read_one(&options, "--cache", NULL));
    assert_false(read_one(&options, "--insecure=1", NULL));
    assert_true(read_one(&options, "--help", NULL));
    assert_true(options.help);
}
