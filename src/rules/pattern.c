/* One file because parser, construction and matching share the automaton.
 *
 * The automaton is that of Glushkov: each character or class of the pattern,
 * with repeats written out, is a position, and a state is the set of positions
 * that may have consumed the last character. A set is a row of bits.
 *
 * Assertions (^, $, \b, \B) depend only on the two characters around a
 * boundary. So the construction runs once for each kind of boundary, where an
 * assertion either holds (and matches nothing) or fails. */
#include "rules/pattern.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <talloc.h>
#include <utf8proc.h>

#include "json/json_string.h"

enum {
    LAST_CHARACTER = 0x10ffff,
    CATEGORIES = 30, /* of utf8proc */
    WORD_BITS = 64,
    WORDS_MAX = PATTERN_POSITIONS_MAX / WORD_BITS + 1,
    ASCII = PATTERN_ASCII
};

/* What is around a boundary between characters. */
enum boundary {
    AT_BEGIN = 1,
    AT_END = 2,
    AFTER_WORD = 4,
    BEFORE_WORD = 8,
    BOUNDARIES = 16
};

/* ---- What is parsed ----------------------------------------------------- */

enum part_kind {
    PART_SEQUENCE, /* parts, one after the other */
    PART_CHOICE,   /* one of the parts */
    PART_REPEAT,   /* the part, min to max times */
    PART_SET,      /* a character or class */
    PART_ASSERTION
};

enum { REPEAT_FOREVER = UINT32_MAX };

/* Parts are numbered; 0 is no part. */
struct pattern_part {
    enum part_kind kind;
    uint32_t first;  /* the first part inside */
    uint32_t next;   /* the next part of the sequence or choice around */
    uint32_t min;    /* PART_REPEAT */
    uint32_t max;    /* PART_REPEAT */
    uint32_t set;    /* PART_SET: its number */
    uint32_t symbol; /* PART_ASSERTION: one of ^ $ b B */
    uint32_t size;   /* positions, at most PATTERN_POSITIONS_MAX + 1 */
};

struct pattern_range {
    uint32_t low;
    uint32_t high;
};

/* A character belongs to the class if it is in one of the ranges or
 * categories; if negated, if it is in none. */
struct pattern_set {
    uint32_t range; /* the first of its ranges */
    uint32_t range_count;
    uint32_t categories; /* a bit for each */
    bool negated;
};

struct pattern_parser {
    void *memory;
    struct kx_fault *fault;
    enum kx_status status;
    uint32_t *text;
    size_t count;
    size_t at;
    size_t depth;
    struct pattern_part *parts;
    uint32_t part_count;
    struct pattern_set *sets;
    uint32_t set_count;
    struct pattern_range *ranges; /* room for PATTERN_RANGES_MAX */
    uint32_t range_count;
    bool has_word_assertions;
};

/* Notes why the pattern is refused. Always false. */
static bool __attribute__((format(printf, 2, 3)))
refuse(struct pattern_parser *parser, const char *format, ...)
{
    char reason[KX_DETAIL_MAX / 2];
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    parser->status =
        kx_fail(parser->fault, KX_BAD_VALUE, "character %zu of the pattern: %s",
                parser->at + 1, reason);
    return false;
}

static bool at_end(const struct pattern_parser *parser)
{
    return parser->at == parser->count;
}

/* The character `ahead` after the next one; 0 beyond the end. A pattern may
 * have the character 0, which means only itself. */
static uint32_t peek(const struct pattern_parser *parser, size_t ahead)
{
    return ahead < parser->count - parser->at ? parser->text[parser->at + ahead]
                                              : 0;
}

static bool skip(struct pattern_parser *parser, uint32_t wanted)
{
    if (at_end(parser) || peek(parser, 0) != wanted)
        return false;
    parser->at++;
    return true;
}

static bool skip_text(struct pattern_parser *parser, const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (peek(parser, i) != (uint8_t)text[i])
            return false;
    parser->at += size;
    return true;
}

static uint32_t add_part(struct pattern_parser *parser, enum part_kind kind)
{
    uint32_t number = ++parser->part_count;
    parser->parts[number] = (struct pattern_part){.kind = kind};
    return number;
}

/* ---- Classes of characters ---------------------------------------------- */

static bool add_range(struct pattern_parser *parser, uint32_t low,
                      uint32_t high)
{
    if (parser->range_count == PATTERN_RANGES_MAX)
        return refuse(parser, "the classes have more than %d ranges",
                      (int)PATTERN_RANGES_MAX);
    parser->ranges[parser->range_count++] =
        (struct pattern_range){.low = low, .high = high};
    parser->sets[parser->set_count].range_count++;
    return true;
}

/* Begins a class. Its ranges and categories are added to
 * sets[set_count]. */
static struct pattern_set *begin_set(struct pattern_parser *parser)
{
    struct pattern_set *set = &parser->sets[parser->set_count];
    *set = (struct pattern_set){.range = parser->range_count};
    return set;
}

static uint32_t end_set(struct pattern_parser *parser)
{
    uint32_t part = add_part(parser, PART_SET);
    parser->parts[part].set = parser->set_count++;
    return part;
}

static const struct pattern_range digits[] = {{'0', '9'}};
static const struct pattern_range word_characters[] = {
    {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct pattern_range spaces[] = {
    {'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
    {0x3000, 0x3000}, {0xfeff, 0xfeff}};
static const struct pattern_range line_ends[] = {
    {'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

/* Adds what is between sorted ranges. */
static bool add_between(struct pattern_parser *parser,
                        const struct pattern_range *ranges, size_t count)
{
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].low > next && !add_range(parser, next, ranges[i].low - 1))
            return false;
        next = ranges[i].high + 1;
    }
    return add_range(parser, next, LAST_CHARACTER);
}

/* Adds sorted ranges, or what is between them. */
static bool add_ranges(struct pattern_parser *parser,
                       const struct pattern_range *ranges, size_t count,
                       bool between)
{
    if (between)
        return add_between(parser, ranges, count);
    for (size_t i = 0; i < count; i++)
        if (!add_range(parser, ranges[i].low, ranges[i].high))
            return false;
    return true;
}

static bool is_word(uint32_t character)
{
    return character < ASCII &&
           (character == '_' || (character | 0x20) - 'a' < 26 ||
            character - '0' < 10);
}

/* Adds \d, \D, \w, \W, \s or \S. */
static bool add_class_escape(struct pattern_parser *parser, uint32_t letter)
{
    switch (letter) {
    case 'd':
    case 'D':
        return add_ranges(parser, digits, 1, letter == 'D');
    case 'w':
    case 'W':
        return add_ranges(parser, word_characters, 4, letter == 'W');
    default:
        return add_ranges(parser, spaces, sizeof spaces / sizeof *spaces,
                          letter == 'S');
    }
}

enum {
    CATEGORY_LC = 1 << UTF8PROC_CATEGORY_LU | 1 << UTF8PROC_CATEGORY_LL |
                  1 << UTF8PROC_CATEGORY_LT,
    CATEGORY_L =
        CATEGORY_LC | 1 << UTF8PROC_CATEGORY_LM | 1 << UTF8PROC_CATEGORY_LO,
    CATEGORY_M = 1 << UTF8PROC_CATEGORY_MN | 1 << UTF8PROC_CATEGORY_MC |
                 1 << UTF8PROC_CATEGORY_ME,
    CATEGORY_N = 1 << UTF8PROC_CATEGORY_ND | 1 << UTF8PROC_CATEGORY_NL |
                 1 << UTF8PROC_CATEGORY_NO,
    CATEGORY_P = 1 << UTF8PROC_CATEGORY_PC | 1 << UTF8PROC_CATEGORY_PD |
                 1 << UTF8PROC_CATEGORY_PS | 1 << UTF8PROC_CATEGORY_PE |
                 1 << UTF8PROC_CATEGORY_PI | 1 << UTF8PROC_CATEGORY_PF |
                 1 << UTF8PROC_CATEGORY_PO,
    CATEGORY_S = 1 << UTF8PROC_CATEGORY_SM | 1 << UTF8PROC_CATEGORY_SC |
                 1 << UTF8PROC_CATEGORY_SK | 1 << UTF8PROC_CATEGORY_SO,
    CATEGORY_Z = 1 << UTF8PROC_CATEGORY_ZS | 1 << UTF8PROC_CATEGORY_ZL |
                 1 << UTF8PROC_CATEGORY_ZP,
    CATEGORY_C = 1 << UTF8PROC_CATEGORY_CC | 1 << UTF8PROC_CATEGORY_CF |
                 1 << UTF8PROC_CATEGORY_CS | 1 << UTF8PROC_CATEGORY_CO |
                 1 << UTF8PROC_CATEGORY_CN,
    CATEGORY_ANY = (1 << CATEGORIES) - 1
};

static const struct {
    const char *names; /* each between spaces */
    uint32_t categories;
} category_rows[] = {
    {" Any ", CATEGORY_ANY},
    {" Assigned ", CATEGORY_ANY & ~(1 << UTF8PROC_CATEGORY_CN)},
    {" L Letter ", CATEGORY_L},
    {" LC Cased_Letter ", CATEGORY_LC},
    {" Lu Uppercase_Letter ", 1 << UTF8PROC_CATEGORY_LU},
    {" Ll Lowercase_Letter ", 1 << UTF8PROC_CATEGORY_LL},
    {" Lt Titlecase_Letter ", 1 << UTF8PROC_CATEGORY_LT},
    {" Lm Modifier_Letter ", 1 << UTF8PROC_CATEGORY_LM},
    {" Lo Other_Letter ", 1 << UTF8PROC_CATEGORY_LO},
    {" M Mark Combining_Mark ", CATEGORY_M},
    {" Mn Nonspacing_Mark ", 1 << UTF8PROC_CATEGORY_MN},
    {" Mc Spacing_Mark ", 1 << UTF8PROC_CATEGORY_MC},
    {" Me Enclosing_Mark ", 1 << UTF8PROC_CATEGORY_ME},
    {" N Number ", CATEGORY_N},
    {" Nd Decimal_Number digit ", 1 << UTF8PROC_CATEGORY_ND},
    {" Nl Letter_Number ", 1 << UTF8PROC_CATEGORY_NL},
    {" No Other_Number ", 1 << UTF8PROC_CATEGORY_NO},
    {" P Punctuation punct ", CATEGORY_P},
    {" Pc Connector_Punctuation ", 1 << UTF8PROC_CATEGORY_PC},
    {" Pd Dash_Punctuation ", 1 << UTF8PROC_CATEGORY_PD},
    {" Ps Open_Punctuation ", 1 << UTF8PROC_CATEGORY_PS},
    {" Pe Close_Punctuation ", 1 << UTF8PROC_CATEGORY_PE},
    {" Pi Initial_Punctuation ", 1 << UTF8PROC_CATEGORY_PI},
    {" Pf Final_Punctuation ", 1 << UTF8PROC_CATEGORY_PF},
    {" Po Other_Punctuation ", 1 << UTF8PROC_CATEGORY_PO},
    {" S Symbol ", CATEGORY_S},
    {" Sm Math_Symbol ", 1 << UTF8PROC_CATEGORY_SM},
    {" Sc Currency_Symbol ", 1 << UTF8PROC_CATEGORY_SC},
    {" Sk Modifier_Symbol ", 1 << UTF8PROC_CATEGORY_SK},
    {" So Other_Symbol ", 1 << UTF8PROC_CATEGORY_SO},
    {" Z Separator ", CATEGORY_Z},
    {" Zs Space_Separator ", 1 << UTF8PROC_CATEGORY_ZS},
    {" Zl Line_Separator ", 1 << UTF8PROC_CATEGORY_ZL},
    {" Zp Paragraph_Separator ", 1 << UTF8PROC_CATEGORY_ZP},
    {" C Other ", CATEGORY_C},
    {" Cc Control cntrl ", 1 << UTF8PROC_CATEGORY_CC},
    {" Cf Format ", 1 << UTF8PROC_CATEGORY_CF},
    {" Cs Surrogate ", 1 << UTF8PROC_CATEGORY_CS},
    {" Co Private_Use ", 1 << UTF8PROC_CATEGORY_CO},
    {" Cn Unassigned ", 1 << UTF8PROC_CATEGORY_CN},
};

/* Takes {NAME} after \p, and puts the name between spaces. */
static bool take_property(struct pattern_parser *parser, char *name,
                          size_t room)
{
    size_t size = 1;
    bool opened = skip(parser, '{');
    if (!skip_text(parser, "General_Category="))
        skip_text(parser, "gc=");
    name[0] = ' ';
    while (size < room - 2 &&
           (is_word(peek(parser, 0)) || peek(parser, 0) == '='))
        name[size++] = (char)parser->text[parser->at++];
    name[size] = ' ';
    name[size + 1] = '\0';
    return (opened && size > 1 && skip(parser, '}')) ||
           refuse(parser, "expected {NAME} after \\p");
}

/* Adds \p{NAME} or \P{NAME}, from the brace on. */
static bool add_property(struct pattern_parser *parser, bool negated)
{
    char name[40];
    if (!take_property(parser, name, sizeof name))
        return false;
    if (strcmp(name, " ASCII ") == 0)
        return negated ? add_range(parser, ASCII, LAST_CHARACTER)
                       : add_range(parser, 0, ASCII - 1);
    for (size_t i = 0; i < sizeof category_rows / sizeof *category_rows; i++)
        if (strstr(category_rows[i].names, name) != NULL) {
            uint32_t categories = category_rows[i].categories;
            parser->sets[parser->set_count].categories |=
                negated ? CATEGORY_ANY & ~categories : categories;
            return true;
        }
    return refuse(parser,
                  "\\p knows the general categories, such as \\p{L}, and Any, "
                  "Assigned and ASCII, but not%.*s",
                  (int)strlen(name) - 1, name);
}

/* ---- Escapes ------------------------------------------------------------ */

/* The next character as a hexadecimal digit; -1: not a digit. */
static int hex_value(const struct pattern_parser *parser)
{
    uint32_t digit = peek(parser, 0);
    return digit < ASCII ? kx_hex_value((uint8_t)digit) : -1;
}

static bool take_hex(struct pattern_parser *parser, size_t digits_wanted,
                     uint32_t *character_out)
{
    uint32_t character = 0;
    for (size_t i = 0; i < digits_wanted; i++, parser->at++) {
        int value = hex_value(parser);
        if (value < 0)
            return refuse(parser, "expected %zu hexadecimal digits",
                          digits_wanted);
        character = character << 4 | (uint32_t)value;
    }
    *character_out = character;
    return true;
}

/* After \u{ */
static bool take_braced(struct pattern_parser *parser, uint32_t *character_out)
{
    uint32_t character = 0;
    size_t start = parser->at;
    for (; hex_value(parser) >= 0 && character <= LAST_CHARACTER; parser->at++)
        character = character << 4 | (uint32_t)hex_value(parser);
    if (parser->at == start || character > LAST_CHARACTER || !skip(parser, '}'))
        return refuse(parser, "expected a character as in \\u{1F600}");
    *character_out = character;
    return true;
}

/* After \u. A pair of surrogates is one character. */
static bool take_unicode(struct pattern_parser *parser, uint32_t *character_out)
{
    uint32_t low = 0;
    if (skip(parser, '{'))
        return take_braced(parser, character_out);
    if (!take_hex(parser, 4, character_out))
        return false;
    size_t after = parser->at;
    if (*character_out >> 10 != 0xd800 >> 10 || !skip_text(parser, "\\u"))
        return true;
    if (peek(parser, 0) != '{') {
        if (!take_hex(parser, 4, &low))
            return false;
        if (low >> 10 == 0xdc00 >> 10) {
            *character_out =
                0x10000 + ((*character_out & 0x3ff) << 10) + (low & 0x3ff);
            return true;
        }
    }
    parser->at = after;
    return true;
}

static bool is_letter(uint32_t character)
{
    return character < ASCII && (character | 0x20) - 'a' < 26;
}

/* The escapes of control characters; 0 for others. */
static uint32_t control_escape(uint32_t letter)
{
    static const char letters[] = "tnvfr";
    const char *found =
        letter > 0 && letter < ASCII ? strchr(letters, (int)letter) : NULL;
    return found != NULL ? (uint32_t) "\t\n\v\f\r"[found - letters] : 0;
}

/* Takes a character that is escaped only because it means something else. */
static bool take_identity(struct pattern_parser *parser, uint32_t character)
{
    if (character < ASCII && (!is_word(character) || character == '_'))
        return true;
    parser->at--;
    return character - '0' < 10 || character == 'k'
               ? refuse(parser, "back-references are not supported")
               : refuse(parser, "there is no such escape");
}

/* Takes an escape that stands for one character, after the backslash. */
static bool take_escape(struct pattern_parser *parser, uint32_t *character_out)
{
    if (at_end(parser))
        return refuse(parser, "a backslash ends the pattern");
    uint32_t letter = parser->text[parser->at++];
    uint32_t next = peek(parser, 0);
    *character_out = control_escape(letter);
    if (*character_out != 0 || (letter == '0' && next - '0' >= 10))
        return true;
    if (letter == 'x')
        return take_hex(parser, 2, character_out);
    if (letter == 'u')
        return take_unicode(parser, character_out);
    *character_out = letter;
    if (letter != 'c' || !is_letter(next))
        return take_identity(parser, letter);
    *character_out = next & 0x1f;
    parser->at++;
    return true;
}

/* ---- Classes in brackets ------------------------------------------------ */

/* Adds what an escape stands for if that is a class; *done_out says so. */
static bool add_escaped_class(struct pattern_parser *parser, bool *done_out)
{
    uint32_t letter = peek(parser, 1);
    *done_out = peek(parser, 0) == '\\' && letter > 0 && letter < ASCII &&
                strchr("dDwWsSpP", (int)letter) != NULL;
    if (!*done_out)
        return true;
    parser->at += 2;
    return (letter | 0x20) == 'p' ? add_property(parser, letter == 'P')
                                  : add_class_escape(parser, letter);
}

static bool take_class_character(struct pattern_parser *parser,
                                 uint32_t *character_out)
{
    if (at_end(parser))
        return refuse(parser, "expected ] at the end of the class");
    *character_out = parser->text[parser->at++];
    if (*character_out != '\\')
        return true;
    if (!skip(parser, 'b'))
        return take_escape(parser, character_out);
    *character_out = '\b';
    return true;
}

static bool at_range(const struct pattern_parser *parser)
{
    return peek(parser, 0) == '-' && peek(parser, 1) != ']';
}

/* Adds the range from `low` on, at its hyphen. */
static bool add_class_range(struct pattern_parser *parser, uint32_t low)
{
    bool done;
    uint32_t high;
    parser->at++;
    if (!add_escaped_class(parser, &done))
        return false;
    if (done)
        return refuse(parser, "a class cannot end a range");
    if (!take_class_character(parser, &high))
        return false;
    return low <= high ? add_range(parser, low, high)
                       : refuse(parser, "the range is out of order");
}

/* Adds a character, a range, or a class with a backslash. */
static bool add_class_item(struct pattern_parser *parser)
{
    bool done;
    uint32_t low;
    if (!add_escaped_class(parser, &done))
        return false;
    if (done)
        return !at_range(parser) ||
               refuse(parser, "a class cannot begin a range");
    if (!take_class_character(parser, &low))
        return false;
    return at_range(parser) ? add_class_range(parser, low)
                            : add_range(parser, low, low);
}

/* After the opening bracket. Returns the part; 0: refused. */
static uint32_t parse_class(struct pattern_parser *parser)
{
    struct pattern_set *set = begin_set(parser);
    set->negated = skip(parser, '^');
    while (!skip(parser, ']'))
        if (!add_class_item(parser))
            return 0;
    return end_set(parser);
}

/* ---- Terms, sequences, choices ------------------------------------------ */

static uint32_t parse_choice(struct pattern_parser *parser);

static uint32_t parse_assertion(struct pattern_parser *parser, uint32_t symbol)
{
    uint32_t part = add_part(parser, PART_ASSERTION);
    parser->parts[part].symbol = symbol;
    parser->has_word_assertions |= symbol == 'b' || symbol == 'B';
    return part;
}

/* A backslash outside of classes that is no assertion. */
static bool add_escape(struct pattern_parser *parser)
{
    bool done;
    uint32_t character;
    begin_set(parser);
    if (!add_escaped_class(parser, &done))
        return false;
    if (done)
        return true;
    parser->at++;
    return take_escape(parser, &character) &&
           add_range(parser, character, character);
}

static uint32_t parse_escape(struct pattern_parser *parser)
{
    uint32_t letter = peek(parser, 1);
    if (letter == 'b' || letter == 'B') {
        parser->at += 2;
        return parse_assertion(parser, letter);
    }
    return add_escape(parser) ? end_set(parser) : 0;
}

/* Takes what makes a group capture nothing, or have a name. */
static bool take_group_kind(struct pattern_parser *parser)
{
    if (peek(parser, 0) != '?' || skip_text(parser, "?:"))
        return true;
    if (peek(parser, 1) != '<' || peek(parser, 2) == '=' ||
        peek(parser, 2) == '!')
        return refuse(parser, "look-around and flags are not supported");
    parser->at += 2;
    while (is_word(peek(parser, 0)) || peek(parser, 0) == '$' ||
           peek(parser, 0) >= ASCII)
        parser->at++;
    return skip(parser, '>') ||
           refuse(parser, "expected the name of a group and >");
}

/* After the opening parenthesis. */
static uint32_t parse_group(struct pattern_parser *parser)
{
    if (!take_group_kind(parser))
        return 0;
    if (++parser->depth > PATTERN_GROUPS_MAX) {
        refuse(parser, "more than %d groups are inside each other",
               (int)PATTERN_GROUPS_MAX);
        return 0;
    }
    uint32_t part = parse_choice(parser);
    parser->depth--;
    if (part != 0 && !skip(parser, ')')) {
        refuse(parser, "expected ) at the end of the group");
        return 0;
    }
    return part;
}

static uint32_t parse_character(struct pattern_parser *parser,
                                uint32_t character)
{
    begin_set(parser);
    return add_range(parser, character, character) ? end_set(parser) : 0;
}

static uint32_t parse_special(struct pattern_parser *parser, uint32_t symbol)
{
    switch (symbol) {
    case '^':
    case '$':
        return parse_assertion(parser, symbol);
    case '(':
        return parse_group(parser);
    case '[':
        return parse_class(parser);
    case '.':
        begin_set(parser)->negated = true;
        return add_ranges(parser, line_ends, 3, false) ? end_set(parser) : 0;
    case '*':
    case '+':
    case '?':
    case '{':
        parser->at--;
        refuse(parser,
               "there is nothing to repeat; write \\%c for the "
               "character",
               (int)symbol);
        return 0;
    default:
        parser->at--;
        refuse(parser, "write \\%c for the character", (int)symbol);
        return 0;
    }
}

static uint32_t parse_atom(struct pattern_parser *parser)
{
    uint32_t character = peek(parser, 0);
    if (character == '\\')
        return parse_escape(parser);
    parser->at++;
    if (character > 0 && character < ASCII &&
        strchr("^$([.*+?{})]", (int)character) != NULL)
        return parse_special(parser, character);
    return parse_character(parser, character);
}

static bool take_number(struct pattern_parser *parser, uint32_t *number_out)
{
    uint32_t number = 0;
    size_t start = parser->at;
    while (!at_end(parser) && peek(parser, 0) - '0' < 10) {
        number = number * 10 + (parser->text[parser->at++] - '0');
        if (number > PATTERN_POSITIONS_MAX)
            return refuse(parser, "repeats more than %d times",
                          (int)PATTERN_POSITIONS_MAX);
    }
    *number_out = number;
    return parser->at > start || refuse(parser, "expected a number of repeats");
}

/* After the opening brace. */
static bool take_braces(struct pattern_parser *parser,
                        struct pattern_part *repeat)
{
    if (!take_number(parser, &repeat->min))
        return false;
    repeat->max = repeat->min;
    if (skip(parser, ',')) {
        repeat->max = REPEAT_FOREVER;
        if (peek(parser, 0) != '}' && !take_number(parser, &repeat->max))
            return false;
    }
    if (!skip(parser, '}'))
        return refuse(parser, "expected } after the number of repeats");
    return repeat->max >= repeat->min ||
           refuse(parser, "the numbers of repeats are out of order");
}

/* Reads what repeats the part, if anything does. *repeated_out says so. */
static bool take_quantifier(struct pattern_parser *parser,
                            struct pattern_part *repeat, bool *repeated_out)
{
    *repeated_out = true;
    repeat->max = REPEAT_FOREVER;
    if (skip(parser, '*'))
        repeat->min = 0;
    else if (skip(parser, '+'))
        repeat->min = 1;
    else if (skip(parser, '?'))
        repeat->max = 1;
    else if (!skip(parser, '{'))
        *repeated_out = false;
    else if (!take_braces(parser, repeat))
        return false;
    if (*repeated_out)
        skip(parser, '?');
    return true;
}

static uint32_t parse_term(struct pattern_parser *parser)
{
    struct pattern_part repeat = {.kind = PART_REPEAT};
    bool repeated;
    uint32_t atom = parse_atom(parser);
    if (atom == 0 || !take_quantifier(parser, &repeat, &repeated))
        return 0;
    if (!repeated)
        return atom;
    if (parser->parts[atom].kind == PART_ASSERTION) {
        refuse(parser, "an assertion cannot be repeated");
        return 0;
    }
    uint32_t part = add_part(parser, PART_REPEAT);
    repeat.first = atom;
    parser->parts[part] = repeat;
    return part;
}

/* Appends a part to a sequence or choice, after its last part (0: none).
 * Returns the part. */
static uint32_t append_part(struct pattern_parser *parser, uint32_t whole,
                            uint32_t last, uint32_t part)
{
    if (last == 0)
        parser->parts[whole].first = part;
    else
        parser->parts[last].next = part;
    return part;
}

/* True at the end of a sequence. */
static bool at_sequence_end(const struct pattern_parser *parser)
{
    return at_end(parser) || peek(parser, 0) == '|' ||
           (peek(parser, 0) == ')' && parser->depth > 0);
}

static uint32_t parse_sequence(struct pattern_parser *parser)
{
    uint32_t sequence = add_part(parser, PART_SEQUENCE);
    uint32_t last = 0;
    while (!at_sequence_end(parser)) {
        uint32_t part = parse_term(parser);
        if (part == 0)
            return 0;
        last = append_part(parser, sequence, last, part);
    }
    return sequence;
}

static uint32_t parse_choice(struct pattern_parser *parser)
{
    uint32_t choice = add_part(parser, PART_CHOICE);
    uint32_t last = 0;
    do {
        uint32_t part = parse_sequence(parser);
        if (part == 0)
            return 0;
        last = append_part(parser, choice, last, part);
    } while (skip(parser, '|'));
    return choice;
}

/* ---- The number of positions -------------------------------------------- */

/* Repeats without positions are made once at most: more would match the
 * same. */
static uint32_t copies(const struct pattern_part *repeat, uint32_t inside)
{
    uint32_t count = repeat->max == REPEAT_FOREVER ? repeat->min : repeat->max;
    if (repeat->max == REPEAT_FOREVER && count == 0)
        count = 1;
    return inside == 0 && count > 1 ? 1 : count;
}

static uint32_t capped(uint64_t size)
{
    return size > PATTERN_POSITIONS_MAX ? PATTERN_POSITIONS_MAX + 1
                                        : (uint32_t)size;
}

static uint32_t measure(struct pattern_parser *parser, uint32_t number)
{
    struct pattern_part *part = &parser->parts[number];
    uint64_t size = part->kind == PART_SET;
    for (uint32_t inner = part->first; inner != 0;
         inner = parser->parts[inner].next)
        size = capped(size + measure(parser, inner));
    if (part->kind == PART_REPEAT)
        size *= copies(part, (uint32_t)size);
    part->size = capped(size);
    return part->size;
}

/* ---- Construction ------------------------------------------------------- */

/* A part of the automaton at one kind of boundary. */
struct pattern_piece {
    bool nullable;
    uint64_t first[WORDS_MAX];
    uint64_t last[WORDS_MAX];
};

struct pattern_builder {
    const struct pattern_parser *parser;
    struct pattern *pattern;
    uint32_t *set_of; /* the class of each position */
    size_t position;  /* the next */
    unsigned boundary;
    uint64_t *follow; /* rows of this boundary; NULL at the ends of the text */
};

static void add_row(uint64_t *row, const uint64_t *other, size_t words)
{
    for (size_t i = 0; i < words; i++)
        row[i] |= other[i];
}

/* Lets the positions of `first` follow those of `last`. */
static void join(const struct pattern_builder *builder, const uint64_t *last,
                 const uint64_t *first)
{
    size_t words = builder->pattern->words;
    if (builder->follow == NULL)
        return;
    for (size_t i = 0; i < words; i++)
        for (uint64_t rest = last[i]; rest != 0; rest &= rest - 1) {
            size_t position = i * WORD_BITS + (size_t)__builtin_ctzll(rest);
            add_row(builder->follow + position * words, first, words);
        }
}

/* Appends a piece to another one. */
static void append(const struct pattern_builder *builder,
                   struct pattern_piece *whole,
                   const struct pattern_piece *piece)
{
    size_t words = builder->pattern->words;
    join(builder, whole->last, piece->first);
    if (whole->nullable)
        add_row(whole->first, piece->first, words);
    if (!piece->nullable)
        memset(whole->last, 0, sizeof whole->last);
    add_row(whole->last, piece->last, words);
    whole->nullable &= piece->nullable;
}

static void build(struct pattern_builder *builder, uint32_t number,
                  struct pattern_piece *piece);

/* Copies beyond the minimum are built as (x(x(x)?)?)?, so that one copy follows
 * another only if all before it are there: few positions follow each. The last
 * copy is built first. */
static void build_repeat(struct pattern_builder *builder,
                         const struct pattern_part *part,
                         struct pattern_piece *piece)
{
    struct pattern_piece copy;
    uint32_t count = copies(part, builder->parser->parts[part->first].size);
    piece->nullable = true;
    for (uint32_t i = count; i > 0; i--) {
        build(builder, part->first, &copy);
        if (i == count && part->max == REPEAT_FOREVER)
            join(builder, copy.last, copy.first);
        append(builder, &copy, piece);
        copy.nullable |= i > part->min;
        *piece = copy;
    }
}

static void build_sequence(struct pattern_builder *builder,
                           const struct pattern_part *part,
                           struct pattern_piece *piece)
{
    struct pattern_piece item;
    piece->nullable = true;
    for (uint32_t inner = part->first; inner != 0;
         inner = builder->parser->parts[inner].next) {
        build(builder, inner, &item);
        append(builder, piece, &item);
    }
}

static void build_choice(struct pattern_builder *builder,
                         const struct pattern_part *part,
                         struct pattern_piece *piece)
{
    struct pattern_piece item;
    size_t words = builder->pattern->words;
    for (uint32_t inner = part->first; inner != 0;
         inner = builder->parser->parts[inner].next) {
        build(builder, inner, &item);
        piece->nullable |= item.nullable;
        add_row(piece->first, item.first, words);
        add_row(piece->last, item.last, words);
    }
}

static bool holds(uint32_t symbol, unsigned boundary)
{
    bool word_ends =
        ((boundary & AFTER_WORD) != 0) != ((boundary & BEFORE_WORD) != 0);
    switch (symbol) {
    case '^':
        return (boundary & AT_BEGIN) != 0;
    case '$':
        return (boundary & AT_END) != 0;
    case 'b':
        return word_ends;
    default:
        return !word_ends;
    }
}

static void build(struct pattern_builder *builder, uint32_t number,
                  struct pattern_piece *piece)
{
    const struct pattern_part *part = &builder->parser->parts[number];
    memset(piece, 0, sizeof *piece);
    switch (part->kind) {
    case PART_SEQUENCE:
        build_sequence(builder, part, piece);
        return;
    case PART_CHOICE:
        build_choice(builder, part, piece);
        return;
    case PART_REPEAT:
        build_repeat(builder, part, piece);
        return;
    case PART_ASSERTION:
        piece->nullable = holds(part->symbol, builder->boundary);
        return;
    case PART_SET:
        piece->first[builder->position / WORD_BITS] |=
            UINT64_C(1) << builder->position % WORD_BITS;
        memcpy(piece->last, piece->first, sizeof piece->last);
        builder->set_of[builder->position++] = part->set;
        return;
    }
}

/* False for boundaries that do not exist, or are like others. */
static bool occurs(const struct pattern *pattern, unsigned boundary)
{
    if (!pattern->has_word_assertions)
        return boundary < AFTER_WORD;
    return (boundary & (AT_BEGIN | AFTER_WORD)) != (AT_BEGIN | AFTER_WORD) &&
           (boundary & (AT_END | BEFORE_WORD)) != (AT_END | BEFORE_WORD);
}

static uint64_t *follow_rows(const struct pattern *pattern, unsigned boundary)
{
    return pattern->follow +
           boundary / AFTER_WORD * pattern->positions * pattern->words;
}

static void build_boundary(struct pattern_builder *builder, uint32_t root,
                           unsigned boundary)
{
    struct pattern *pattern = builder->pattern;
    struct pattern_piece piece;
    size_t row = boundary * pattern->words;
    size_t bytes = pattern->words * sizeof *pattern->first;
    builder->position = 0;
    builder->boundary = boundary;
    builder->follow = (boundary & (AT_BEGIN | AT_END)) == 0
                          ? follow_rows(pattern, boundary)
                          : NULL;
    build(builder, root, &piece);
    pattern->nullable |= (uint16_t)(piece.nullable << boundary);
    memcpy(pattern->first + row, piece.first, bytes);
    memcpy(pattern->last + row, piece.last, bytes);
}

/* ---- Intervals of characters -------------------------------------------- */

static int compare_bounds(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Cuts the characters into intervals that no range cuts. */
static void find_bounds(const struct pattern_parser *parser,
                        struct pattern *pattern)
{
    uint32_t *bounds = pattern->bounds;
    size_t count = 0;
    bounds[count++] = 0;
    for (size_t i = 0; i < parser->range_count; i++) {
        bounds[count++] = parser->ranges[i].low;
        bounds[count++] = parser->ranges[i].high + 1;
    }
    qsort(bounds, count, sizeof *bounds, compare_bounds);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (bounds[i] != bounds[kept - 1])
            bounds[kept++] = bounds[i];
    pattern->bound_count = kept;
}

/* The number of the interval with the character. */
static size_t interval_of(const struct pattern *pattern, uint32_t character)
{
    size_t low = 0;
    size_t high = pattern->bound_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (pattern->bounds[middle] <= character)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void mark(uint64_t *rows, size_t row, const struct pattern *pattern,
                 size_t position)
{
    rows[row * pattern->words + position / WORD_BITS] |=
        UINT64_C(1) << position % WORD_BITS;
}

/* Lets a position accept all intervals of a range. */
static void accept_range(struct pattern *pattern, struct pattern_range range,
                         size_t position)
{
    for (size_t at = interval_of(pattern, range.low);
         at < pattern->bound_count && pattern->bounds[at] <= range.high; at++)
        mark(pattern->accept, at, pattern, position);
}

static void accept_set(const struct pattern_parser *parser,
                       struct pattern *pattern, const struct pattern_set *set,
                       size_t position)
{
    for (uint32_t i = 0; i < set->range_count; i++)
        accept_range(pattern, parser->ranges[set->range + i], position);
    for (uint32_t i = 0; i < CATEGORIES; i++)
        if ((set->categories >> i & 1) != 0)
            mark(pattern->categories, i, pattern, position);
    if (set->negated)
        mark(pattern->negated, 0, pattern, position);
    pattern->has_categories |= set->categories != 0;
}

/* ---- Compilation -------------------------------------------------------- */

static bool no_memory(struct pattern_parser *parser)
{
    parser->status = kx_fail(parser->fault, KX_NO_MEMORY, "memory ran out");
    return false;
}

/* Returns zeroed memory under `owner`; NULL if memory ran out, which the status
 * tells as well. */
static void *take(struct pattern_parser *parser, const void *owner,
                  size_t count, size_t size)
{
    void *memory = talloc_zero_size(owner, count * size);
    if (memory == NULL)
        no_memory(parser);
    return memory;
}

static bool allocate(struct pattern_parser *parser, struct pattern *pattern)
{
    size_t row = pattern->words * sizeof(uint64_t);
    size_t tables = pattern->has_word_assertions ? 4 : 1;
    pattern->first = take(parser, pattern, BOUNDARIES, row);
    pattern->last = take(parser, pattern, BOUNDARIES, row);
    pattern->follow =
        take(parser, pattern, tables * pattern->positions + 1, row);
    pattern->bounds = take(parser, pattern, 2 * parser->range_count + 1,
                           sizeof *pattern->bounds);
    pattern->categories = take(parser, pattern, CATEGORIES, row);
    pattern->negated = take(parser, pattern, 1, row);
    if (parser->status != KX_OK)
        return false;
    find_bounds(parser, pattern);
    pattern->accept = take(parser, pattern, pattern->bound_count, row);
    return pattern->accept != NULL;
}

static bool construct(struct pattern_parser *parser, uint32_t root,
                      struct pattern *pattern)
{
    struct pattern_builder builder = {.parser = parser, .pattern = pattern};
    pattern->positions = parser->parts[root].size;
    pattern->words = pattern->positions / WORD_BITS + 1;
    pattern->has_word_assertions = parser->has_word_assertions;
    builder.set_of = take(parser, parser->memory, pattern->positions + 1,
                          sizeof *builder.set_of);
    if (builder.set_of == NULL || !allocate(parser, pattern))
        return false;
    for (unsigned boundary = 0; boundary < BOUNDARIES; boundary++)
        if (occurs(pattern, boundary))
            build_boundary(&builder, root, boundary);
    for (size_t i = 0; i < pattern->positions; i++)
        accept_set(parser, pattern, &parser->sets[builder.set_of[i]], i);
    for (uint32_t i = 0; i < ASCII; i++)
        pattern->ascii[i] = (uint16_t)interval_of(pattern, i);
    return true;
}

static bool parse(struct pattern_parser *parser, uint32_t *root_out)
{
    *root_out = parse_choice(parser);
    if (*root_out == 0)
        return false;
    parser->at = 0;
    return measure(parser, *root_out) <= PATTERN_POSITIONS_MAX ||
           refuse(parser,
                  "with its repeats written out it has more than %d "
                  "characters",
                  (int)PATTERN_POSITIONS_MAX);
}

/* Decodes the token, and makes room for the most parts that it can have. */
static bool prepare(struct pattern_parser *parser, struct kx_slice token)
{
    size_t room = token.size + 2;
    struct kx_slice body = json_string_body(token);
    parser->text = take(parser, parser->memory, room, sizeof *parser->text);
    parser->parts =
        take(parser, parser->memory, 3 * room, sizeof *parser->parts);
    parser->sets = take(parser, parser->memory, room, sizeof *parser->sets);
    parser->ranges = take(parser, parser->memory, PATTERN_RANGES_MAX,
                          sizeof *parser->ranges);
    if (parser->status != KX_OK)
        return false;
    while (body.size > 0 && parser->count <= PATTERN_SIZE_MAX)
        parser->text[parser->count++] = json_string_next(&body);
    return parser->count <= PATTERN_SIZE_MAX ||
           refuse(parser, "it has more than %d characters",
                  (int)PATTERN_SIZE_MAX);
}

enum kx_status pattern_compile(struct kx_slice token, const void *owner,
                               struct pattern **pattern_out,
                               struct kx_fault *fault)
{
    struct pattern *pattern = talloc_zero(owner, struct pattern);
    struct pattern_parser parser = {.memory = talloc_new(pattern),
                                    .fault = fault};
    uint32_t root;
    if (parser.memory == NULL)
        no_memory(&parser);
    else if (prepare(&parser, token) && parse(&parser, &root))
        construct(&parser, root, pattern);
    if (parser.status != KX_OK) {
        talloc_free(pattern);
        return parser.status;
    }
    talloc_free(parser.memory);
    *pattern_out = pattern;
    return KX_OK;
}

/* ---- Matching ----------------------------------------------------------- */

/* Removes the positions that do not accept the character. True if any are
 * left. */
static bool consume(const struct pattern *pattern, uint32_t character,
                    uint64_t *state)
{
    size_t interval = character < ASCII ? pattern->ascii[character]
                                        : interval_of(pattern, character);
    size_t category =
        pattern->has_categories
            ? (size_t)utf8proc_category((utf8proc_int32_t)character)
            : 0;
    const uint64_t *accept = pattern->accept + interval * pattern->words;
    const uint64_t *categories =
        pattern->categories + category * pattern->words;
    uint64_t any = 0;
    for (size_t i = 0; i < pattern->words; i++) {
        state[i] &= (accept[i] | categories[i]) ^ pattern->negated[i];
        any |= state[i];
    }
    return any != 0;
}

/* Replaces a state by what may follow it. Returns the number of its
 * positions. */
static size_t advance(const struct pattern *pattern, unsigned boundary,
                      uint64_t *state)
{
    size_t words = pattern->words;
    size_t active = 0;
    const uint64_t *rows = follow_rows(pattern, boundary & ~(unsigned)AT_BEGIN);
    uint64_t next[WORDS_MAX];
    memcpy(next, pattern->first + boundary * words, words * sizeof *next);
    for (size_t i = 0; i < words; i++)
        for (uint64_t rest = state[i]; rest != 0; rest &= rest - 1) {
            size_t position = i * WORD_BITS + (size_t)__builtin_ctzll(rest);
            add_row(next, rows + position * words, words);
            active++;
        }
    memcpy(state, next, words * sizeof *next);
    return active;
}

static bool ends_here(const struct pattern *pattern, unsigned boundary,
                      const uint64_t *state)
{
    const uint64_t *last = pattern->last + boundary * pattern->words;
    uint64_t any = pattern->nullable >> boundary & 1;
    for (size_t i = 0; i < pattern->words; i++)
        any |= state[i] & last[i];
    return any != 0;
}

/* Without a state, nothing can match any more if a match can only begin at the
 * beginning. */
static bool only_at_begin(const struct pattern *pattern)
{
    uint64_t any = 0;
    if (pattern->has_word_assertions || (pattern->nullable & 1 << AT_END) != 0)
        return false;
    for (size_t i = 0; i < pattern->words; i++)
        any |= pattern->first[i];
    return any == 0;
}

/* Matches with states of one word, without word assertions and categories:
 * nearly all patterns. */
static bool matches_small(const struct pattern *pattern, struct kx_slice body,
                          struct charge *charge)
{
    uint64_t state = 0;
    const uint8_t *at = body.data;
    const uint8_t *end = at + body.size;
    uint64_t next = pattern->first[AT_BEGIN];
    uint64_t negated = *pattern->negated;
    size_t active = 0;
    while (at < end) {
        size_t interval;
        if (*at < ASCII && *at != '\\') {
            interval = pattern->ascii[*at++];
        } else {
            struct kx_slice rest = kx_slice(at, (size_t)(end - at));
            interval = interval_of(pattern, json_string_next(&rest));
            at = rest.data;
        }
        state = next & (pattern->accept[interval] ^ negated);
        if ((state & pattern->last[0]) != 0)
            break;
        next = pattern->first[0];
        for (uint64_t left = state; left != 0; left &= left - 1, active++)
            next |= pattern->follow[__builtin_ctzll(left)];
        if (next == 0)
            break;
    }
    charge_add(charge, (uint64_t)(at - body.data) * 4 + active, CHARGE_PASSED);
    return (state & pattern->last[at == end ? AT_END : 0]) != 0;
}

static bool matches_large(const struct pattern *pattern, struct kx_slice body,
                          struct charge *charge)
{
    uint64_t state[WORDS_MAX] = {0};
    unsigned boundary = AT_BEGIN;
    bool anchored = only_at_begin(pattern);
    while (body.size > 0) {
        uint32_t character = json_string_next(&body);
        bool word = pattern->has_word_assertions && is_word(character);
        boundary |= word ? BEFORE_WORD : 0;
        if (ends_here(pattern, boundary, state))
            return true;
        size_t active = advance(pattern, boundary, state);
        charge_add(charge, 10 + (active + 2) * pattern->words, CHARGE_PASSED);
        bool any = consume(pattern, character, state);
        if ((!any && anchored) || charge_passed(charge))
            return false;
        boundary = word ? AFTER_WORD : 0;
    }
    return ends_here(pattern, boundary | AT_END, state);
}

/* True if the pattern matches nothing at the beginning or end of the text. */
static bool matches_nothing(const struct pattern *pattern, bool empty)
{
    unsigned ends =
        empty ? 1 << (AT_BEGIN | AT_END) : 1 << AT_BEGIN | 1 << AT_END;
    return (pattern->nullable & ends) != 0;
}

bool pattern_matches(const struct pattern *pattern, struct kx_slice token,
                     struct charge *charge)
{
    struct kx_slice body = json_string_body(token);
    if (!pattern->has_word_assertions &&
        matches_nothing(pattern, body.size == 0))
        return true;
    if (pattern->words == 1 && !pattern->has_word_assertions &&
        !pattern->has_categories)
        return matches_small(pattern, body, charge);
    return matches_large(pattern, body, charge);
}
