/* Versionstamps in a list, both ways. */
#include "entries/watch_event_id.h"

void watch_event_id_write(const uint64_t *stamps, size_t count,
                          struct kx_buffer *out)
{
    char text[KX_STAMP_DIGITS];
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            kx_add_byte(out, ',');
        if (stamps[i] == 0 || stamps[i] == WATCH_EVENT_ID_NOTHING) {
            kx_add_byte(out, '-');
            continue;
        }
        kx_stamp_text(stamps[i], text);
        kx_add(out, text, sizeof text);
    }
}

static bool read_one(struct kx_slice text, uint64_t *stamp_out)
{
    if (kx_equal(text, kx_text("-"))) {
        *stamp_out = 0;
        return true;
    }
    return kx_stamp_parse(text, stamp_out);
}

bool watch_event_id_read(struct kx_slice text, uint64_t *stamps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *comma =
            text.size > 0 ? memchr(text.data, ',', text.size) : NULL;
        bool last = i + 1 == count;
        if (last != (comma == NULL))
            return false;
        size_t size = last ? text.size : (size_t)(comma - text.data);
        if (!read_one(kx_slice(text.data, size), &stamps[i]))
            return false;
        if (!last)
            text = kx_slice(comma + 1, text.size - size - 1);
    }
    return true;
}
