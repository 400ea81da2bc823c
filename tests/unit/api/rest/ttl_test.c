/* Times to live, and ULIDs. */
#include "rest/ttl.h"
#include "entries/kv.h"
#include "unit.h"

static const struct {
    const char *text;
    int64_t ms; /* 0: refused */
} CASES[] = {
    {"1ms", 1},
    {"250ms", 250},
    {"60s", 60000},
    {"5m", 300000},
    {"1h", 3600000},
    {"7d", 604800000},
    {"36500d", TTL_MAX_MS},
    {"36501d", 0},
    {"99999999999999999999ms", 0},
    {"0s", 0},
    {"", 0},
    {"60", 0},
    {"s", 0},
    {"-1s", 0},
    {"+1s", 0},
    {"1.5s", 0},
    {"1 s", 0},
    {"1S", 0},
    {"1w", 0},
    {"1s ", 0},
};

TEST(ttl_is_number_with_unit)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct input_error error;
        int64_t ms = 0;
        bool taken = ttl_read(kx_text(CASES[i].text), PROBLEM_BAD_PARAMETER,
                              &ms, &error);
        if (taken != (CASES[i].ms != 0) || ms != CASES[i].ms)
            fail_msg("\"%s\" is %lld ms", CASES[i].text, (long long)ms);
        if (!taken)
            assert_int_equal(error.code, PROBLEM_BAD_PARAMETER);
    }
}

TEST(ulids_increase_when_the_clock_goes_back)
{
    static const int64_t TIMES[] = {1000, 1000, 1000, 900, 2000, 1999, 2000};
    char before[ULID_SIZE] = {0};
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        char next[ULID_SIZE];
        kx_clock_set(TIMES[i]);
        ulid_next(next);
        assert_true(memcmp(before, next, ULID_SIZE) < 0);
        memcpy(before, next, ULID_SIZE);
    }
    kx_clock_set(0);
}

TEST(ulid_begins_with_its_time)
{
    char ulid[ULID_SIZE];
    kx_clock_set(INT64_C(1469918176385)); /* the example of the ULID page */
    ulid_next(ulid);
    assert_memory_equal(ulid, "01ARYZ6S41", 10);
    kx_clock_set(0);
}
