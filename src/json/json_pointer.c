/* JSON Pointers (RFC 6901): their tokens, and what they cover. */
#include "json/json_pointer.h"

struct kx_slice json_pointer_take(struct kx_slice *pointer)
{
    struct kx_slice rest =
        kx_slice(pointer->data + 1, pointer->size == 0 ? 0 : pointer->size - 1);
    const uint8_t *slash =
        rest.size == 0 ? NULL : memchr(rest.data, '/', rest.size);
    size_t size = slash == NULL ? rest.size : (size_t)(slash - rest.data);
    *pointer = kx_slice(rest.data + size, rest.size - size);
    return kx_slice(rest.data, size);
}

void json_pointer_add_name(struct kx_slice token, struct kx_buffer *out)
{
    uint8_t plain[KX_POINTER_MAX];
    size_t size = 0;
    for (size_t i = 0; i < token.size && size < sizeof plain; i++) {
        uint8_t byte = token.data[i];
        if (byte == '~' && i + 1 < token.size)
            byte = token.data[++i] == '0' ? '~' : '/';
        plain[size++] = byte;
    }
    kx_json_escape(kx_slice(plain, size), out);
    kx_add_byte(out, ':');
}

bool json_pointer_find(struct kx_slice text, struct kx_slice pointer,
                       struct charge *charge, struct kx_slice *value_out)
{
    bool found = kx_json_find(text, pointer, value_out);
    if (charge == NULL)
        return found;
    size_t tokens = 0;
    size_t passed = text.size;
    for (size_t i = 0; i < pointer.size; i++)
        tokens += pointer.data[i] == '/';
    if (found)
        passed = (size_t)(value_out->data - text.data) + value_out->size;
    charge_add(charge, passed * (tokens > 1 ? tokens : 1), CHARGE_PASSED);
    return found;
}

bool kx_pointer_covers(struct kx_slice pointer, struct kx_slice other)
{
    return kx_starts_with(other, pointer) &&
           (other.size == pointer.size || other.data[pointer.size] == '/');
}

bool kx_pointer_valid(struct kx_slice text)
{
    if (text.size > 0 && text.data[0] != '/')
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '~' &&
            (i + 1 == text.size ||
             (text.data[i + 1] != '0' && text.data[i + 1] != '1')))
            return false;
    return text.size <= KX_POINTER_MAX;
}
