/* GET of totals while an entry that they still hold has expired: the answer has
 * no ETag, and is not that a client's copy is current. The Makefile puts
 * __wrap_X where the core calls X. */
#include "exchange_house.h"

#include <stdatomic.h>

#include "store/expire_job.h"

static const int64_t NOON_MS = 1000000;

void __real_expire_job_step(struct writer *writer);
void __wrap_expire_job_step(struct writer *writer);

static atomic_bool held; /* nothing is removed */

void __wrap_expire_job_step(struct writer *writer)
{
    if (!atomic_load(&held))
        __real_expire_job_step(writer);
}

/* Sends a request and checks the reply's status. Returns its ETag, or NULL. */
static const char *answer(enum method method, const char *target,
                          const char *body, int status, const char *text)
{
    const char *tag = NULL;
    unsigned ready = house->ready;
    struct exchange *exchange = begin_request(method, target, kx_text(body));
    if (exchange_run(exchange) == EXCHANGE_PARK)
        wait_for_ready(ready + 1);
    const struct reply *reply = &exchange->reply;
    for (size_t i = 0; i < reply->header_count; i++)
        if (strcmp(reply->headers[i].name, "ETag") == 0)
            tag = talloc_strdup(house->mem, reply->headers[i].value);
    assert_reply(exchange, status, text);
    return tag;
}

static const char *get_totals(const char *if_none_match, int status,
                              const char *text)
{
    house->if_none_match = if_none_match;
    const char *tag = answer(METHOD_GET, "/kv/n", "", status, text);
    house->if_none_match = NULL;
    return tag;
}

/* Stores one entry that stays and one that expires. */
static int begin_totals(void **state)
{
    begin_house(state);
    kx_clock_set(NOON_MS);
    atomic_store(&held, true);
    house->prefer = "wait=60";
    answer(METHOD_POST, "/indexes",
           "{\"name\":\"n\",\"prefix\":[\"t\"],\"fields\":[],"
           "\"store\":{\"aggregate\":{\"count\":true}}}",
           201, "ready");
    house->prefer = NULL;
    answer(METHOD_PUT, "/kv/t/1", "1", 201, "");
    answer(METHOD_PUT, "/kv/t/2?ttl=1s", "1", 201, "");
    return 0;
}

static int finish_totals(void **state)
{
    kx_clock_set(0);
    return finish_house(state);
}

TEST_WITH(etag_of_totals_changes_when_a_member_expires, begin_totals,
          finish_totals)
{
    const char *before = get_totals(NULL, 200, "{\"count\":2}");
    assert_non_null(before);
    assert_string_equal(get_totals(before, 304, ""), before);
    kx_clock_set(NOON_MS + 1000);
    assert_null(get_totals(before, 200, "{\"count\":1}"));
    assert_null(get_totals(NULL, 200, "{\"count\":1}"));
    assert_null(get_totals("*", 304, ""));
    atomic_store(&held, false);
    const char *after = NULL;
    while ((after = get_totals(before, 200, "{\"count\":1}")) == NULL)
        usleep(1000);
    assert_string_equal(get_totals(after, 304, ""), after);
}
