/* The threads of a store under schedules with seeds (schedule.h): two clients
 * move money between accounts, one reads, and one declares an index, waits for
 * its build and drops it, beside the writer, its flushes, the checkpointer and
 * the archive.
 *
 *   schedules COUNT [FIRST]    COUNT seeds, beginning with FIRST (1)
 *
 * Each view has the whole sum, and the index equals the entries. Nothing is
 * answered or shown before its flush has ended, and no view is older than an
 * answer before it. After the store is closed, its archive leads to the same
 * entries. The first seeds run twice, and must take the same turns both times.
 */
#include "schedule.h"

#include <inttypes.h>
#include <string.h>

#include "commit/store_state.h"
#include "store.h"

enum {
    ACCOUNTS = 5,
    MONEY = 100, /* in each account at the start */
    MOVERS = 2,
    MOVES = 5,
    VIEWS = 6,
    DECLARATIONS = 2,
    POLL_US = 500,
    HOLD_NS = KX_MS_NS, /* longest wait of a worker for a view */
    TWICE = 10          /* seeds that run twice */
};

static const char DECLARATION[] =
    "{\"name\":\"by_n\",\"prefix\":[\"a\"],\"fields\":[\"/n\"]}";

struct accounts {
    size_t count;
    int sum;
    uint64_t stamps[ACCOUNTS];
    uint64_t last; /* the largest stamp */
};

struct actor {
    pthread_t thread;
    void *(*run)(void *);
    struct kx_reader *reader;
    uint64_t seed;
};

static uint64_t seed;
static struct test_store test;
static char archive[sizeof test.directory + 16];
static uint64_t durable;            /* stamp of the last flushed commit */
static uint64_t acknowledged;       /* stamp of the last answered move */
static uint64_t answered[ACCOUNTS]; /* the same for each account */
static _Thread_local uint64_t flushing;

static void expect(enum kx_status status, enum kx_status expected,
                   const char *what)
{
    if (status != expected)
        schedule_found("%s: %s", what, kx_status_name(status));
}

/* ---- What is on disk ----------------------------------------------------- */

static void flush_begins(void)
{
    flushing = test.store == NULL ? 0 : atomic_load(&test.store->stats.stamp);
}

static void flush_ends(void)
{
    if (flushing > durable)
        durable = flushing;
}

static void is_durable(uint64_t stamp, const char *what)
{
    if (stamp > durable)
        schedule_found("%s shows commit %" PRIu64 ", the flush has %" PRIu64,
                       what, stamp, durable);
}

/* ---- Reading ---------------------------------------------------------------
 */

static struct kx_slice account(void *mem, size_t number)
{
    return test_key(mem, talloc_asprintf(mem, "[\"a\",%zu]", number));
}

static const char *value_of(void *mem, int money)
{
    return talloc_asprintf(mem, "{\"n\":%d}", money);
}

static int money_of(const struct kx_entry *entry)
{
    return atoi((const char *)entry->value.data.data + strlen("{\"n\":"));
}

static void count_account(struct accounts *accounts,
                          const struct kx_entry *entry)
{
    if (accounts->count == ACCOUNTS)
        schedule_found("there are more accounts than were made");
    accounts->stamps[accounts->count++] = entry->stamp;
    accounts->sum += money_of(entry);
    if (entry->stamp > accounts->last)
        accounts->last = entry->stamp;
}

/* Reads all entries of the open scan. */
static struct accounts read_accounts(struct kx_reader *reader)
{
    struct accounts accounts = {.count = 0};
    struct kx_entry entry;
    enum kx_status status;
    while ((status = kx_scan_next(reader, &entry)) == KX_OK)
        count_account(&accounts, &entry);
    expect(status, KX_END, "a scan");
    return accounts;
}

static bool has_stamp(const struct accounts *accounts, uint64_t stamp)
{
    for (size_t i = 0; i < accounts->count; i++)
        if (accounts->stamps[i] == stamp)
            return true;
    return false;
}

/* The index has each account of the same view once. */
static void check_index(struct kx_reader *reader,
                        const struct accounts *accounts)
{
    struct kx_range all = {.count_only = false};
    struct kx_index_info info;
    if (kx_index_find(reader, kx_text("by_n"), &info) != KX_OK ||
        info.state != KX_INDEX_READY)
        return;
    expect(kx_scan_index(reader, kx_text("by_n"), &all, NULL), KX_OK,
           "a scan of the index");
    struct accounts indexed = read_accounts(reader);
    if (indexed.count != accounts->count || indexed.sum != accounts->sum)
        schedule_found(
            "the index has %zu accounts with %d, the store %zu with %d",
            indexed.count, indexed.sum, accounts->count, accounts->sum);
    for (size_t i = 0; i < indexed.count; i++)
        if (!has_stamp(accounts, indexed.stamps[i]))
            schedule_found("the index has an account of commit %" PRIu64,
                           indexed.stamps[i]);
}

static struct accounts read_all(struct kx_reader *reader, void *mem)
{
    struct kx_range range = {.start = account(mem, 0),
                             .end = account(mem, ACCOUNTS)};
    expect(kx_scan(reader, &range, NULL), KX_OK, "a scan");
    struct accounts accounts = read_accounts(reader);
    if (accounts.count != ACCOUNTS || accounts.sum != ACCOUNTS * MONEY)
        schedule_found("a view has %zu accounts with %d", accounts.count,
                       accounts.sum);
    return accounts;
}

/* Waits until what was seen is on disk; `flush` is what kx_read_end returned.
 */
static void await_flush(uint64_t flush)
{
    bool done = false;
    struct kx_ticket ticket = {.owner = &done};
    if (flush == 0)
        return;
    enum kx_status status = kx_wait(test.store, flush, &ticket);
    if (status == KX_OK)
        test_wait(&test, &done);
    else
        expect(status, KX_END, "a wait for a flush");
}

/* Waits for a view as an event loop does: by a ticket, without blocking. */
static void hold_by_ticket(struct kx_reader *reader)
{
    bool tried = false;
    for (bool held = false; !held;) {
        bool done = false;
        struct kx_ticket ticket = {.owner = &done};
        held = kx_read_hold(reader, &ticket);
        if (tried)
            kx_read_hold_done(test.store);
        tried = !held;
        if (!held)
            test_wait(&test, &done);
    }
}

/* Gets a view for the reader in one of the ways that a server's threads use. */
static void hold(struct actor *actor)
{
    uint64_t until_ns = kx_monotonic_ns() + HOLD_NS;
    switch (random_below(&actor->seed, 3)) {
    case 0:
        hold_by_ticket(actor->reader);
        break;
    case 1:
        (void)kx_read_hold_until(actor->reader, until_ns);
        break;
    default:
        break;
    }
}

/* Reads one entry without a view, and checks that it is not older than the last
 * answer that was given before. */
static void look_at_one(struct actor *actor)
{
    void *mem = talloc_new(NULL);
    struct kx_fault fault = {.detail = ""};
    struct kx_buffer record;
    struct kx_entry entry = {.stamp = 0};
    size_t number = random_below(&actor->seed, ACCOUNTS);
    uint64_t before = answered[number];
    kx_buffer_init(&record, mem);
    uint64_t flush = kx_read_alone(actor->reader, account(mem, number), &record,
                                   &entry, &fault);
    if (fault.status != KX_AGAIN) {
        expect(fault.status, KX_OK, "an account");
        await_flush(flush);
        is_durable(entry.stamp, "a read");
        if (entry.stamp < before)
            schedule_found("account %zu has commit %" PRIu64 ", %" PRIu64
                           " was answered before",
                           number, entry.stamp, before);
    }
    talloc_free(mem);
}

static void look(struct actor *actor)
{
    void *mem = talloc_new(NULL);
    struct kx_reader *reader = actor->reader;
    uint64_t before = acknowledged;
    hold(actor);
    kx_read_begin(reader);
    struct accounts accounts = read_all(reader, mem);
    check_index(reader, &accounts);
    uint64_t flush = kx_read_end(reader);
    kx_read_release(reader);
    if (accounts.last < before)
        schedule_found("a view has commit %" PRIu64 ", %" PRIu64
                       " was answered before",
                       accounts.last, before);
    await_flush(flush);
    is_durable(accounts.last, "a view");
    talloc_free(mem);
}

static void *run_reader(void *argument)
{
    struct actor *actor = argument;
    pthread_setname_np(pthread_self(), "reader");
    for (int i = 0; i < VIEWS; i++) {
        look(actor);
        look_at_one(actor);
    }
    return NULL;
}

/* ---- Writing ----------------------------------------------------------------
 */

static int read_account(struct kx_reader *reader, void *mem,
                        struct kx_mutation *mutation, struct kx_check *check,
                        uint64_t *stamp)
{
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, mem);
    expect(kx_read(reader, mutation->key, &record, &entry, NULL), KX_OK,
           "an account");
    *stamp = entry.stamp;
    *check = (struct kx_check){.key = mutation->key,
                               .condition = KX_IS_ONE_OF,
                               .stamps = stamp,
                               .stamp_count = 1};
    return money_of(&entry);
}

static enum kx_status submit(struct actor *actor, struct kx_commit *commit)
{
    bool done = false;
    commit->ticket.owner = &done;
    enum kx_status status = random_below(&actor->seed, 2) == 0
                                ? kx_submit(test.store, commit)
                                : kx_submit_alone(test.store, commit);
    expect(status, KX_OK, "a commit");
    test_wait(&test, &done);
    if (commit->status == KX_OK)
        is_durable(commit->stamp, "an answer");
    return commit->status;
}

static void note_greater(uint64_t *known, uint64_t stamp)
{
    if (stamp > *known)
        *known = stamp;
}

static void note_answer(size_t from, size_t to, uint64_t stamp)
{
    note_greater(&answered[from], stamp);
    note_greater(&answered[to], stamp);
    note_greater(&acknowledged, stamp);
}

/* Moves nothing if another client has changed one of the accounts meanwhile. */
static void move(struct actor *actor)
{
    void *mem = talloc_new(NULL);
    struct kx_mutation mutations[2] = {{.type = KX_SET}, {.type = KX_SET}};
    struct kx_check checks[2];
    uint64_t stamps[2];
    size_t from = random_below(&actor->seed, ACCOUNTS);
    size_t to =
        (from + 1 + random_below(&actor->seed, ACCOUNTS - 1)) % ACCOUNTS;
    int sum = 1 + (int)random_below(&actor->seed, 9);
    mutations[0].key = account(mem, from);
    mutations[1].key = account(mem, to);
    kx_commits_expected(test.store);
    kx_read_begin(actor->reader);
    for (size_t i = 0; i < 2; i++) {
        int money = read_account(actor->reader, mem, &mutations[i], &checks[i],
                                 &stamps[i]);
        money += i == 0 ? -sum : sum;
        mutations[i].value = test_json(value_of(mem, money));
    }
    kx_read_end(actor->reader);
    struct kx_commit commit = {.mutations = mutations,
                               .mutation_count = 2,
                               .checks = checks,
                               .check_count = 2,
                               .memory = mem};
    enum kx_status status = submit(actor, &commit);
    kx_commits_done(test.store);
    if (status == KX_OK)
        note_answer(from, to, commit.stamp);
    else
        expect(status, KX_CHECK_FAILED, "a move");
    talloc_free(mem);
}

static void *run_mover(void *argument)
{
    pthread_setname_np(pthread_self(), "mover");
    for (int i = 0; i < MOVES; i++)
        move(argument);
    return NULL;
}

static bool is_ready(struct kx_reader *reader)
{
    struct kx_index_info info;
    kx_read_begin(reader);
    enum kx_status status = kx_index_find(reader, kx_text("by_n"), &info);
    kx_read_end(reader);
    expect(status, KX_OK, "the index");
    return info.state == KX_INDEX_READY;
}

static void *run_declarer(void *argument)
{
    struct actor *actor = argument;
    pthread_setname_np(pthread_self(), "declarer");
    for (int i = 0; i < DECLARATIONS; i++) {
        void *mem = talloc_new(NULL);
        struct kx_commit declare = {.command.kind = KX_DECLARE_INDEX,
                                    .command.declaration = kx_text(DECLARATION),
                                    .memory = mem};
        struct kx_commit drop = {.command.kind = KX_DROP_INDEX,
                                 .command.index_name = kx_text("by_n"),
                                 .memory = mem};
        expect(submit(actor, &declare), KX_OK, "a declaration");
        while (!is_ready(actor->reader))
            usleep(POLL_US);
        look(actor);
        if (i + 1 < DECLARATIONS)
            expect(submit(actor, &drop), KX_OK, "a drop");
        talloc_free(mem);
    }
    return NULL;
}

/* ---- One seed
 * ------------------------------------------------------------------ */

static void open_store(void)
{
    durable = 0;
    acknowledged = 0;
    memset(answered, 0, sizeof answered);
    test_store_place(&test, test_place());
    snprintf(archive, sizeof archive, "%s-archive", test.directory);
    test.options.cache_bytes = 1 << 20;
    test.options.checkpoint_seconds = 1;
    test.options.archive = archive;
    test.options.followed = seed % 2 == 0;
    test.options.archive_sync = seed % 4 == 0;
    test_store_open(&test);
}

static void fill_accounts(void)
{
    void *mem = talloc_new(NULL);
    struct kx_mutation mutations[ACCOUNTS];
    for (size_t i = 0; i < ACCOUNTS; i++)
        mutations[i] =
            (struct kx_mutation){.type = KX_SET,
                                 .key = account(mem, i),
                                 .value = test_json(value_of(mem, MONEY))};
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = ACCOUNTS, .memory = mem};
    expect(test_commit(&test, &commit), KX_OK, "the first commit");
    talloc_free(mem);
}

static void run_clients(void)
{
    struct actor actors[MOVERS + 2] = {{.run = run_reader},
                                       {.run = run_declarer}};
    for (size_t i = 0; i < MOVERS + 2; i++) {
        struct actor *actor = &actors[i];
        if (actor->run == NULL)
            actor->run = run_mover;
        actor->seed = seed + i;
        expect(kx_reader_open(test.store, &actor->reader), KX_OK, "a reader");
        pthread_create(&actor->thread, NULL, actor->run, actor);
    }
    for (size_t i = 0; i < MOVERS + 2; i++) {
        pthread_join(actors[i].thread, NULL);
        kx_reader_close(actors[i].reader);
    }
}

/* The archive of a closed store has all of its commits. */
static void check_archive(const char *listed, void *mem)
{
    char restored[sizeof test.directory + 16];
    struct kx_fault fault = {.detail = ""};
    snprintf(restored, sizeof restored, "%s-again", test.directory);
    struct kx_restore restore = {.source = archive, .directory = restored};
    if (kx_restore(&restore, &fault) != KX_OK)
        schedule_found("the archive: %s", fault.detail);
    struct test_store again = test;
    again.options.directory = restored;
    again.options.archive = NULL;
    again.options.followed = false;
    again.options.archive_sync = false;
    again.options.answer_context = &again;
    test_store_open(&again);
    if (strcmp(test_list(&again, mem, "[\"a\"]"), listed) != 0)
        schedule_found("the archive leads to %s, and not to %s",
                       test_list(&again, mem, "[\"a\"]"), listed);
    test_store_close(&again);
    test_remove(restored);
}

/* Runs `seed` once; returns the digest of its turns. */
static uint64_t run_seed(void)
{
    void *mem = talloc_new(NULL);
    schedule_begin(seed);
    open_store();
    fill_accounts();
    run_clients();
    const char *listed = test_list(&test, mem, "[\"a\"]");
    test_store_close(&test);
    test.store = NULL;
    uint64_t digest = schedule_end();
    check_archive(listed, mem);
    test_remove(archive);
    test_remove(test.directory);
    talloc_free(mem);
    return digest;
}

int main(int count, char **arguments)
{
    uint64_t seeds = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    kx_log_level(KX_LOG_ERROR);
    schedule_flushes(flush_begins, flush_ends);
    for (seed = first; seed < first + seeds; seed++) {
        uint64_t digest = run_seed();
        if (seed < first + TWICE && run_seed() != digest)
            schedule_found("the same seed took other turns");
    }
    printf("seeds %" PRIu64 " to %" PRIu64 "\n%" PRIu64 " passed, 0 failed\n",
           first, first + seeds - 1, seeds);
    return 0;
}
