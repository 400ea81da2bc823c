/* POST /indexes?dry=1 with adopt: in addition to the answer of any dry
 * declaration, what would become of the entries that are kept by hand under the
 * name. They are read in slices, so that a large index does not delay
 * commits. */
#include "indexes/index_dry_run.h"

#include "access/access.h"
#include "rest/answer.h"
#include "rest/indexjson.h"
#include "rest/refusal.h"

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

struct dry_slices {
    struct kx_slice name;
    struct kx_dry_run *run; /* NULL: nothing is adopted */
    bool begun;
    bool more; /* slices follow */
};

static enum kx_status next_slice(struct request *request, struct reply *reply,
                                 struct dry_slices *dry)
{
    kx_read_begin(request->reader);
    enum kx_status status =
        kx_dry_run_next(dry->run, request->reader, SLICE_ENTRIES);
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        reply->flush = flush;
    return status;
}

static void run_slice(struct request *request, struct reply *reply, void *arg)
{
    struct dry_slices *dry = arg;
    struct kx_fault fault = {.status = KX_OK};
    const struct kx_adoption *result = NULL;
    if (!dry->begun && adopts(request, dry->name))
        fault.status =
            kx_dry_run_begin(request->memory, request->body, &dry->run, &fault);
    dry->begun = true;
    dry->more = false;
    if (fault.status == KX_OK && dry->run != NULL) {
        fault.status = next_slice(request, reply, dry);
        dry->more = fault.status == KX_OK;
        result = kx_dry_run_result(dry->run);
    }
    if (dry->more)
        return;
    if (fault.status != KX_OK && fault.status != KX_END) {
        refuse_read(request, reply, &fault, dry->name);
        return;
    }
    answer_json(reply, 200);
    const struct kx_preview *preview = request->commit.preview;
    indexjson_write_preview(
        preview, access_counts_declared(request, preview->declaration), result,
        &reply->body);
}

void index_dry_run(struct request *request, struct reply *reply,
                   struct kx_slice name)
{
    struct dry_slices dry = {.name = name};
    while (access_admit_again(request, reply) &&
           request_read(request, run_slice, &dry) && dry.more &&
           request_turn(request))
        ;
}
