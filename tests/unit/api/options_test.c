/* Options: what each type takes, who wins, and what is refused. */
#include "options.h"
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

static void nothing_needs_to_be_given(void **state)
{
    (void)state;
    struct options options;
    char *words[] = {"serve", NULL};
    assert_true(read_line(&options, 1, words));
    assert_string_equal(options.data, "./kindex-data");
    assert_int_equal(options.cache, 256 << 20);
    assert_int_equal(options.idle_timeout_ms, 60000);
    assert_int_equal(options.log_level, KX_LOG_INFO);
    assert_true(options.listen.loopback);
    assert_false(options.insecure);
    assert_null(options.port_file);
}

static void amounts_have_units(void **state)
{
    (void)state;
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

static void what_is_no_value_of_the_type_is_refused(void **state)
{
    (void)state;
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

static void an_address_has_a_numeric_host_and_a_port(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool valid;
        int family;
        unsigned port;
    } cases[] = {
        {"127.0.0.1:4512", true, AF_INET, 4512},
        {"127.9.9.9:0", true, AF_INET, 0},
        {"localhost:80", true, AF_INET, 80},
        {"[::1]:65535", true, AF_INET6, 65535},
        {"127.0.0.1", false, 0, 0},
        {"127.0.0.1:", false, 0, 0},
        {":4512", false, 0, 0},
        {"127.0.0.1:65536", false, 0, 0},
        {"127.0.0.1:-1", false, 0, 0},
        {"127.0.0.1:0x10", false, 0, 0},
        {"127.0.0.256:80", false, 0, 0},
        {"::1:80", false, 0, 0},
        {"[::1:80", false, 0, 0},
        {"[]:80", false, 0, 0},
        {"example.org:80", false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        bool valid = read_one(&options, "--listen", cases[i].text);
        assert_int_equal(valid, cases[i].valid);
        if (!valid)
            continue;
        const struct sockaddr_in *four = (void *)&options.listen.socket;
        assert_int_equal(options.listen.socket.ss_family, cases[i].family);
        assert_int_equal(ntohs(four->sin_port), cases[i].port);
    }
}

static void an_open_address_is_told_apart(void **state)
{
    (void)state;
    struct options options;
    char *words[] = {"serve", "--listen", "0.0.0.0:4512", "--insecure", NULL};
    assert_true(read_line(&options, 4, words));
    assert_true(options.insecure);
    assert_false(options.listen.loopback);
}

static void a_flag_wins_over_a_variable_over_the_default(void **state)
{
    (void)state;
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

static void a_variable_is_named_after_its_flag(void **state)
{
    (void)state;
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

static void what_is_no_option_is_refused(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_needs_to_be_given),
        cmocka_unit_test(amounts_have_units),
        cmocka_unit_test(what_is_no_value_of_the_type_is_refused),
        cmocka_unit_test(an_address_has_a_numeric_host_and_a_port),
        cmocka_unit_test(an_open_address_is_told_apart),
        cmocka_unit_test(a_flag_wins_over_a_variable_over_the_default),
        cmocka_unit_test(a_variable_is_named_after_its_flag),
        cmocka_unit_test(what_is_no_option_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
