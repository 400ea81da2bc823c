/* Header fields as they came, one after the other in one buffer: a request has
 * few, and handlers ask for fewer. */
#include "http2/http2_head.h"

#include <strings.h>
#include <talloc.h>

#include "http/host_name.h"

/* What stands before each name in the buffer. The limit of a head (headers_max,
 * at most 60 KiB) keeps them small. */
struct sizes {
    uint16_t name;
    uint16_t value;
};

enum {
    LINE = 4,   /* ": " and CR LF, in HTTP/1.1 */
    USUAL = 512 /* bytes of all fields of a request */
};

size_t http2_head_size_max(const struct options *options)
{
    return options->headers_max + HTTP2_FIELD_EXTRA * options->header_count_max;
}

void http2_head_init(struct http2_head *head, const struct options *options,
                     const void *owner)
{
    *head = (struct http2_head){.options = options};
    kx_buffer_init(&head->fields, owner);
    kx_buffer_reserve(&head->fields, USUAL);
}

void http2_head_flaw(struct http2_head *head, enum problem_code why,
                     const char *flaw)
{
    if (head->flaw != NULL)
        return;
    head->flaw = flaw;
    head->why = why;
}

static void keep(struct http2_head *head, struct kx_slice name,
                 struct kx_slice value)
{
    struct sizes sizes = {(uint16_t)name.size, (uint16_t)value.size};
    kx_add(&head->fields, &sizes, sizeof sizes);
    kx_add_slice(&head->fields, name);
    kx_add_byte(&head->fields, '\0');
    kx_add_slice(&head->fields, value);
    kx_add_byte(&head->fields, '\0');
}

/* The same name in both places is one host (RFC 9113 section 8.3.1). */
static void take_host(struct http2_head *head, struct kx_slice value)
{
    if (head->has_host) {
        const char *host = http2_head_find(head, "host", NULL);
        if (host == NULL || !kx_equal(kx_text(host), value))
            http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                            "The request names more than one host (:authority "
                            "and Host).");
        return;
    }
    head->has_host = true;
    if (host_name_is_valid(value))
        keep(head, kx_text("host"), value);
    else
        http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                        "The host (:authority or Host) must be a name or an "
                        "address, with or without a port.");
}

/* False when the field exceeds a limit. */
static bool fits(struct http2_head *head, struct kx_slice name,
                 struct kx_slice value, bool pseudo)
{
    size_t size = name.size + value.size + LINE;
    head->count += pseudo ? 0 : 1;
    if (size <= head->options->headers_max - head->size &&
        head->count <= head->options->header_count_max) {
        head->size += (uint32_t)size;
        return true;
    }
    http2_head_flaw(head, PROBLEM_HEADERS_TOO_LARGE,
                    "The headers have more bytes or more lines than this "
                    "server accepts.");
    return false;
}

void http2_head_add(struct http2_head *head, struct kx_slice name,
                    struct kx_slice value)
{
    bool pseudo = name.size > 0 && name.data[0] == ':';
    if (head->flaw != NULL || !fits(head, name, value, pseudo))
        return;
    if (kx_equal(name, kx_text(pseudo ? ":authority" : "host")))
        take_host(head, value);
    else if (!pseudo)
        keep(head, name, value);
}

void http2_head_end(struct http2_head *head, struct kx_slice target)
{
    if (!head->has_host)
        http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                        "The request names no host (:authority or Host).");
    if (target.size > REQUEST_TARGET_MAX)
        http2_head_flaw(head, PROBLEM_URI_TOO_LONG,
                        "The request target has more bytes than this server "
                        "accepts.");
    if (target.size == 0 ||
        (target.data[0] != '/' && !kx_equal(target, kx_text("*"))))
        http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                        "The request target (:path) must be a path that begins "
                        "with a slash (or *).");
}

const char *http2_head_find(const struct http2_head *head, const char *name,
                            void *memory)
{
    const char *found = NULL;
    size_t size = strlen(name);
    const uint8_t *p = head->fields.data;
    const uint8_t *end = p + head->fields.size;
    struct sizes sizes;
    for (; p < end; p += sizes.name + sizes.value + 2) {
        memcpy(&sizes, p, sizeof sizes);
        p += sizeof sizes;
        const char *value = (const char *)p + sizes.name + 1;
        if (sizes.name != size || strncasecmp((const char *)p, name, size) != 0)
            continue;
        found = found == NULL ? value
                              : talloc_asprintf(memory, "%s, %s", found, value);
    }
    return found;
}
