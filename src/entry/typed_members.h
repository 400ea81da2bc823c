/* The members of a value in the typed form. */
#ifndef TYPED_MEMBERS_H
#define TYPED_MEMBERS_H

#include "kindex.h"

/* The members of a typed value as raw JSON values; size 0 if absent. */
struct typed {
    struct kx_slice type; /* without its quotes; escapes stay as they are */
    struct kx_slice value;
    struct kx_slice length;
    struct kx_slice most;
    struct kx_slice media_type;
    struct kx_slice utf16;
};

/* Fills fault and returns KX_BAD_VALUE with this detail. */
enum kx_status typed_bad(struct kx_fault *fault, const char *detail);

/* Reads the members of an object. KX_OK, KX_BAD_VALUE. */
enum kx_status typed_members(struct kx_slice json, struct typed *out,
                             struct kx_fault *fault);

/* The characters of a string member, or the bytes of one in base64url, in a
 * buffer under memory. KX_OK, KX_BAD_VALUE, KX_NO_MEMORY. */
enum kx_status typed_text(struct kx_slice token, const void *memory,
                          struct kx_slice *text_out, struct kx_fault *fault);
enum kx_status typed_bytes(const struct typed *typed, struct kx_slice token,
                           const void *memory, struct kx_slice *bytes_out,
                           struct kx_fault *fault);

/* True for a scalar whose value is written in plain JSON. */
bool typed_is_scalar(const struct typed *typed);

#endif
