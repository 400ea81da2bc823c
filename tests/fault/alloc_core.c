/* Each public operation of the core, with the n-th allocation failing for every
 * n until none does. What is refused has changed nothing, what is done is done
 * whole, the same operation succeeds when it is repeated, and when the store is
 * closed nothing is left.
 *
 *   alloc_core STEP [OPERATION [N]]      every STEP-th n; this one only
 */
#include "alloc_world.h"

#include <dirent.h>

#include "commit/store_state.h"

enum { BEYOND = 3, STACK_BYTES = 1 << 20 };

/* Which allocations fail; step 0: the first only. */
struct course {
    size_t first;
    size_t step;
};

static size_t passed, points;
static uint64_t seed;

/* ---- The sweep ---------------------------------------------------------- */

static void undo(struct world *world, const struct operation *operation)
{
    if (operation->undo != NULL)
        operation->undo(world);
}

static void repeat(struct world *world, const struct operation *operation,
                   enum kx_status wanted, const char *right)
{
    enum kx_status status = operation->run(world);
    if (status != wanted)
        wrong("%s when it is repeated", kx_status_name(status));
    if (strcmp(world_show(&world->test, world->mem), right) != 0)
        wrong("the repetition leaves another state");
}

/* Runs it with the n-th allocation failing; false when none did. */
static bool try_point(struct world *world, const struct operation *operation,
                      enum kx_status wanted, const char *const states[2])
{
    void *mem = world->mem = talloc_new(NULL);
    /* Values are assumed to be new each time. */
    world->test.store->writer.pessimistic = 0;
    alloc_arm(attempt.point, world->persistent);
    enum kx_status status = operation->run(world);
    size_t failed = alloc_disarm();
    const char *right = states[status == wanted ? 1 : 0];
    if (status != wanted && status != KX_NO_MEMORY)
        wrong("%s instead of %s", kx_status_name(status),
              kx_status_name(wanted));
    if (kx_store_failed(world->test.store))
        wrong("the store has failed");
    const char *now = world_show(&world->test, mem);
    if (strcmp(now, right) != 0)
        wrong("after %s there is\n%s\ninstead of\n%s", kx_status_name(status),
              now, right);
    if (status != wanted)
        repeat(world, operation, wanted, states[1]);
    undo(world, operation);
    if (strcmp(world_show(&world->test, mem), states[0]) != 0)
        wrong("what was done cannot be undone");
    talloc_free(mem);
    points += failed > 0;
    return failed > 0;
}

/* Threads that work meanwhile make it more or fewer allocations from time to
 * time: the end is where several points in a row have had none that failed. */
static void try_points(struct world *world, const struct operation *operation,
                       const struct course *course, const char *const states[2],
                       enum kx_status wanted)
{
    size_t before = attempt.failures;
    attempt.point = course->first;
    for (int none = 0;
         none < BEYOND && attempt.failures<before + 3; attempt.point += none> 0
             ? 1
             : course->step) {
        none = try_point(world, operation, wanted, states) ? 0 : none + 1;
        if (course->step == 0)
            break;
    }
}

/* The points of one operation on one store. */
static void sweep(struct world *world, const struct operation *operation,
                  const struct course *course)
{
    void *mem = world->mem = talloc_new(NULL);
    const char *states[2] = {NULL};
    attempt.point = 0;
    operation->furnish(world);
    states[0] = world_show(&world->test, mem);
    enum kx_status wanted = operation->run(world);
    states[1] = world_show(&world->test, mem);
    undo(world, operation);
    if (strcmp(world_show(&world->test, mem), states[0]) != 0)
        wrong("it cannot be undone");
    try_points(world, operation, course, states, wanted);
    talloc_free(mem);
}

/* ---- What is left ------------------------------------------------------- */

static size_t open_descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    size_t count = 0;
    while (list != NULL && readdir(list) != NULL)
        count++;
    if (list != NULL)
        closedir(list);
    return count;
}

/* Nothing must be left when the store is closed. */
static void run(const struct operation *operation, const struct course *course,
                bool persistent)
{
    struct world world = {.persistent = persistent};
    size_t failed = attempt.failures;
    attempt.operation = operation->name;
    alloc_trace();
    long live = alloc_live();
    size_t descriptors = open_descriptors();
    world_new(&world);
    sweep(&world, operation, course);
    world_remove(&world);
    if (open_descriptors() != descriptors)
        wrong("%zd descriptors are left",
              (ssize_t)(open_descriptors() - descriptors));
    if (alloc_live() != live)
        wrong("%ld blocks are left in all", alloc_live() - live);
    if (alloc_live() != live)
        alloc_left();
    if (attempt.failures == failed) {
        passed++;
        printf("ok      %s: up to allocation %zu, from %zu by %zu%s\n",
               operation->name, attempt.point, course->first, course->step,
               persistent ? ", and all after it" : "");
    }
    fflush(stdout);
}

/* Each operation of one noun; the first offset is random. */
static void run_all(const struct operations *operations, const char *only,
                    size_t step, size_t n)
{
    if (step > 1)
        step *= operations->stride;
    for (size_t i = 0; i < operations->count; i++) {
        struct course course = {.first = n, .step = 0};
        if (n == 0)
            course = (struct course){1 + random_below(&seed, step), step};
        if (only != NULL && strcmp(only, operations->list[i].name) != 0)
            continue;
        run(&operations->list[i], &course, false);
        run(&operations->list[i], &course, true);
    }
}

/* What is allocated once in a process; and the C library keeps stacks of
 * threads that have ended, 40 MiB of them: small ones, and so many that none is
 * made later. */
static void warm_up(void)
{
    struct world worlds[3] = {{.persistent = false}};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < 3; i++)
        world_new(&worlds[i]);
    for (int i = 0; i < 3; i++)
        world_remove(&worlds[i]);
}

int main(int argc, char **argv)
{
    static const struct operations *const NOUNS[] = {
        &ALLOC_COMMITS, &ALLOC_READS, &ALLOC_INDEXES, &ALLOC_TOKENS,
        &ALLOC_FILES};
    size_t step = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    seed = random_seed("alloc_core");
    kx_log_level(KX_LOG_ERROR);
    warm_up();
    for (size_t i = 0; i < sizeof NOUNS / sizeof *NOUNS; i++)
        run_all(NOUNS[i], argc > 2 ? argv[2] : NULL, step, n);
    printf("%zu allocations failed\n", points);
    printf("%zu passed, %zu failed\n", passed, attempt.failures);
    return attempt.failures > 0 ? 1 : 0;
}
