/* POST /get of many bytes: it is read in one view and written in turns, and
 * what it shows is what it would show if it were written at once.
 */
#include "exchange_house.h"

#include <poll.h>

#include "entries/entry_writer.h"
#include "exchange/exchange_loop.h"
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/protobuf.h"

enum { ENTRIES = 8, SIZE = 200000 };

static struct exchange *post_get(const char *body)
{
    return start(METHOD_POST, "/get", kx_text(body), EXCHANGE_REPLY);
}

static void put(const char *target, const char *body)
{
    unsigned ready = house->ready;
    struct exchange *exchange =
        start(METHOD_PUT, target, kx_text(body), EXCHANGE_PARK);
    wait_for_ready(ready + 1);
    assert_reply(exchange, exchange->reply.status, "\"ok\":true");
}

static void put_large(int i, char letter)
{
    char *value = talloc_array(house->mem, char, SIZE + 1);
    memset(value, letter, SIZE);
    value[0] = value[SIZE - 1] = '"';
    value[SIZE] = '\0';
    put(talloc_asprintf(house->mem, "/kv/r/=%d", i), value);
}

/* The same while another exchange waits for its turn, which does not come. */
static void put_between_turns(const char *target, const char *body)
{
    struct pollfd answers = {.fd = house->queue.answers_fd, .events = POLLIN};
    struct exchange *exchange =
        start(METHOD_PUT, target, kx_text(body), EXCHANGE_PARK);
    while (exchange->phase != EXCHANGE_READY) {
        poll(&answers, 1, -1);
        exchange_loop_answers(&house->queue);
    }
    assert_reply(exchange, 200, "\"ok\":true");
}

/* Lets the exchange have its turns; what each of them writes is bounded. */
static unsigned take_turns(struct exchange *exchange)
{
    unsigned turns = 0;
    while (exchange->phase != EXCHANGE_READY) {
        size_t before = exchange->reply.body.size;
        bool turn = exchange->awaits == AWAITS_TURN;
        exchange_loop_answers(&house->queue);
        exchange_loop_turns(&house->queue);
        if (!turn)
            continue;
        turns++;
        assert_true(exchange->reply.body.size <=
                    before + ENTRY_WRITER_SLICE + 2 * SIZE);
    }
    return turns;
}

/* The text of one entry, which is small enough to be written at once. */
static const char *text_of_entry(int i)
{
    struct exchange *exchange =
        post_get(talloc_asprintf(house->mem, "{\"keys\":[[\"r\",%d]]}", i));
    struct kx_slice entry;
    assert_true(kx_json_find(reply_bytes(&exchange->reply),
                             kx_text("/entries/0"), &entry));
    char *text =
        talloc_strndup(house->mem, (const char *)entry.data, entry.size);
    exchange_end(exchange);
    return text;
}

/* Keys, those without an entry between them, and pages. A commit after the view
 * is not shown. */
TEST_WITH(get_many_in_turns_shows_one_view, begin_house, finish_house)
{
    char *asked = talloc_strdup(house->mem, "{\"keys\":[");
    char *expected = talloc_strdup(house->mem, "{\"entries\":[");
    const char *texts[ENTRIES];
    struct kx_slice cursor;
    for (int i = 0; i < ENTRIES; i++) {
        put_large(i, (char)('a' + i));
        texts[i] = text_of_entry(i);
        asked = talloc_asprintf_append(asked, "[\"none\"],[\"r\",%d]%s", i,
                                       i + 1 < ENTRIES ? "," : "");
        expected = talloc_asprintf_append(
            expected,
            "{\"key\":[\"none\"],\"value\":null,\"versionstamp\":null},%s%s",
            texts[i], i + 1 < ENTRIES ? "," : "");
    }
    asked = talloc_asprintf_append(
        asked, "],\"ranges\":[{\"prefix\":[\"none\"]},{\"prefix\":[\"r\"],"
               "\"limit\":2},{\"prefix\":[\"r\"],\"reverse\":true}]}");
    struct exchange *exchange =
        start(METHOD_POST, "/get", kx_text(asked), EXCHANGE_PARK);
    assert_int_equal(exchange->awaits, AWAITS_TURN);
    put_between_turns("/kv/r/=7", "\"z\"");
    assert_true(take_turns(exchange) > ENTRIES / 2);
    struct kx_slice body = reply_bytes(&exchange->reply);
    assert_true(kx_json_find(body, kx_text("/ranges/1/cursor"), &cursor));
    expected = talloc_asprintf_append(
        expected,
        "],\"ranges\":[{\"entries\":[],\"cursor\":null,\"more\":false},"
        "{\"entries\":[%s,%s],\"cursor\":%.*s,\"more\":true},{\"entries\":[",
        texts[0], texts[1], (int)cursor.size, (const char *)cursor.data);
    for (int i = ENTRIES - 1; i >= 0; i--)
        expected = talloc_asprintf_append(expected, "%s%s", texts[i],
                                          i > 0 ? "," : "");
    expected =
        talloc_asprintf_append(expected, "],\"cursor\":null,\"more\":false}]}");
    assert_int_equal(body.size, strlen(expected));
    assert_memory_equal(body.data, expected, body.size);
    assert_reply(exchange, 200, "");
}

/* Writes new Array(900000).fill(undefined) as Deno does. */
static void put_undefined(void)
{
    enum { ELEMENTS = 900000 };
    static const char ELEMENTS_VARINT[] = "\xa0\xf7\x36";
    struct kx_buffer value, wrapped, mutation, body;
    kx_buffer_init(&value, house->mem);
    kx_buffer_init(&wrapped, house->mem);
    kx_buffer_init(&mutation, house->mem);
    kx_buffer_init(&body, house->mem);
    kx_add_text(&value, "\xff\x0f"
                        "A");
    kx_add_text(&value, ELEMENTS_VARINT);
    for (int i = 0; i < ELEMENTS; i++)
        kx_add_byte(&value, '_');
    kx_add(&value, "$", 2); /* no properties */
    kx_add_text(&value, ELEMENTS_VARINT);
    protobuf_bytes(1, kx_buffer_slice(&value), &wrapped);
    protobuf_number(2, DATAPATH__VALUE_ENCODING__VE_V8, &wrapped);
    protobuf_bytes(1, test_key(house->mem, "[\"r\",2]"), &mutation);
    protobuf_bytes(2, kx_buffer_slice(&wrapped), &mutation);
    protobuf_number(3, DATAPATH__MUTATION_TYPE__M_SET, &mutation);
    protobuf_bytes(2, kx_buffer_slice(&mutation), &body);
    unsigned ready = house->ready;
    struct exchange *exchange = start(METHOD_POST, "/v2/atomic_write",
                                      kx_buffer_slice(&body), EXCHANGE_PARK);
    wait_for_ready(ready + 1);
    assert_reply(exchange, 200, "\x08\x01");
}

/* The value takes few bytes, and its text many: only when it is written does
 * the reply turn out to be too large. */
TEST_WITH(get_many_in_turns_limits_its_text, begin_house, finish_house)
{
    put_large(0, 'a');
    put_large(1, 'b');
    put_undefined();
    struct exchange *exchange = start(
        METHOD_POST, "/get",
        kx_text("{\"keys\":[[\"r\",0],[\"r\",1],[\"r\",2]]}"), EXCHANGE_PARK);
    assert_int_equal(exchange->awaits, AWAITS_TURN);
    while (exchange->phase != EXCHANGE_READY)
        exchange_loop_turns(&house->queue);
    assert_reply(exchange, 413, "\"limit\":16777216");
}
