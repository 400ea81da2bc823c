#include "index_run.h"

#include "commit/store_state.h"

enum { MUTATIONS = 4, CHECKS = 3 };

/* ---- Declarations ------------------------------------------------------- */

/* Makes the shape an index of totals. */
static void count_entries(struct index_shape *shape, bool sum)
{
    shape->aggregate = true;
    shape->sum = sum;
    shape->unique = false;
    if (shape->fields[shape->field_count - 1] == FROM_STAMP)
        shape->field_count--;
}

void index_run_shape(struct run *run, size_t i)
{
    run->shapes[i] = random_shape(&run->data.seed, i);
    if (i % 3 == 2)
        count_entries(&run->shapes[i], i > 2);
}

/* ---- Entries ------------------------------------------------------------ */

struct line {
    struct kx_slice key;
    const char *text;
    int tenths; /* for the sum of its group */
};

static const char *line_text(struct run *run, const struct kx_entry *entry,
                             bool pointer)
{
    struct kx_buffer text;
    kx_buffer_init(&text, run->data.mem);
    test_show(entry, &text);
    kx_add_byte(&text, 0);
    return talloc_asprintf(run->data.mem, "%s%lld %llu\n",
                           (const char *)text.data,
                           (long long)entry->expires_at_ms,
                           pointer ? 0 : (unsigned long long)entry->stamp);
}

/* All entries of an index as they are stored. */
static const char *have(struct run *run, const struct index_shape *shape)
{
    struct kx_slice name = test_key(
        run->data.mem, talloc_asprintf(run->data.mem, "[\"%s\"]", shape->name));
    struct kx_buffer end;
    kx_buffer_init(&end, run->data.mem);
    kx_add_slice(&end, name);
    kx_add_byte(&end, 0xff);
    struct kx_range range = {.start = name, .end = kx_buffer_slice(&end)};
    struct kx_entry entry;
    char *out = talloc_strdup(run->data.mem, "");
    kx_read_begin(run->test.reader);
    assert_int_equal(kx_scan(run->test.reader, &range, NULL), KX_OK);
    while (kx_scan_next(run->test.reader, &entry) == KX_OK)
        out = talloc_strdup_append(
            out, line_text(run, &entry, shape->store == 0 || shape->aggregate));
    kx_read_end(run->test.reader);
    return out;
}

static int by_key(const void *a, const void *b)
{
    return kx_compare(((const struct line *)a)->key,
                      ((const struct line *)b)->key);
}

/* Reads the stored entry. Returns false if it has just expired, which a model
 * with FLAW_EXPIRY does not know. */
static bool read_primary(struct run *run, size_t slot, struct kx_entry *entry)
{
    struct kx_buffer *record = talloc(run->data.mem, struct kx_buffer);
    kx_buffer_init(record, run->data.mem);
    kx_read_begin(run->test.reader);
    enum kx_status status = kx_read(
        run->test.reader, slot_key(run->data.mem, slot), record, entry, NULL);
    kx_read_end(run->test.reader);
    return status == KX_OK;
}

static struct line make_line(struct run *run, const struct index_shape *shape,
                             size_t slot, struct kx_slice value)
{
    struct kx_slice skip = test_key(run->data.mem, "[\"p\"]");
    struct kx_slice whole = slot_key(run->data.mem, slot);
    struct kx_slice owner =
        kx_slice(whole.data + skip.size, whole.size - skip.size);
    struct kx_entry entry = {.stamp = 0};
    struct kx_buffer key;
    read_primary(run, slot, &entry);
    kx_buffer_init(&key, run->data.mem);
    kx_key_add_string(&key, kx_text(shape->name));
    kx_add_slice(&key, value);
    if (!shape->unique && !shape->aggregate)
        kx_add_slice(&key, owner);
    entry.key = kx_buffer_slice(&key);
    if (shape->store == 0)
        entry.value = (struct kx_value){.encoding = KX_POINTER, .data = owner};
    if (shape->store == 2)
        entry.value = test_json(stored_json(
            run->data.mem, shape, &run->data.slots[slot].document, run->flaw));
    return (struct line){.key = entry.key,
                         .text = line_text(run, &entry, shape->store == 0),
                         .tenths =
                             summed_tenths(&run->data.slots[slot].document)};
}

/* Returns the totals of `count` lines. */
static const char *totals_text(struct run *run, const struct index_shape *shape,
                               const struct line *lines, size_t count)
{
    int tenths = run->flaw == FLAW_SUM ? -2 * lines[0].tenths : 0;
    if (!shape->sum)
        return talloc_asprintf(run->data.mem, "{\"count\":%zu}", count);
    for (size_t i = 0; i < count; i++)
        tenths += lines[i].tenths;
    return talloc_asprintf(
        run->data.mem, "{\"count\":%zu,\"sum\":{\"/n/x\":\"%s%d.%d\"}}", count,
        tenths < 0 ? "-" : "", abs(tenths) / 10, abs(tenths) % 10);
}

/* Replaces the lines that have the same key by one line with their totals. The
 * lines must be in key order. Returns how many lines remain. */
static size_t add_groups(struct run *run, const struct index_shape *shape,
                         struct line *lines, size_t count)
{
    size_t groups = 0;
    for (size_t i = 0, n = 0; i < count; i += n, groups++) {
        for (n = 1; i + n < count && kx_equal(lines[i].key, lines[i + n].key);)
            n++;
        struct kx_entry entry = {
            .key = lines[i].key,
            .value = test_json(totals_text(run, shape, &lines[i], n))};
        lines[groups] = (struct line){.key = entry.key,
                                      .text = line_text(run, &entry, true)};
    }
    return groups;
}

/* Returns all entries that the index must have. */
static const char *want(struct run *run, const struct index_shape *shape)
{
    struct line lines[SLOTS * ELEMENTS];
    size_t count = 0;
    const struct model_entry *slots =
        run->flaw == FLAW_STALE ? run->data.before : run->data.slots;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        bool bad;
        if (!(run->flaw == FLAW_EXPIRY ? slots[slot].present
                                       : alive(&run->data, &slots[slot])))
            continue;
        struct values values = index_values(
            run->data.mem, shape, &slots[slot].document, slot, run->flaw, &bad);
        for (size_t n = 0; n < values.count; n++)
            lines[count++] =
                make_line(run, shape, slot, kx_buffer_slice(&values.list[n]));
    }
    qsort(lines, count, sizeof lines[0], by_key);
    if (shape->aggregate)
        count = add_groups(run, shape, lines, count);
    char *out = talloc_strdup(run->data.mem, "");
    for (size_t i = 0; i < count; i++)
        out = talloc_strdup_append(out, lines[i].text);
    return out;
}

/* Sets the numbers of entries that the index must leave out: `least` without
 * expired entries, `most` with them, since they count until they are removed.
 */
static void must_leave_out(struct run *run, const struct index_shape *shape,
                           uint64_t *least, uint64_t *most)
{
    *least = *most = 0;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        const struct model_entry *at = &run->data.slots[slot];
        bool bad;
        if (!at->present || (shape->deep && slot % SUFFIXES == 0))
            continue;
        struct values values = index_values(run->data.mem, shape, &at->document,
                                            slot, FLAW_NONE, &bad);
        *most += values.count == 0;
        *least += values.count == 0 && alive(&run->data, at);
    }
}

/* Compares the numbers of entries left out, which a ready index must know. */
static void compare_left_out(struct run *run, const struct index_shape *shape)
{
    struct kx_index_info info;
    uint64_t least;
    uint64_t most;
    must_leave_out(run, shape, &least, &most);
    kx_read_begin(run->test.reader);
    kx_index_find(run->test.reader, kx_text(shape->name), &info);
    kx_read_end(run->test.reader);
    uint64_t have = kx_left_out_sum(info.left_out);
    if ((!info.left_out_known || have < least || have > most) &&
        run->wrong[0] == '\0')
        snprintf(run->wrong, sizeof run->wrong,
                 "%s\nleaves out %llu entries, not %llu to %llu\n",
                 shape_json(run->data.mem, shape), (unsigned long long)have,
                 (unsigned long long)least, (unsigned long long)most);
}

void index_run_compare(struct run *run, const struct index_shape *shape)
{
    compare_left_out(run, shape);
    const char *stored = have(run, shape);
    const char *computed = want(run, shape);
    if (strcmp(stored, computed) != 0 && run->wrong[0] == '\0')
        snprintf(run->wrong, sizeof run->wrong, "%s\nhas\n%s\nnot\n%s\n",
                 shape_json(run->data.mem, shape), stored, computed);
}

/* ---- Commits ------------------------------------------------------------ */

static bool refuses(struct run *run, const struct index_shape *shape)
{
    bool any = false;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        bool bad = false;
        if (alive(&run->data, &run->data.slots[slot]))
            index_values(run->data.mem, shape, &run->data.slots[slot].document,
                         slot, FLAW_NONE, &bad);
        any |= bad;
    }
    return shape->error && any;
}

static bool has_duplicates(struct run *run, const struct index_shape *shape)
{
    struct kx_slice seen[SLOTS * ELEMENTS];
    size_t count = 0;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        bool bad;
        if (!alive(&run->data, &run->data.slots[slot]))
            continue;
        struct values values =
            index_values(run->data.mem, shape, &run->data.slots[slot].document,
                         slot, FLAW_NONE, &bad);
        for (size_t n = 0; n < values.count; n++) {
            seen[count] = kx_buffer_slice(&values.list[n]);
            for (size_t m = 0; m < count; m++)
                if (kx_equal(seen[m], seen[count]))
                    return shape->unique;
            count++;
        }
    }
    return false;
}

/* A commit with what the model knows about it beforehand. */
struct planned {
    struct kx_mutation mutations[MUTATIONS];
    struct kx_check checks[CHECKS];
    bool fails[CHECKS];
    bool patchable;
    struct kx_commit commit;
};

/* Returns whether the refusal names exactly the checks that fail. */
static bool tells_failed(const struct planned *planned)
{
    const struct kx_refusal *refusal = &planned->commit.refusal;
    size_t count = 0;
    for (size_t i = 0; i < planned->commit.check_count; i++) {
        if (!planned->fails[i])
            continue;
        if (count == refusal->check_count || refusal->checks[count].check != i)
            return false;
        count++;
    }
    return count == refusal->check_count;
}

/* Returns whether the model predicts this status for the commit. */
static bool foretold(struct run *run, const struct planned *planned,
                     enum kx_status status)
{
    bool refused = false;
    bool duplicate = false;
    bool fails = false;
    for (size_t i = 0; i < planned->commit.check_count; i++)
        fails |= planned->fails[i];
    if (fails || status == KX_CHECK_FAILED)
        return fails && status == KX_CHECK_FAILED && tells_failed(planned);
    if (!planned->patchable || status == KX_TYPE_MISMATCH)
        return !planned->patchable && status == KX_TYPE_MISMATCH;
    for (size_t i = 0; i < SHAPES; i++) {
        if (!run->declared[i])
            continue;
        refused |= run->flaw != FLAW_ERROR && refuses(run, &run->shapes[i]);
        duplicate |=
            run->flaw != FLAW_UNIQUE && has_duplicates(run, &run->shapes[i]);
    }
    if (status == KX_NOT_INDEXABLE)
        return refused;
    if (status == KX_UNIQUE_VIOLATION)
        return duplicate;
    return status == KX_OK && !refused && !duplicate;
}

static void plan_checks(struct run *run, struct planned *planned)
{
    if (random_below(&run->data.seed, 3) > 0)
        return;
    planned->commit.check_count = 1 + random_below(&run->data.seed, CHECKS);
    for (size_t i = 0; i < planned->commit.check_count; i++) {
        bool holds;
        planned->checks[i] = random_check(&run->data, &holds);
        planned->fails[i] = !holds && run->flaw != FLAW_CHECK;
    }
}

static void plan_mutations(struct run *run, struct planned *planned)
{
    struct kx_commit *commit = &planned->commit;
    commit->mutation_count = 1;
    switch (random_below(&run->data.seed, 20)) {
    case 0:
        planned->mutations[0] = random_range(&run->data);
        break;
    case 1:
        planned->mutations[0] =
            random_range_patch(&run->data, &planned->patchable);
        break;
    default:
        commit->mutation_count = 1 + random_below(&run->data.seed, MUTATIONS);
        for (size_t i = 0; i < commit->mutation_count; i++)
            planned->mutations[i] = random_mutation(&run->data);
    }
}

void index_run_commit(struct run *run)
{
    struct planned planned = {.patchable = true};
    planned.commit = (struct kx_commit){.checks = planned.checks,
                                        .mutations = planned.mutations,
                                        .memory = run->data.mem};
    memcpy(run->data.before, run->data.slots, sizeof run->data.slots);
    plan_checks(run, &planned);
    plan_mutations(run, &planned);
    run->test.store->writer.pessimistic =
        0; /* values are assumed to be new each time */
    enum kx_status status = test_commit(&run->test, &planned.commit);
    if (!foretold(run, &planned, status) && run->wrong[0] == '\0')
        snprintf(run->wrong, sizeof run->wrong, "a commit ended with %s: %s",
                 kx_status_name(status), planned.commit.refusal.fault.detail);
    if (status == KX_OK)
        keep_changes(&run->data, planned.commit.stamp);
    else
        memcpy(run->data.slots, run->data.before, sizeof run->data.slots);
}

bool index_run_allows(struct run *run, size_t i)
{
    return !refuses(run, &run->shapes[i]) &&
           !has_duplicates(run, &run->shapes[i]);
}
