/* Random claims, receipts and writes of the jobs of one queue, with a clock
 * that only the test moves: after each, the result is that of a model, which
 * knows nothing of records and index rows. */
#include "store.h"

#define QUEUE                                                                  \
    "{\"name\":\"jobs_due\",\"prefix\":[\"jobs\"],\"fields\":[\"/due\"],"      \
    "\"queue\":{\"lease\":\"50ms\",\"retries\":[\"10ms\",\"30ms\"],"           \
    "\"dead\":[\"dead\"]}}"

enum { JOBS = 8, STEPS = 4000, LEASE = 50, SPAN = 40, CLAIM_MOST = 4 };

struct model_job {
    bool there;
    int64_t due_ms;
    int64_t not_before_ms;
    uint64_t claim; /* 0: not leased */
    unsigned attempts;
};

struct model {
    struct story *story;
    uint64_t seed;
    int64_t now_ms;
    struct model_job jobs[JOBS];
    uint64_t last_claim[JOBS]; /* of any claim so far, also one that ended */
    unsigned dead;
    unsigned stale; /* receipts that were refused */
    unsigned done;  /* receipts that were accepted */
};

static const char *key_of(void *mem, int n)
{
    return talloc_asprintf(mem, "[\"jobs\",%d]", n);
}

static int64_t position(const struct model_job *job)
{
    return job->not_before_ms > job->due_ms ? job->not_before_ms : job->due_ms;
}

/* The job that a claim gets next, or -1. */
static int next_due(const struct model *model)
{
    int best = -1;
    for (int n = 0; n < JOBS; n++) {
        const struct model_job *job = &model->jobs[n];
        if (job->there && position(job) <= model->now_ms &&
            (best < 0 || position(job) < position(&model->jobs[best])))
            best = n;
    }
    return best;
}

static void write_job(struct model *model, void *mem, int n)
{
    int64_t due_ms =
        model->now_ms + (int64_t)random_below(&model->seed, SPAN) - SPAN / 2;
    char *value = talloc_asprintf(mem, "{\"due\":%lld}", (long long)due_ms);
    assert_int_equal(test_set(&model->story->test, mem, key_of(mem, n), value),
                     KX_OK);
    model->jobs[n] = (struct model_job){.there = true, .due_ms = due_ms};
}

static void claim_jobs(struct model *model, void *mem)
{
    size_t limit = random_below(&model->seed, CLAIM_MOST) + 1;
    struct kx_by queue = {.index = kx_text("jobs_due")};
    struct kx_mutation claim = {.type = KX_CLAIM, .by = &queue, .limit = limit};
    struct kx_commit commit = {
        .mutations = &claim, .mutation_count = 1, .memory = mem};
    assert_int_equal(test_commit(&model->story->test, &commit), KX_OK);
    assert_true(commit.in_range <= limit);
    for (size_t i = 0; i < commit.in_range; i++) {
        int n = next_due(model);
        assert_true(n >= 0);
        struct model_job *job = &model->jobs[n];
        const struct kx_entry *got = &commit.entries[i];
        assert_true(kx_equal(got->key, test_key(mem, key_of(mem, n))));
        job->attempts++;
        job->not_before_ms = model->now_ms + LEASE;
        job->claim = model->last_claim[n] = commit.stamp;
        assert_true(got->has_job && got->job.claim == commit.stamp);
        assert_int_equal(got->job.attempts, job->attempts);
        assert_true(got->job.not_before_ms == job->not_before_ms);
    }
    assert_true(commit.in_range == limit || next_due(model) < 0);
    assert_int_equal(commit.more, next_due(model) >= 0);
    assert_int_equal(commit.stamp != 0, commit.in_range > 0);
}

static void fail_job(struct model *model, struct model_job *job)
{
    static const int64_t pauses[] = {10, 30};
    job->claim = 0;
    if (job->attempts <= sizeof pauses / sizeof *pauses) {
        job->not_before_ms = model->now_ms + pauses[job->attempts - 1];
        return;
    }
    *job = (struct model_job){.there = false};
    model->dead++;
}

/* Uses the receipt of the job's last claim, which may have ended. */
static void use_receipt(struct model *model, void *mem, int n)
{
    static const enum kx_mutation_type types[] = {KX_ACK, KX_EXTEND, KX_RELEASE,
                                                  KX_FAIL, KX_FAIL};
    struct model_job *job = &model->jobs[n];
    struct kx_job_change change = {.queue = kx_text("jobs_due"),
                                   .claim = model->last_claim[n],
                                   .pause_ms = -1,
                                   .error = kx_text("failed")};
    struct kx_mutation use = {.type = types[random_below(&model->seed, 5)],
                              .key = test_key(mem, key_of(mem, n)),
                              .job = &change};
    struct kx_commit commit = {
        .mutations = &use, .mutation_count = 1, .memory = mem};
    bool valid = job->there && job->claim != 0 && job->claim == change.claim &&
                 job->not_before_ms > model->now_ms;
    assert_int_equal(test_commit(&model->story->test, &commit),
                     valid ? KX_OK : KX_RECEIPT_STALE);
    model->done += valid;
    model->stale += !valid;
    if (!valid)
        return;
    if (use.type == KX_ACK) {
        *job = (struct model_job){.there = false};
    } else if (use.type == KX_EXTEND) {
        job->not_before_ms = model->now_ms + LEASE;
    } else if (use.type == KX_RELEASE) {
        job->not_before_ms = model->now_ms;
        job->claim = 0;
        job->attempts--;
    } else {
        fail_job(model, job);
    }
}

static unsigned count_dead(struct story *s)
{
    struct kx_entry entry;
    struct kx_range range = {.start = test_key(s->mem, "[\"dead\"]"),
                             .end = test_key(s->mem, "[\"deae\"]")};
    unsigned count = 0;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_scan(s->test.reader, &range, NULL), KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK) {
        assert_true(entry.has_job && entry.job.attempts >= 3);
        assert_true(kx_equal(entry.job.error, kx_text("failed")));
        count++;
    }
    kx_scan_end(s->test.reader);
    kx_read_end(s->test.reader);
    return count;
}

TEST_WITH(claims_and_receipts_follow_the_model, begin, finish)
{
    struct model model = {.story = *state, .now_ms = 2000000000000};
    struct story *s = *state;
    model.seed = random_seed("jobs");
    kx_clock_set(model.now_ms);
    assert_int_equal(test_declare(&s->test, s->mem, QUEUE), KX_OK);
    for (int step = 0; step < STEPS; step++) {
        void *mem = talloc_new(s->mem);
        int n = (int)random_below(&model.seed, JOBS);
        switch (random_below(&model.seed, 8)) {
        case 0:
            write_job(&model, mem, n);
            break;
        case 1:
        case 2:
        case 3:
            claim_jobs(&model, mem);
            break;
        case 4:
        case 5:
        case 6:
            if (model.last_claim[n] != 0)
                use_receipt(&model, mem, n);
            break;
        default:
            model.now_ms += (int64_t)random_below(&model.seed, SPAN);
            kx_clock_set(model.now_ms);
            break;
        }
        talloc_free(mem);
    }
    assert_true(model.dead > 10 && model.stale > 100 && model.done > 100);
    assert_int_equal(count_dead(s), model.dead);
}
