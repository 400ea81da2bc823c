/* The classes of each byte, and host names checked by them. */
#include "http/char_class.h"

const uint8_t CHAR_CLASS[256] = {
    ['0' ... '9'] = TOKEN | NAMED | DIGIT | LITERAL,
    ['a' ... 'f'] = TOKEN | NAMED | LITERAL,
    ['A' ... 'F'] = TOKEN | NAMED | LITERAL,
    ['g' ... 'z'] = TOKEN | NAMED,
    ['G' ... 'Z'] = TOKEN | NAMED,
    ['-'] = TOKEN | NAMED,
    ['.'] = TOKEN | NAMED | LITERAL,
    ['_'] = TOKEN | NAMED,
    ['~'] = TOKEN | NAMED,
    ['!'] = TOKEN | NAMED,
    ['$'] = TOKEN | NAMED,
    ['%'] = TOKEN | NAMED,
    ['&'] = TOKEN | NAMED,
    ['\''] = TOKEN | NAMED,
    ['*'] = TOKEN | NAMED,
    ['+'] = TOKEN | NAMED,
    ['#'] = TOKEN,
    ['^'] = TOKEN,
    ['`'] = TOKEN,
    ['|'] = TOKEN,
    ['('] = NAMED,
    [')'] = NAMED,
    [';'] = NAMED,
    ['='] = NAMED,
    [':'] = LITERAL,
};

/* Returns the byte after the host, or `begin` if there is no host. */
static const uint8_t *past_host(const uint8_t *begin, const uint8_t *end)
{
    const uint8_t *p;
    if (begin == end || *begin != '[')
        return char_class_run(begin, end, NAMED);
    p = char_class_run(begin + 1, end, LITERAL);
    return p > begin + 1 && p < end && *p == ']' ? p + 1 : begin;
}

bool host_name_is_valid(struct kx_slice host)
{
    const uint8_t *end = host.data + host.size;
    const uint8_t *p = past_host(host.data, end);
    if (p == host.data)
        return false;
    if (p < end && *p == ':')
        p = char_class_run(p + 1, end, DIGIT);
    return p == end;
}
