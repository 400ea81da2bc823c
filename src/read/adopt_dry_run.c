/* The dry run of an adoption: what adopting hand-kept entries would do. The
 * first pass reads all covered entries and notes each index key that they would
 * have, and whether the hand-kept entry under that key is missing, wrong or
 * right. The second pass counts the hand-kept entries by these notes. Commits
 * continue between the steps, so the numbers do not describe one state of the
 * store. */
#include <talloc.h>

#include "plan/plan_adopt.h"
#include "schema/extract.h"
#include "read/key_hash_set.h"
#include "read/reader_state.h"

/* In ascending priority: a value with several owners is right if the hand-kept
 * entry names one of the owners. */
enum { NOTE_MISSING = 1, NOTE_WRONG, NOTE_RIGHT };

struct kx_dry_run {
    struct declaration *declaration;
    struct extract extract;
    struct key_hash_set *keys;
    struct kx_adoption result;
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer after;
    bool incomplete; /* there are too many keys */
};

/* The keys that begin with prefix. */
static void set_bounds(struct kx_dry_run *dry_run, struct kx_slice prefix)
{
    dry_run->start.size = 0;
    kx_add_slice(&dry_run->start, prefix);
    dry_run->end.size = 0;
    kx_add_slice(&dry_run->end, prefix);
    kx_add_byte(&dry_run->end, 0xff);
    dry_run->after.size = 0;
}

enum kx_status kx_dry_run_begin(void *mem, struct kx_slice declaration,
                                struct kx_dry_run **dry_run_out,
                                struct kx_fault *fault)
{
    struct kx_dry_run *dry_run = talloc_zero(mem, struct kx_dry_run);
    if (dry_run == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status =
        declaration_parse(dry_run, declaration, &dry_run->declaration, fault);
    dry_run->keys = key_hash_set_create(dry_run);
    extract_init(&dry_run->extract, dry_run);
    kx_buffer_init(&dry_run->start, dry_run);
    kx_buffer_init(&dry_run->end, dry_run);
    kx_buffer_init(&dry_run->after, dry_run);
    if (status == KX_OK)
        set_bounds(dry_run, dry_run->declaration->prefix);
    if (status == KX_OK && (dry_run->keys == NULL || dry_run->end.failed))
        status = kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (status == KX_OK)
        *dry_run_out = dry_run;
    else
        talloc_free(dry_run);
    return status;
}

/* Reads the hand-kept entry under an index key: KX_OK, KX_ABSENT, errors of the
 * storage. */
static enum kx_status find_hand(struct kx_reader *reader,
                                struct kx_slice index_key,
                                struct record *hand_out)
{
    struct kx_slice bytes;
    enum kx_status status = reader_find(reader, index_key, &bytes);
    if (status != KX_OK)
        return status;
    if (!record_read(bytes, hand_out))
        return KX_FAILED;
    return hand_out->index == 0 && !record_expired(hand_out, reader->now_ms)
               ? KX_OK
               : KX_ABSENT;
}

/* Notes the n-th index key of an entry. */
static enum kx_status note_key(struct kx_dry_run *dry_run,
                               struct kx_reader *reader, size_t n)
{
    struct kx_slice key = extract_key(&dry_run->extract, n);
    struct record row;
    struct record hand;
    unsigned note = NOTE_MISSING;
    enum kx_status status = extract_record(&dry_run->extract, n, 1, &row);
    if (status != KX_OK)
        return status;
    row.stamp = dry_run->extract.record->stamp;
    status = find_hand(reader, key, &hand);
    if (status == KX_OK) {
        status = plan_adopt_merge(&hand, key, &row, dry_run);
        note = status == KX_OK ? NOTE_RIGHT : NOTE_WRONG;
    }
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (note == NOTE_MISSING && key_hash_set_get(dry_run->keys, key) == 0)
        plan_adopt_count(&dry_run->result, KX_ADDED, key);
    status = key_hash_set_put(dry_run->keys, key, note);
    dry_run->incomplete |= status == KX_END;
    return status == KX_END ? KX_OK : status;
}

static enum kx_status take_entry(struct kx_dry_run *dry_run,
                                 struct kx_reader *reader,
                                 const struct kx_entry *entry)
{
    struct record record = {.encoding = entry->value.encoding,
                            .stamp = entry->stamp,
                            .expires_at_ms = entry->expires_at_ms,
                            .media_type = entry->value.media_type,
                            .value = entry->value.data};
    if (!declaration_covers(dry_run->declaration, entry->key))
        return KX_OK;
    enum kx_status status = extract_keys(
        &dry_run->extract, dry_run->declaration, entry->key, &record);
    if (status == KX_NOT_INDEXABLE)
        return KX_OK;
    for (size_t n = 0; status == KX_OK && n < dry_run->extract.count; n++)
        status = note_key(dry_run, reader, n);
    return status;
}

static enum kx_status take_hand(struct kx_dry_run *dry_run,
                                const struct kx_entry *hand)
{
    static const enum kx_adopted kinds[] = {[NOTE_MISSING] = KX_REPLACED,
                                            [NOTE_WRONG] = KX_REPLACED,
                                            [NOTE_RIGHT] = KX_KEPT};
    unsigned note = key_hash_set_get(dry_run->keys, hand->key);
    if (note != 0)
        plan_adopt_count(&dry_run->result, kinds[note], hand->key);
    else if (!dry_run->incomplete)
        plan_adopt_count(&dry_run->result, KX_REMOVED, hand->key);
    return KX_OK;
}

/* Reads at most `limit` entries of the present pass. KX_END: the pass is
 * complete. */
static enum kx_status take_some(struct kx_dry_run *dry_run,
                                struct kx_reader *reader, size_t limit)
{
    struct kx_entry entry;
    struct kx_range range = {.start = kx_buffer_slice(&dry_run->start),
                             .end = kx_buffer_slice(&dry_run->end),
                             .after = kx_buffer_slice(&dry_run->after)};
    enum kx_status status = kx_scan(reader, &range, NULL);
    for (size_t i = 0; status == KX_OK && i < limit; i++) {
        status = kx_scan_next(reader, &entry);
        if (status != KX_OK)
            break;
        status = dry_run->result.gathered ? take_hand(dry_run, &entry)
                                          : take_entry(dry_run, reader, &entry);
        dry_run->after.size = 0;
        kx_add_slice(&dry_run->after, entry.key);
    }
    kx_scan_end(reader);
    return dry_run->after.failed ? KX_NO_MEMORY : status;
}

enum kx_status kx_dry_run_next(struct kx_dry_run *dry_run,
                               struct kx_reader *reader, size_t limit)
{
    enum kx_status status = take_some(dry_run, reader, limit);
    if (status != KX_END)
        return status;
    if (dry_run->result.gathered) {
        dry_run->result.done = !dry_run->incomplete;
        return KX_END;
    }
    dry_run->result.gathered = true;
    set_bounds(dry_run, dry_run->declaration->name_key);
    return dry_run->end.failed ? KX_NO_MEMORY : KX_OK;
}

const struct kx_adoption *kx_dry_run_result(const struct kx_dry_run *dry_run)
{
    return &dry_run->result;
}
