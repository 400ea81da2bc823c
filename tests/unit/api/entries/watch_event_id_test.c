/* The id of a watch's event is written and read back. */
#include "entries/watch.h"
#include "unit.h"

#include <talloc.h>

TEST(watch_event_id_reads_what_it_writes)
{
    const uint64_t stamps[] = {1, 0, WATCH_EVENT_ID_NOTHING,
                               0x123456789abcdef0};
    const char *const text = "00000000000000010000,-,-,123456789abcdef00000";
    uint64_t read[4];
    struct kx_buffer out;
    kx_buffer_init(&out, NULL);
    watch_event_id_write(stamps, 4, &out);
    assert_int_equal(out.size, strlen(text));
    assert_memory_equal(out.data, text, out.size);
    assert_true(watch_event_id_read(kx_buffer_slice(&out), read, 4));
    assert_true(read[0] == stamps[0] && read[1] == 0 && read[2] == 0 &&
                read[3] == stamps[3]);
    kx_buffer_free(&out);
}

TEST(watch_event_id_rejects_other_texts)
{
    static const char *const texts[] = {
        "",
        ",",
        "-",
        "-,",
        ",-",
        "-,-,",
        "-,-,-",
        "--",
        "-, -",
        "-,0",
        "-,0000000000000001000",
        "-,000000000000000100000",
        "-,0000000000000001000g",
        "00000000000000010000",
        "00000000000000010000,00000000000000010000,",
    };
    uint64_t read[2];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(watch_event_id_read(kx_text(texts[i]), read, 2));
    assert_true(
        watch_event_id_read(kx_text("-,00000000000000010000"), read, 2));
}
