#include "explain_model.h"

/* Bigints have at most 255 bytes. */
#define GREATEST                                                               \
    "126238304966058622268417487065116999845484776053576109500509"             \
    "161826268184136202698801551568013761380717534054534851164138"             \
    "648904527931605160527688095259563605939964364716019515983399"             \
    "209962459578542172100149937763938581219604072733422507180056"             \
    "009672540900709554109516816573779593326332288314873251559077"             \
    "853068444977864803391962580800682760017849589281937637993445"             \
    "539366428356761821065267423102149447628375691862210717202025"             \
    "241630303118559188678304314076943801692528246980959705901641"             \
    "444238894928620825482303431806955690226308773426829503900930"             \
    "529395181208739591967195841536053143145775307050594328881077"             \
    "553168201547775"
#define BIGINT(digits) "{\"type\":\"bigint\",\"value\":\"" digits "\"}"
#define BYTES(base64) "{\"type\":\"Uint8Array\",\"value\":\"" base64 "\"}"
#define NUMBER(name) "{\"type\":\"number\",\"value\":\"" name "\"}"

const struct model_value VALUES[COUNT] = {
    {BYTES(""), 1, 1, 1},
    {BYTES("AA"), 1, 2, 2},
    {BYTES("_w"), 1, 3, 3},
    {BYTES("_wA"), 1, 4, 4},
    {"\"\"", 2, 5, 5},
    {"\"\\u0000\"", 2, 6, 6},
    {"\"Y\"", 2, 7, 11},
    {"\"x\"", 2, 8, 8},
    {"\"x\\u0000\"", 2, 9, 9},
    {"\"xa\"", 2, 10, 10},
    {"\"y\"", 2, 11, 11},
    {"\"\xf4\x8f\xbf\xbf\"", 2, 12, 12},
    {"\"\xf4\x8f\xbf\xbf"
     "a\"",
     2, 13, 13},
    {BIGINT("-" GREATEST), 3, 14, 14},
    {BIGINT("-1"), 3, 15, 15},
    {BIGINT("0"), 3, 16, 16},
    {BIGINT("1"), 3, 17, 17},
    {BIGINT("256"), 3, 18, 18},
    {BIGINT(GREATEST), 3, 19, 19},
    {NUMBER("-Infinity"), 4, 20, 20},
    {"-1e308", 4, 21, 21},
    {"-1", 4, 22, 22},
    {"-5e-324", 4, 23, 23},
    {"0", 4, 24, 24},
    {"5e-324", 4, 25, 25},
    {"1", 4, 26, 26},
    {"2", 4, 27, 27},
    {"2.5", 4, 28, 28},
    {"7", 4, 29, 29},
    {"1e308", 4, 30, 30},
    {NUMBER("Infinity"), 4, 31, 31},
    {NUMBER("NaN"), 4, 32, 32},
    {"-0.0", 4, 24, 24}, /* equal to 0 */
    {NUMBER("-0"), 4, 24, 24},
    {"false", 5, 33, 33},
    {"true", 5, 34, 34},
    {"null", 0, 35, 35},
    {"{\"z\":1}", 0, 36, 36},
};
enum {
    OPERANDS = PLAIN + 1
}; /* so many of them, from the first, can be compared */
/* JSON numbers, with which a part of a key can be compared. */
enum { KEY_FIRST = 20, KEY_COUNT = 10 };

static const char *const COMPARISONS[] = {"eq", "ne", "gt", "ge",
                                          "lt", "le", "in", "exists"};

/* ---- Values and queries ------------------------------------------------- */

/* ---- The naive walk ----------------------------------------------------- */

static int fold(int value, bool folded)
{
    return folded ? VALUES[value].folded : VALUES[value].rank;
}

static bool ordered(enum query_comparison comparison, double a, double b)
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
static bool value_holds(const struct query_condition *wanted, int value)
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

/* The key's only part is a number, which only numbers can equal. */
static bool key_holds(const struct query_condition *wanted, size_t key)
{
    double operand = 0;
    int value = wanted->operands[0];
    kx_number_parse(kx_text(VALUES[value].text), &operand);
    if (wanted->comparison == EQ)
        return (double)key == operand;
    return ordered(wanted->comparison, (double)key, operand);
}

static bool holds(const struct query_condition *wanted,
                  const struct entry *entry, size_t key)
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

bool is_wanted(const struct query *query, const struct entry *entry, size_t key)
{
    for (size_t i = 0; i < query->wanted_count; i++)
        if (!holds(&query->wanted[i], entry, key))
            return false;
    for (size_t i = 0; i < query->order_count; i++)
        if (rank(&query->order[i], entry, key) == NONE)
            return false;
    return true;
}

int compare_entries(const struct entry *entries, const struct query *query,
                    size_t a, size_t b)
{
    for (size_t i = 0; i < query->order_count; i++) {
        int first = rank(&query->order[i], &entries[a], a);
        int second = rank(&query->order[i], &entries[b], b);
        if (first != second)
            return query->reverse != query->order[i].descending
                       ? second - first
                       : first - second;
    }
    return 0;
}

/* ---- Chance ------------------------------------------------------------- */

struct place random_place(uint64_t *seed)
{
    struct place place = {.member = (int)random_below(seed, 9) / 3};
    if (random_below(seed, 8) == 0)
        place.member = 3;
    place.folded = place.member < 3 && random_below(seed, 4) == 0;
    return place;
}

void write_place(const struct place *place, struct kx_buffer *out)
{
    static const char *const places[] = {"\"path\":\"/a\"", "\"path\":\"/b\"",
                                         "\"path\":\"/t\",\"each\":true",
                                         "\"key\":1"};
    kx_add_text(out, "{");
    kx_add_text(out, places[place->member]);
    if (place->folded)
        kx_add_text(out, ",\"fold\":\"lower\"");
    if (place->descending)
        kx_add_text(out, ",\"order\":\"desc\"");
}

struct query_condition random_wanted(uint64_t *seed)
{
    struct query_condition wanted = {.place = random_place(seed),
                                     .operand_count = 1};
    wanted.comparison = (enum query_comparison)(
        random_below(seed, 2) == 0 ? EQ : (int)random_below(seed, EXISTS + 1));
    bool simple = wanted.place.member > 1;
    if (simple && (wanted.comparison == NE || wanted.comparison >= IN))
        wanted.comparison = EQ;
    bool ordered_one = wanted.comparison >= GT && wanted.comparison <= LE;
    wanted.operands[0] =
        (int)random_below(seed, ordered_one || simple ? PLAIN : OPERANDS);
    wanted.operands[1] = (int)random_below(seed, OPERANDS);
    if (wanted.comparison == IN)
        wanted.operand_count = 2;
    if (wanted.comparison == EXISTS)
        wanted.operands[0] = (int)random_below(seed, 2);
    if (wanted.place.member == 3)
        wanted.operands[0] = KEY_FIRST + (int)random_below(seed, KEY_COUNT);
    return wanted;
}

void write_wanted(const struct query_condition *wanted, struct kx_buffer *out)
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

static struct place random_order(uint64_t *seed)
{
    struct place place = random_place(seed);
    if (place.member == 2)
        place.member = 0;
    place.descending = random_below(seed, 3) == 0;
    return place;
}

/* Makes it one of several values of a member in the order of the other. */
static void ask_several(struct query *query)
{
    struct query_condition *wanted = &query->wanted[0];
    if (query->wanted_count == 0 || wanted->place.member > 1 ||
        wanted->comparison == EXISTS)
        return;
    wanted->comparison = IN;
    wanted->operands[1] = (wanted->operands[0] + 3) % OPERANDS;
    wanted->operand_count = 2;
    query->wanted_count = query->order_count = 1;
    query->order[0] = (struct place){.member = 1 - wanted->place.member,
                                     .descending = query->reverse};
}

struct query random_query(uint64_t *seed)
{
    struct query query = {.wanted_count = random_below(seed, 4),
                          .order_count = random_below(seed, 3),
                          .reverse = random_below(seed, 2) == 0};
    for (size_t i = 0; i < query.wanted_count; i++)
        query.wanted[i] = random_wanted(seed);
    for (size_t i = 0; i < query.order_count; i++)
        query.order[i] = random_order(seed);
    if (random_below(seed, 5) == 0)
        ask_several(&query);
    return query;
}

void write_query(const struct query *query, struct kx_buffer *out)
{
    kx_add_text(out, "{\"prefix\":[\"e\"],\"where\":[");
    for (size_t i = 0; i < query->wanted_count; i++) {
        kx_add_text(out, i > 0 ? "," : "");
        write_wanted(&query->wanted[i], out);
    }
    kx_add_text(out, "],\"order\":[");
    for (size_t i = 0; i < query->order_count; i++) {
        kx_add_text(out, i > 0 ? "," : "");
        write_place(&query->order[i], out);
        kx_add_text(out, "}");
    }
    kx_add_text(out, query->reverse ? "],\"reverse\":true}" : "]}");
}
