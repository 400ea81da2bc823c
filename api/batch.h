/* The document of POST /get as keys and pages. */
#ifndef API_BATCH_H
#define API_BATCH_H

#include "page.h"

struct batch {
    void *memory; /* talloc context of all that is made */
    struct kx_slice *keys;
    size_t key_count;
    struct page *pages;
    size_t page_count;
    size_t total; /* entries that may come: keys and limits of ranges */
};

/* Reads the document, which kx_json_check accepted. batch_out->memory is set
 * by the caller. */
bool batch_read(struct kx_slice document, struct batch *batch_out,
                struct flaw *flaw);

#endif
