/* The typed form of kv-utils: {"type":...,"value":...}. kindex/value.h lists
 * its types. */
#ifndef TYPED_H
#define TYPED_H

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

/* Reads the members of a typed value. KX_OK; KX_BAD_VALUE if the text is not an
 * object with these members. fault may be NULL. */
enum kx_status typed_members(struct kx_slice json, struct typed *out,
                             struct kx_fault *fault);

/* Appends a V8 value in the typed form. KX_OK; KX_ABSENT if the form cannot
 * express the value, or if it is nested too deeply for JSON; KX_BAD_VALUE;
 * KX_NO_MEMORY. On errors nothing is appended. */
enum kx_status typed_write(struct kx_slice bytes, struct kx_buffer *out);

#endif
