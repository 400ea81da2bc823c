/* POST /indexes?dry=1 with adopt: in addition to the answer of any dry
 * declaration, what would become of the entries that are kept by hand under the
 * name. They are read in slices, so that a large index does not delay
 * commits. */
#include "indexes/index_dry_run.h"

#include "access/access.h"
#include "rest/answer.h"
#include "rest/indexjson.h"
#include "rest/core_refusal.h"

/* Entries looked at in one view: each may need a look-up. */
enum { SLICE_ENTRIES = 500 };

static bool adopts(const struct request *request, struct kx_slice name)
{
    struct kx_slice value;
    struct kx_index_info info;
    if (!kx_json_find(request->body, kx_text("/adopt"), &value) ||
        kx_json_type(value) != KX_JSON_TRUE)
        return false;
    kx_read_begin(request->reader);
    bool there = kx_index_find(request->reader, name, &info) == KX_OK;
    kx_read_end(request->reader);
    return !there;
}

enum progress index_dry_run(struct request *request, struct reply *reply,
                            struct kx_slice name)
{
    struct kx_dry_run *dry_run = request->state;
    struct kx_fault fault = {0};
    const struct kx_adoption *result = NULL;
    if (!access_admit_again(request, reply))
        return DONE;
    if (dry_run == NULL && adopts(request, name)) {
        fault.status =
            kx_dry_run_begin(request->memory, request->body, &dry_run, &fault);
        request->state = dry_run;
    }
    if (fault.status == KX_OK && dry_run != NULL) {
        kx_read_begin(request->reader);
        fault.status = kx_dry_run_next(dry_run, request->reader, SLICE_ENTRIES);
        uint64_t flush = kx_read_end(request->reader);
        if (flush != 0)
            reply->flush = flush;
        if (fault.status == KX_OK)
            return AGAIN;
        result = kx_dry_run_result(dry_run);
    }
    if (fault.status != KX_OK && fault.status != KX_END)
        return core_refusal_read(request, reply, &fault, name);
    answer_json(reply, 200);
    const struct kx_preview *preview = request->commit.preview;
    indexjson_write_preview(
        preview, access_counts_declared(request, preview->declaration), result,
        &reply->body);
    return DONE;
}
