/* Random questions about random entries, with random indexes: whatever request
 * an explanation gives finds just what a naive walk over the entries finds, in
 * the order asked for; with conditions left, at least that; and an index that
 * is advised answers the question. */
#include "ask.h"
#include "store.h"

enum { ENTRIES = 60, INDEXES = 10, QUESTIONS = 1500, NONE = -1 };

/* Values in the order of an index. Those of a type follow each other; what has
 * no place in the order has type 0. */
static const struct {
    const char *text;
    int type;
    int folded; /* the value that it is when it is folded */
} VALUES[] = {
    {"\"Y\"", 1, 2}, {"\"x\"", 1, 1}, {"\"y\"", 1, 2},      {"-1", 2, 3},
    {"2", 2, 4},     {"2.5", 2, 5},   {"7", 2, 6},          {"false", 3, 7},
    {"true", 3, 8},  {"null", 0, 9},  {"{\"z\":1}", 0, 10},
};
enum { OPERANDS = 10, PLAIN = 9, COUNT = 11, NUL = 9 };

/* An entry ["e", number] with members a and b, and an array t. */
struct entry {
    int member[2]; /* values, NONE: not there */
    int elements[3];
    size_t element_count;
};

struct place {
    int member; /* 0: a, 1: b, 2: t with each, 3: part 1 of the key */
    bool folded;
};

static const char *const COMPARISONS[] = {"eq", "ne", "gt", "ge",
                                          "lt", "le", "in", "exists"};
enum comparison { EQ, NE, GT, GE, LT, LE, IN, EXISTS };

struct wanted {
    struct place place;
    enum comparison comparison;
    int operands[2];
    size_t operand_count;
};

struct question {
    struct wanted wanted[3];
    size_t wanted_count;
    struct place order[2];
    size_t order_count;
    bool reverse;
};

struct world {
    struct story *story;
    uint64_t seed;
    struct entry entries[ENTRIES];
    const char *question; /* the present one, for messages */
};

/* Says which question and which index it was. */
static void check(const struct world *world, const struct kx_fit *fit,
                  bool good, const char *what)
{
    if (!good)
        fail_msg("%s: by index \"%.*s\": %s", world->question,
                 (int)fit->index.size, (const char *)fit->index.data, what);
}

static size_t below(struct world *world, size_t limit)
{
    return random_below(&world->seed, limit);
}

/* ---- The naive walk ------------------------------------------------------ */

static int fold(int value, bool folded)
{
    return folded ? VALUES[value].folded : value;
}

static bool ordered(enum comparison comparison, double a, double b)
{
    switch ((int)comparison) {
    case GT:
        return a > b;
    case GE:
        return a >= b;
    case LT:
        return a < b;
    default:
        return a <= b;
    }
}

/* NONE stands for nothing. */
static bool value_holds(const struct wanted *wanted, int value)
{
    bool folded = wanted->place.folded;
    bool equal = false;
    if (wanted->comparison == EXISTS)
        return (value != NONE) == (wanted->operands[0] != 0);
    for (size_t i = 0; i < wanted->operand_count; i++)
        equal |= value != NONE && value < OPERANDS &&
                 fold(value, folded) == fold(wanted->operands[i], folded);
    if (wanted->comparison == EQ || wanted->comparison == IN)
        return equal;
    if (wanted->comparison == NE)
        return !equal;
    int operand = wanted->operands[0];
    return value != NONE && VALUES[value].type != 0 &&
           VALUES[value].type == VALUES[operand].type &&
           ordered(wanted->comparison, fold(value, folded),
                   fold(operand, folded));
}

/* The key's only part is a number; operands of type 2 can be equal to it. */
static bool key_holds(const struct wanted *wanted, size_t key)
{
    double operand = 0;
    int value = wanted->operands[0];
    if (VALUES[value].type != 2)
        return false;
    kx_number_parse(kx_text(VALUES[value].text), &operand);
    if (wanted->comparison == EQ)
        return (double)key == operand;
    return ordered(wanted->comparison, (double)key, operand);
}

static bool holds(const struct wanted *wanted, const struct entry *entry,
                  size_t key)
{
    if (wanted->place.member == 3)
        return key_holds(wanted, key);
    if (wanted->place.member < 2)
        return value_holds(wanted, entry->member[wanted->place.member]);
    for (size_t i = 0; i < entry->element_count; i++)
        if (value_holds(wanted, entry->elements[i]))
            return true;
    return false;
}

/* A number that grows in the order asked for; NONE: it has no place there. */
static int rank(const struct place *place, const struct entry *entry,
                size_t key)
{
    if (place->member == 3)
        return (int)key;
    int value = entry->member[place->member];
    return value == NONE || VALUES[value].type == 0
               ? NONE
               : fold(value, place->folded);
}

static bool is_wanted(const struct question *question,
                      const struct entry *entry, size_t key)
{
    for (size_t i = 0; i < question->wanted_count; i++)
        if (!holds(&question->wanted[i], entry, key))
            return false;
    for (size_t i = 0; i < question->order_count; i++)
        if (rank(&question->order[i], entry, key) == NONE)
            return false;
    return true;
}

/* Less than 0: a comes before b. */
static int compare(const struct world *world, const struct question *question,
                   size_t a, size_t b)
{
    for (size_t i = 0; i < question->order_count; i++) {
        int first = rank(&question->order[i], &world->entries[a], a);
        int second = rank(&question->order[i], &world->entries[b], b);
        if (first != second)
            return question->reverse ? second - first : first - second;
    }
    return 0;
}

/* ---- Chance -------------------------------------------------------------- */

static struct place random_place(struct world *world)
{
    struct place place = {.member = (int)below(world, 9) / 3};
    if (below(world, 8) == 0)
        place.member = 3;
    place.folded = place.member < 3 && below(world, 4) == 0;
    return place;
}

static void write_place(const struct place *place, struct kx_buffer *out)
{
    static const char *const places[] = {"\"path\":\"/a\"", "\"path\":\"/b\"",
                                         "\"path\":\"/t\",\"each\":true",
                                         "\"key\":1"};
    kx_add_text(out, "{");
    kx_add_text(out, places[place->member]);
    if (place->folded)
        kx_add_text(out, ",\"fold\":\"lower\"");
}

static struct wanted random_wanted(struct world *world)
{
    struct wanted wanted = {.place = random_place(world), .operand_count = 1};
    wanted.comparison = (enum comparison)(
        below(world, 2) == 0 ? EQ : (int)below(world, EXISTS + 1));
    bool simple = wanted.place.member > 1;
    if (simple && (wanted.comparison == NE || wanted.comparison >= IN))
        wanted.comparison = EQ;
    bool ordered_one = wanted.comparison >= GT && wanted.comparison <= LE;
    wanted.operands[0] =
        (int)below(world, ordered_one || simple ? PLAIN : OPERANDS);
    wanted.operands[1] = (int)below(world, OPERANDS);
    if (wanted.comparison == IN)
        wanted.operand_count = 2;
    if (wanted.comparison == EXISTS)
        wanted.operands[0] = (int)below(world, 2);
    if (wanted.place.member == 3)
        wanted.operands[0] = 3 + (int)below(world, 4);
    return wanted;
}

static void write_wanted(const struct wanted *wanted, struct kx_buffer *out)
{
    write_place(&wanted->place, out);
    kx_add_text(out, ",\"");
    kx_add_text(out, COMPARISONS[wanted->comparison]);
    kx_add_text(out, "\":");
    if (wanted->comparison == EXISTS) {
        kx_add_text(out, wanted->operands[0] ? "true}" : "false}");
        return;
    }
    kx_add_text(out, wanted->comparison == IN ? "[" : "");
    kx_add_text(out, VALUES[wanted->operands[0]].text);
    if (wanted->comparison == IN) {
        kx_add_text(out, ",");
        kx_add_text(out, VALUES[wanted->operands[1]].text);
        kx_add_text(out, "]");
    }
    kx_add_text(out, "}");
}

static struct place random_order(struct world *world)
{
    struct place place = random_place(world);
    if (place.member == 2)
        place.member = 0;
    return place;
}

static struct question random_question(struct world *world)
{
    struct question question = {.wanted_count = below(world, 4),
                                .order_count = below(world, 3),
                                .reverse = below(world, 2) == 0};
    for (size_t i = 0; i < question.wanted_count; i++)
        question.wanted[i] = random_wanted(world);
    for (size_t i = 0; i < question.order_count; i++)
        question.order[i] = random_order(world);
    return question;
}

static void write_question(const struct question *question,
                           struct kx_buffer *out)
{
    kx_add_text(out, "{\"prefix\":[\"e\"],\"where\":[");
    for (size_t i = 0; i < question->wanted_count; i++) {
        kx_add_text(out, i > 0 ? "," : "");
        write_wanted(&question->wanted[i], out);
    }
    kx_add_text(out, "],\"order\":[");
    for (size_t i = 0; i < question->order_count; i++) {
        kx_add_text(out, i > 0 ? "," : "");
        write_place(&question->order[i], out);
        kx_add_text(out, "}");
    }
    kx_add_text(out, question->reverse ? "],\"reverse\":true}" : "]}");
}

static void random_entry(struct world *world, size_t key)
{
    struct entry *entry = &world->entries[key];
    char *name = talloc_asprintf(world->story->mem, "[\"e\",%zu]", key);
    char *value = talloc_strdup(world->story->mem, "{");
    entry->element_count = below(world, 4);
    for (int i = 0; i < 2; i++) {
        entry->member[i] =
            below(world, 6) == 0 ? NONE : (int)below(world, COUNT);
        if (entry->member[i] != NONE)
            value = talloc_asprintf_append(value, "\"%c\":%s,", 'a' + i,
                                           VALUES[entry->member[i]].text);
    }
    value = talloc_asprintf_append(value, "\"t\":[");
    for (size_t i = 0; i < entry->element_count; i++) {
        entry->elements[i] = (int)below(world, PLAIN);
        value = talloc_asprintf_append(value, "%s%s", i > 0 ? "," : "",
                                       VALUES[entry->elements[i]].text);
    }
    value = talloc_asprintf_append(value, "]}");
    assert_int_equal(
        test_set(&world->story->test, world->story->mem, name, value), KX_OK);
}

static bool random_index(struct world *world, size_t number)
{
    struct kx_buffer text;
    struct place first = random_place(world);
    struct place second = random_place(world);
    kx_buffer_init(&text, world->story->mem);
    char *name =
        talloc_asprintf(world->story->mem, "{\"name\":\"i%zu\",", number);
    kx_add_text(&text, name);
    kx_add_text(&text, "\"prefix\":[\"e\"],\"fields\":[");
    write_place(&first, &text);
    if (below(world, 2) == 0) {
        kx_add_text(&text, "},");
        write_place(&second, &text);
    }
    kx_add_text(&text, below(world, 2) == 0 ? "}],\"store\":\"value\""
                                            : "}],\"store\":\"pointer\"");
    struct wanted own = random_wanted(world);
    own.place.folded = false;
    if (below(world, 3) == 0 && own.place.member < 2) {
        kx_add_text(&text, ",\"where\":");
        write_wanted(&own, &text);
    }
    kx_add_text(&text, "}");
    kx_add_byte(&text, '\0');
    return test_declare(&world->story->test, world->story->mem,
                        (const char *)text.data) == KX_OK;
}

/* Until no index is being built; the writer works all the time. */
static void wait_built(struct test_store *test)
{
    struct kx_index_info info;
    bool building = true;
    while (building) {
        building = false;
        kx_read_begin(test->reader);
        for (size_t n = 0; kx_index_at(test->reader, n, &info) == KX_OK; n++)
            building |= info.state == KX_INDEX_BUILDING;
        kx_read_end(test->reader);
        usleep(building ? 1000 : 0);
    }
}

/* ---- The questions ------------------------------------------------------- */

/* Follows a fit, and marks what comes; `exactly`: nothing else may come, and it
 * must come in order. */
static size_t follow(struct world *world, const struct question *question,
                     const struct kx_fit *fit, bool exactly)
{
    struct kx_reader *reader = world->story->test.reader;
    struct selection selection;
    struct selector selector;
    struct kx_estimate estimate;
    struct flaw flaw;
    struct kx_entry entry;
    bool seen[ENTRIES] = {false};
    size_t last = ENTRIES;
    size_t rows = 0;
    selection_init(&selection, world->story->mem);
    assert_true(ask_estimate(fit, reader, &selection, &estimate));
    assert_true(selector_make(&selection, world->story->mem, &selector, &flaw));
    kx_read_begin(reader);
    assert_int_equal(selector_scan(&selector, reader, NULL), KX_OK);
    for (; kx_scan_next(reader, &entry) == KX_OK; rows++) {
        struct kx_key_reader key;
        struct kx_part part;
        kx_key_read(&key, entry.key);
        kx_key_next(&key, &part);
        assert_int_equal(kx_key_next(&key, &part), KX_OK);
        size_t n = (size_t)part.number;
        if (exactly) {
            check(world, fit, !seen[n], "an entry came twice");
            check(world, fit, is_wanted(question, &world->entries[n], n),
                  "an entry came that was not asked for");
            check(world, fit,
                  last == ENTRIES || compare(world, question, last, n) <= 0,
                  "the order is another");
        }
        seen[n] = true;
        last = n;
    }
    kx_read_end(reader);
    check(world, fit, estimate.exact && estimate.rows == rows,
          "the number of rows is another");
    for (size_t n = 0; n < ENTRIES; n++)
        check(world, fit,
              seen[n] || !is_wanted(question, &world->entries[n], n),
              "an entry is missing");
    return rows;
}

/* How often something was tried. */
struct tally {
    size_t answered;
    size_t filtered;
    size_t by_entries;
    size_t advised;
};

static void try_fit(struct world *world, const struct question *question,
                    const struct kx_fit *fit, struct tally *tally)
{
    if (fit->misfits == 0) {
        follow(world, question, fit, true);
        tally->answered++;
    } else if (fit->misfits == 1u << KX_MISFIT_CONDITIONS) {
        follow(world, question, fit, false);
        tally->filtered++;
    }
}

/* The advised index is declared, must answer, and is dropped. */
static void try_advice(struct world *world, const struct question *question,
                       struct kx_question *asked, struct tally *tally)
{
    struct test_store *test = &world->story->test;
    struct kx_buffer advice;
    struct kx_slice name;
    struct kx_fit fit;
    kx_buffer_init(&advice, world->story->mem);
    kx_read_begin(test->reader);
    enum kx_status status = kx_advise(test->reader, asked, &advice);
    kx_read_end(test->reader);
    if (status == KX_ABSENT)
        return;
    kx_add_byte(&advice, '\0'); /* nothing is added after it: it stays here */
    kx_json_find(kx_buffer_slice(&advice), kx_text("/name"), &name);
    name = kx_slice(name.data + 1, name.size - 2);
    assert_int_equal(
        test_declare(test, world->story->mem, (const char *)advice.data),
        KX_OK);
    wait_built(test);
    bool found = false;
    for (size_t n = 0; !found; n++) {
        kx_read_begin(test->reader);
        status = kx_fit_at(test->reader, asked, n, &fit);
        kx_read_end(test->reader);
        assert_int_equal(status, KX_OK);
        found = kx_equal(fit.index, name);
    }
    assert_int_equal(fit.misfits, 0);
    follow(world, question, &fit, true);
    struct kx_commit drop = {
        .kind = KX_DROP_INDEX, .index_name = name, .memory = world->story->mem};
    assert_int_equal(test_commit(test, &drop), KX_OK);
    tally->advised++;
}

static void try_question(struct world *world, bool advice, struct tally *tally)
{
    struct kx_reader *reader = world->story->test.reader;
    struct question question = random_question(world);
    struct kx_question *asked = NULL;
    struct kx_buffer text;
    struct kx_fault fault;
    struct kx_fit fit;
    kx_buffer_init(&text, world->story->mem);
    write_question(&question, &text);
    world->question =
        talloc_strndup(world->story->mem, (const char *)text.data, text.size);
    enum kx_status status = kx_question_read(
        world->story->mem, kx_buffer_slice(&text), &asked, &fault);
    if (status != KX_OK)
        fail_msg("%s: %s", world->question, fault.detail);
    kx_fit_entries(asked, &fit);
    tally->by_entries += fit.misfits == 0;
    try_fit(world, &question, &fit, tally);
    for (size_t n = 0; status == KX_OK; n++) {
        kx_read_begin(reader);
        status = kx_fit_at(reader, asked, n, &fit);
        kx_read_end(reader);
        if (status == KX_OK)
            try_fit(world, &question, &fit, tally);
    }
    if (advice)
        try_advice(world, &question, asked, tally);
}

static void requests_find_what_is_asked_for(void **state)
{
    struct world world = {.story = *state,
                          .seed = random_seed("explain_random_test")};
    struct tally tally = {0};
    for (int round = 0; round < 4; round++) {
        for (size_t key = 0; key < ENTRIES; key++)
            random_entry(&world, key);
        for (size_t i = 0; i < INDEXES; i++)
            random_index(&world, (size_t)round * INDEXES + i);
        wait_built(&world.story->test);
        for (int i = 0; i < QUESTIONS / 4; i++)
            try_question(&world, i % 10 == 0, &tally);
    }
    print_message("answered %zu, filtered %zu, entries %zu, advised %zu\n",
                  tally.answered, tally.filtered, tally.by_entries,
                  tally.advised);
    assert_true(tally.answered > 500);
    assert_true(tally.filtered > 200);
    assert_true(tally.by_entries > 20);
    assert_true(tally.advised > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_find_what_is_asked_for, begin,
                                        finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
