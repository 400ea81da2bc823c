/* Bigint parts: decimal text to bytes and back. */
#include "kindex.h"
#include "unit.h"

/* 2^2040 - 1, the largest magnitude, and 2^2040. */
static const char largest[] =
    "1262383049660586222684174870651169998454847760535761095005091618262681"
    "8413620269880155156801376138071753405453485116413864890452793160516052"
    "7688095259563605939964364716019515983399209962459578542172100149937763"
    "9385812196040727334225071800560096725409007095541095168165737795933263"
    "3228831487325155907785306844497786480339196258080068276001784958928193"
    "7637993445539366428356761821065267423102149447628375691862210717202025"
    "2416303031185591886783043140769438016925282469809597059016414442388949"
    "2862082548230343180695569022630877342682950390093052939518120873959196"
    "7195841536053143145775307050594328881077553168201547775";
static const char too_large[] =
    "1262383049660586222684174870651169998454847760535761095005091618262681"
    "8413620269880155156801376138071753405453485116413864890452793160516052"
    "7688095259563605939964364716019515983399209962459578542172100149937763"
    "9385812196040727334225071800560096725409007095541095168165737795933263"
    "3228831487325155907785306844497786480339196258080068276001784958928193"
    "7637993445539366428356761821065267423102149447628375691862210717202025"
    "2416303031185591886783043140769438016925282469809597059016414442388949"
    "2862082548230343180695569022630877342682950390093052939518120873959196"
    "7195841536053143145775307050594328881077553168201547776";

/* Encodes the text, reads the part back and writes it into out. */
static enum kx_status there_and_back(const char *text, struct kx_buffer *out)
{
    struct kx_buffer key;
    struct kx_key_reader reader;
    struct kx_part part;
    kx_buffer_init(&key, out->owner);
    enum kx_status status = kx_key_add_bigint(&key, kx_text(text));
    if (status != KX_OK) {
        assert_int_equal(key.size, 0);
        return status;
    }
    assert_int_equal(kx_key_check(kx_buffer_slice(&key), NULL), KX_OK);
    kx_key_read(&reader, kx_buffer_slice(&key));
    assert_int_equal(kx_key_next(&reader, &part), KX_OK);
    assert_int_equal(part.type, KX_BIGINT);
    kx_bigint_decimal(&part, out);
    kx_buffer_free(&key);
    return KX_OK;
}

TEST_WITH(bigint_key_parts_read_back_in_their_shortest_form, memory_open,
          memory_close)
{
    static const struct {
        const char *text;
        const char *back;
    } cases[] = {
        {"0", "0"},
        {"-0", "0"},
        {"000", "0"},
        {"-000", "0"},
        {"007", "7"},
        {"-0042", "-42"},
        {"1", "1"},
        {"-1", "-1"},
        {"9", "9"},
        {"10", "10"},
        {"255", "255"},
        {"256", "256"},
        {"-256", "-256"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "18446744073709551616"},
        {"-18446744073709551617", "-18446744073709551617"},
        {"100000000000000000000000000000000000000000",
         "100000000000000000000000000000000000000000"},
        {largest, largest},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_buffer out;
        kx_buffer_init(&out, *state);
        assert_int_equal(there_and_back(cases[i].text, &out), KX_OK);
        if (!kx_equal(kx_buffer_slice(&out), kx_text(cases[i].back)))
            fail_msg("%s became %.*s", cases[i].text, (int)out.size,
                     (const char *)out.data);
        kx_buffer_free(&out);
    }
}

TEST_WITH(bigint_key_part_rejects_other_texts, memory_open, memory_close)
{
    static const char *const texts[] = {
        "",   "-",   "--1", "+1",  "1n",  "1.0",      "1e3", "0x1f",
        " 1", "1 ",  "a",   "1-",  "1_0", "\xd9\xa1", "/",   ":",
        "-a", "12a", "1\n", "-+1", "0-1", "9:",
    };
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (there_and_back(texts[i], &out) != KX_BAD_KEY)
            fail_msg("\"%s\" was accepted", texts[i]);
    assert_int_equal(kx_key_add_bigint(&out, kx_slice(NULL, 0)), KX_BAD_KEY);
    assert_int_equal(kx_key_add_bigint(&out, kx_slice("1\0", 2)), KX_BAD_KEY);
    kx_buffer_free(&out);
}

TEST_WITH(bigint_key_part_has_at_most_255_bytes, memory_open, memory_close)
{
    struct kx_buffer out;
    char text[1000] = "-";
    kx_buffer_init(&out, *state);
    assert_int_equal(there_and_back(too_large, &out), KX_BAD_KEY);
    strcat(text, too_large);
    assert_int_equal(there_and_back(text, &out), KX_BAD_KEY);
    strcpy(text + 1, largest);
    assert_int_equal(there_and_back(text, &out), KX_OK);
    assert_true(kx_equal(kx_buffer_slice(&out), kx_text(text)));
    kx_buffer_free(&out);

    memset(text, '9', 615);
    text[615] = '\0';
    assert_int_equal(there_and_back(text, &out), KX_BAD_KEY);
    memset(text, '0', 998);
    strcpy(text + 998, "5");
    assert_int_equal(there_and_back(text, &out), KX_OK);
    assert_true(kx_equal(kx_buffer_slice(&out), kx_text("5")));
    kx_buffer_free(&out);
}

TEST_WITH(key_rejects_bigint_magnitude_over_255_bytes, memory_open,
          memory_close)
{
    uint8_t bytes[300];
    struct kx_buffer key;
    memset(bytes, 0xff, sizeof(bytes));
    kx_buffer_init(&key, *state);
    for (size_t size = 250; size <= sizeof(bytes); size++) {
        struct kx_part part = {.type = KX_BIGINT,
                               .bytes = kx_slice(bytes, size),
                               .negative = size % 2};
        assert_int_equal(kx_key_add(&key, &part),
                         size <= 255 ? KX_OK : KX_BAD_KEY);
        assert_int_equal(key.size, size <= 255 ? size + 2 : 0);
        key.size = 0;
    }
    kx_buffer_free(&key);
}

TEST_WITH(leading_zeros_of_a_bigint_magnitude_do_not_count, memory_open,
          memory_close)
{
    static const uint8_t bytes[300] = {[298] = 1, [299] = 0};
    struct kx_part part = {.type = KX_BIGINT, .bytes = kx_slice(bytes, 300)};
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    assert_int_equal(kx_key_add(&key, &part), KX_OK);
    assert_true(kx_equal(kx_buffer_slice(&key), kx_slice("\x16\x01\x00", 3)));
    key.size = 0;
    kx_bigint_decimal(&part, &key);
    assert_true(kx_equal(kx_buffer_slice(&key), kx_text("256")));
    key.size = 0;
    part.bytes.size = 100;
    part.negative = true;
    kx_bigint_decimal(&part, &key);
    assert_int_equal(kx_key_add(&key, &part), KX_OK);
    assert_true(kx_equal(kx_buffer_slice(&key), kx_text("0\x14")));
    kx_buffer_free(&key);
}

TEST_WITH(random_bigint_key_parts_survive_a_round_trip, memory_open,
          memory_close)
{
    uint64_t seed = random_seed("bigint");
    for (int i = 0; i < 3000; i++) {
        char text[700] = "";
        size_t size = 0;
        if (random_below(&seed, 2))
            text[size++] = '-';
        text[size++] = (char)('1' + random_below(&seed, 9));
        for (size_t n = random_below(&seed, 613); n > 0; n--)
            text[size++] = (char)('0' + random_below(&seed, 10));
        struct kx_buffer out;
        kx_buffer_init(&out, *state);
        assert_int_equal(there_and_back(text, &out), KX_OK);
        if (!kx_equal(kx_buffer_slice(&out), kx_text(text)))
            fail_msg("%s became %.*s", text, (int)out.size,
                     (const char *)out.data);
        kx_buffer_free(&out);
    }
}
