/* Decides which changes of a batch its watches are told. */
#include "commit/batch.h"
#include "commit/watch.h"

/* Have a name's keys become readable, or stopped being readable? */
static bool changes_view(const struct batch *batch)
{
    switch (batch->action) {
    case CATALOG_KEEP:
    case CATALOG_FORGET:
    case CATALOG_PROGRESS:
    case CATALOG_PACE:
    case CATALOG_VERIFY:
        return false;
    case CATALOG_ADD:
    case CATALOG_DROP:
        return true;
    case CATALOG_FORM:
        /* Only the step that shows the new form dates it. */
        return batch->stamp != 0 && batch->form.changed_stamp == batch->stamp;
    case CATALOG_BUILD:
    case CATALOG_AGAIN:
        break;
    }
    return batch->state != batch->before;
}

/* Rows of an index that is not readable yet are not reported. That it has
 * become readable is. */
void watch_batch(struct watch_set *set, const struct batch *batch,
                 const struct row_write *rows, size_t count)
{
    bool all = changes_view(batch);
    for (size_t i = 0; !all && i < batch->also_count; i++)
        all = changes_view(&batch->also[i]);
    if (all)
        watch_note_all(set);
    else if (!batch->new_index_rows)
        watch_note(set, rows, count);
}
