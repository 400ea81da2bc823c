/* One or two versionstamps, both ways. */
#include "feeds/feed_position.h"

static void add_stamp(uint64_t stamp, struct kx_buffer *out)
{
    char text[KX_STAMP_DIGITS];
    kx_stamp_text(stamp, text);
    kx_add(out, text, sizeof text);
}

void feed_position_write(const struct feed_position *position,
                         struct kx_buffer *out)
{
    add_stamp(position->stamp, out);
    if (position->began <= position->stamp)
        return;
    kx_add_byte(out, ',');
    add_stamp(position->began, out);
}

bool feed_position_read(struct kx_slice text,
                        struct feed_position *position_out)
{
    const size_t second = KX_STAMP_DIGITS + 1;
    *position_out = (struct feed_position){0};
    if (text.size < second)
        return kx_stamp_parse(text, &position_out->stamp);
    return text.data[KX_STAMP_DIGITS] == ',' &&
           kx_stamp_parse(kx_slice(text.data, KX_STAMP_DIGITS),
                          &position_out->stamp) &&
           kx_stamp_parse(kx_slice(text.data + second, text.size - second),
                          &position_out->began);
}

bool feed_position_is_gone(const struct feed_position *position,
                           const struct kx_changes *changes)
{
    return position->stamp > changes->stamp ||
           position->began > changes->stamp ||
           (changes->history > position->stamp &&
            changes->history > position->began);
}
