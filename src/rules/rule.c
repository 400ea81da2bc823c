/* Reads the declarations of rules and tests entries by them. One file because
 * each member of a rule has a few functions that only its tables call. */
#include "rules/rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "json/json_number.h"
#include "rules/json_schema.h"
#include "schema/declaration_parse.h"
#include "schema/indexable.h"
#include "schema/totals.h"
#include "v8/v8_date.h"

/* ---- The value of an entry ----------------------------------------------- */

/* Sets the text of a KvU64. KX_OK, KX_NO_MEMORY. */
static enum kx_status u64_of(struct kx_slice bytes, struct rule_work *work,
                             struct kx_slice *json_out)
{
    char digits[24];
    uint64_t number = 0;
    for (size_t i = bytes.size; i > 0; i--)
        number = number << 8 | bytes.data[i - 1];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    kx_buffer_clear(&work->number);
    kx_add_text(&work->number, digits);
    *json_out = kx_buffer_slice(&work->number);
    return work->number.failed ? KX_NO_MEMORY : KX_OK;
}

/* Sets the JSON of a value, which lies in the record or the work: a KvU64 is
 * its number. Size 0: the value is bytes. KX_OK, KX_NO_MEMORY. */
static enum kx_status json_of(const struct record *record,
                              struct rule_work *work, struct kx_slice *json_out)
{
    *json_out = kx_slice(NULL, 0);
    if (record->encoding == KX_LE64)
        return u64_of(record->value, work, json_out);
    enum kx_status status =
        index_document_text(&work->document, record, json_out);
    if (status == KX_OK)
        kx_json_find(*json_out, kx_slice(NULL, 0), json_out);
    return status == KX_NO_MEMORY ? status : KX_OK;
}

/* Fills in a violation at the pointer in the work. */
static enum kx_status violate(struct kx_violation *violation,
                              const char *member, struct kx_slice value,
                              struct rule_work *work)
{
    *violation =
        (struct kx_violation){.member = member,
                              .pointer = kx_buffer_slice(&work->pointer),
                              .expected = kx_buffer_slice(&work->expected)};
    if (value.size <= KX_FOUND_MAX)
        violation->value = value;
    return work->pointer.failed || work->expected.failed ? KX_NO_MEMORY
                                                         : KX_RULE_VIOLATED;
}

/* ---- Schema -------------------------------------------------------------- */

/* Copies JSON without the white space between its tokens, so that a schema has
 * one text. */
static void compact(struct kx_slice json, struct kx_buffer *out)
{
    bool quoted = false;
    for (size_t i = 0; i < json.size; i++) {
        uint8_t byte = json.data[i];
        if (!quoted && byte <= ' ')
            continue;
        kx_add_byte(out, byte);
        if (quoted && byte == '\\')
            kx_add_byte(out, json.data[++i]);
        quoted ^= byte == '"';
    }
}

static enum kx_status read_schema(struct declaration_parse *parse,
                                  struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    struct rule *rule = declaration->rule;
    struct kx_fault fault = {.detail = ""};
    struct kx_buffer text;
    kx_buffer_init(&text, rule);
    compact(value, &text);
    rule->schema_text = kx_buffer_slice(&text);
    if (text.failed)
        return declaration_parse_no_memory(parse);
    enum kx_status status =
        json_schema_compile(rule->schema_text, rule, &rule->schema, &fault);
    if (status == KX_NO_MEMORY)
        return declaration_parse_no_memory(parse);
    if (status == KX_OK)
        return KX_OK;
    size_t size = strlen(fault.pointer);
    if (parse->pointer_end + size < sizeof parse->pointer)
        memcpy(parse->pointer + parse->pointer_end, fault.pointer, size + 1);
    declaration_parse_bad(parse, "%s", fault.detail);
    if (parse->fault != NULL)
        snprintf(parse->fault->suggestion, sizeof parse->fault->suggestion,
                 "%s", fault.suggestion);
    return KX_BAD_INDEX;
}

static enum kx_status test_schema(const struct rule *rule, struct kx_slice json,
                                  struct rule_work *work,
                                  struct kx_violation *violation)
{
    struct json_schema_violation found;
    if (json.size == 0) {
        kx_add_text(&work->expected, "a JSON value");
        return violate(violation, "schema", json, work);
    }
    enum kx_status status =
        json_schema_check(rule->schema, json, work->charge, &found);
    if (status != KX_CHECK_FAILED)
        return status;
    kx_add_text(&work->pointer, found.pointer);
    kx_add_text(&work->expected, found.expected);
    return violate(violation, "schema", found.value, work);
}

/* ---- Bounds -------------------------------------------------------------- */

/* The text of a number in a document stays as it is written: 10.0 and 1e1 are
 * equal bounds, but show the client's text. */
static enum kx_status read_bound(struct declaration_parse *parse,
                                 struct kx_slice value,
                                 struct kx_slice *bound_out)
{
    if (kx_json_type(value) != KX_JSON_NUMBER)
        return declaration_parse_bad(parse, "a bound is a number");
    return kx_slice_copy(parse->declaration, value, bound_out)
               ? KX_OK
               : declaration_parse_no_memory(parse);
}

static enum kx_status read_min(struct declaration_parse *parse,
                               struct kx_slice value, void *target)
{
    struct rule *rule = target;
    return read_bound(parse, value, &rule->min);
}

static enum kx_status read_max(struct declaration_parse *parse,
                               struct kx_slice value, void *target)
{
    struct rule *rule = target;
    return read_bound(parse, value, &rule->max);
}

static const struct declaration_member bounds_members[] = {
    {"min", read_min},
    {"max", read_max},
    {NULL, NULL},
};

static bool is_reversed(const struct rule *rule)
{
    return rule->min.size != 0 && rule->max.size != 0 &&
           json_number_compare(rule->min, rule->max) > 0;
}

static enum kx_status read_bounds(struct declaration_parse *parse,
                                  struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    struct rule *rule = declaration->rule;
    rule->bounded = true;
    enum kx_status status =
        declaration_parse_members(parse, value, bounds_members, "bounds", rule);
    if (status != KX_OK)
        return status;
    if (rule->min.size == 0 && rule->max.size == 0)
        return declaration_parse_bad(parse, "bounds have a min, a max or both");
    if (is_reversed(rule))
        return declaration_parse_bad(parse, "the min is greater than the max");
    return KX_OK;
}

static void write_bounds(const struct rule *rule, struct kx_buffer *out)
{
    if (!rule->bounded)
        return;
    kx_add_text(out, ",\"bounds\":{");
    if (rule->min.size != 0) {
        kx_add_text(out, "\"min\":");
        kx_add_slice(out, rule->min);
    }
    kx_add(out, ",", rule->min.size != 0 && rule->max.size != 0);
    if (rule->max.size != 0) {
        kx_add_text(out, "\"max\":");
        kx_add_slice(out, rule->max);
    }
    kx_add_byte(out, '}');
}

static void describe_bounds(const struct rule *rule, struct kx_buffer *out)
{
    kx_add_text(out, "a number");
    if (rule->min.size != 0 && rule->max.size != 0) {
        kx_add_text(out, " from ");
        kx_add_slice(out, rule->min);
        kx_add_text(out, " to ");
        kx_add_slice(out, rule->max);
    } else if (rule->min.size != 0) {
        kx_add_text(out, " of at least ");
        kx_add_slice(out, rule->min);
    } else {
        kx_add_text(out, " of at most ");
        kx_add_slice(out, rule->max);
    }
}

/* Returns the text of the number that a value is; size 0: no number. A V8
 * bigint is an object in its document, which is then not plain. */
static struct kx_slice number_of(const struct record *record,
                                 const struct rule_work *work,
                                 struct kx_slice json)
{
    struct kx_slice type;
    struct kx_slice value;
    if (json.size == 0 || kx_json_type(json) == KX_JSON_NUMBER)
        return json;
    if (record->encoding == KX_V8 && !work->document.plain &&
        kx_json_find(json, kx_text("/type"), &type) &&
        kx_equal(type, kx_text("\"bigint\"")) &&
        kx_json_find(json, kx_text("/value"), &value) && value.size > 2)
        return kx_slice(value.data + 1, value.size - 2);
    return kx_slice(NULL, 0);
}

static bool is_low(const struct rule *rule, struct kx_slice number)
{
    return rule->min.size != 0 && json_number_compare(number, rule->min) < 0;
}

static bool is_high(const struct rule *rule, struct kx_slice number)
{
    return rule->max.size != 0 && json_number_compare(number, rule->max) > 0;
}

static enum kx_status test_bounds(const struct rule *rule,
                                  const struct record *record,
                                  struct rule_work *work, struct kx_slice json,
                                  struct kx_violation *violation)
{
    struct kx_slice number = number_of(record, work, json);
    if (number.size != 0 && !is_low(rule, number) && !is_high(rule, number))
        return KX_OK;
    describe_bounds(rule, &work->expected);
    return violate(violation, "bounds", number.size != 0 ? number : json, work);
}

/* A value that is shown in a violation of bounds is a number if its first byte
 * begins one. */
static bool is_number(struct kx_slice value)
{
    return value.size != 0 && kx_json_type(value) == KX_JSON_NUMBER;
}

bool rule_is_no_worse(const struct rule *rule,
                      const struct kx_violation *before,
                      const struct kx_violation *now)
{
    struct kx_slice was = before->value;
    struct kx_slice is = now->value;
    if (strcmp(before->member, now->member) != 0 ||
        !kx_equal(before->pointer, now->pointer) ||
        !kx_equal(before->expected, now->expected))
        return false;
    if (strcmp(now->member, "references") == 0)
        return kx_equal(was, is);
    if (strcmp(now->member, "bounds") != 0)
        return true;
    if (!is_number(was) || !is_number(is))
        return is_number(was) == is_number(is);
    int moved = json_number_compare(is, was);
    return is_low(rule, was) ? moved >= 0 && is_low(rule, is)
                             : moved <= 0 && is_high(rule, is);
}

/* ---- Expiry -------------------------------------------------------------- */

static enum kx_status read_default(struct declaration_parse *parse,
                                   struct kx_slice value, void *target)
{
    struct rule_ttl *ttl = target;
    return declaration_parse_period(parse, value, "the default is",
                                    &ttl->default_ms);
}

static enum kx_status read_ttl_max(struct declaration_parse *parse,
                                   struct kx_slice value, void *target)
{
    struct rule_ttl *ttl = target;
    return declaration_parse_period(parse, value, "the max is", &ttl->max_ms);
}

static enum kx_status read_from(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct rule_ttl *ttl = target;
    enum kx_status status = declaration_parse_pointer(parse, value, &ttl->from);
    if (status == KX_OK && ttl->from.size == 0)
        return declaration_parse_bad(parse, "from is a path in the value, such "
                                            "as \"/expiresAt\"");
    return status;
}

static const struct declaration_member ttl_members[] = {
    {"default", read_default},
    {"max", read_ttl_max},
    {"from", read_from},
    {NULL, NULL},
};

static enum kx_status read_ttl(struct declaration_parse *parse,
                               struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    struct rule_ttl *ttl = &declaration->rule->ttl;
    ttl->declared = true;
    enum kx_status status =
        declaration_parse_members(parse, value, ttl_members, "a ttl", ttl);
    if (status != KX_OK)
        return status;
    if (ttl->default_ms + ttl->max_ms == 0 && ttl->from.size == 0)
        return declaration_parse_bad(parse,
                                     "a ttl has a default, a max or a from");
    if (ttl->max_ms != 0 && ttl->default_ms > ttl->max_ms)
        return declaration_parse_bad(parse,
                                     "the default is longer than the max");
    return KX_OK;
}

static void write_ttl(const struct rule_ttl *ttl, struct kx_buffer *out)
{
    const char *gap = "";
    if (!ttl->declared)
        return;
    kx_add_text(out, ",\"ttl\":{");
    if (ttl->default_ms != 0) {
        kx_add_text(out, "\"default\":");
        declaration_write_period(ttl->default_ms, out);
        gap = ",";
    }
    if (ttl->max_ms != 0) {
        kx_add_text(out, gap);
        kx_add_text(out, "\"max\":");
        declaration_write_period(ttl->max_ms, out);
        gap = ",";
    }
    if (ttl->from.size != 0) {
        kx_add_text(out, gap);
        kx_add_text(out, "\"from\":");
        kx_json_escape(ttl->from, out);
    }
    kx_add_byte(out, '}');
}

/* The latest time of a JavaScript date. */
#define TIME_MAX_MS 8.64e15

/* Reads a time in ms or as text. False for other values, and for times that are
 * not after 1970. */
static bool read_time(struct kx_slice json, struct kx_buffer *text,
                      int64_t *ms_out)
{
    double ms = 0;
    if (kx_json_type(json) == KX_JSON_STRING) {
        kx_buffer_clear(text);
        kx_json_unescape(json, text);
        if (!v8_date_read(kx_buffer_slice(text), &ms))
            return false;
    } else if (kx_json_type(json) != KX_JSON_NUMBER ||
               !kx_number_parse(json, &ms)) {
        return false;
    }
    if (!(ms >= 1 && ms <= TIME_MAX_MS))
        return false;
    *ms_out = (int64_t)floor(ms);
    return true;
}

/* Finds the time in a value. False: nothing or null is there. */
static bool find_time(struct kx_slice json, struct kx_slice from,
                      struct kx_slice *time_out)
{
    return json.size != 0 && kx_json_find(json, from, time_out) &&
           kx_json_type(*time_out) != KX_JSON_NULL;
}

/* Sets the expiry from the field. A value without the field says nothing. */
static enum kx_status take_time(const struct rule_ttl *ttl,
                                struct record *record, struct rule_work *work,
                                struct kx_violation *violation)
{
    struct kx_slice json;
    struct kx_slice time;
    enum kx_status status = json_of(record, work, &json);
    if (status != KX_OK || !find_time(json, ttl->from, &time))
        return status;
    if (read_time(time, &work->number, &record->expires_at_ms))
        return work->number.failed ? KX_NO_MEMORY : KX_OK;
    kx_add_slice(&work->pointer, ttl->from);
    kx_add_text(&work->expected,
                "a time in milliseconds since 1970, or as in RFC 3339");
    return violate(violation, "ttl", time, work);
}

static enum kx_status refuse_late(const struct rule_ttl *ttl,
                                  struct rule_work *work,
                                  struct kx_violation *violation)
{
    kx_buffer_clear(&work->pointer);
    kx_add_slice(&work->pointer, ttl->from);
    kx_add_text(&work->expected, "an expiry within ");
    size_t at = work->expected.size;
    declaration_write_period(ttl->max_ms, &work->expected);
    if (work->expected.size > at + 2) { /* without the quotes */
        memmove(work->expected.data + at, work->expected.data + at + 1,
                work->expected.size - at - 2);
        work->expected.size -= 2;
    }
    return violate(violation, "ttl", kx_slice(NULL, 0), work);
}

enum kx_status rule_expiry(const struct rule *rule, struct record *record,
                           int64_t now_ms, struct rule_work *work,
                           struct kx_violation *violation_out)
{
    const struct rule_ttl *ttl = &rule->ttl;
    enum kx_status status = KX_OK;
    kx_buffer_clear(&work->pointer);
    kx_buffer_clear(&work->expected);
    if (ttl->from.size != 0)
        status = take_time(ttl, record, work, violation_out);
    if (status != KX_OK)
        return status;
    int64_t most_ms = ttl->default_ms != 0 ? ttl->default_ms : ttl->max_ms;
    if (record->expires_at_ms == 0 && most_ms != 0)
        record->expires_at_ms = now_ms + most_ms;
    if (ttl->max_ms != 0 && record->expires_at_ms > now_ms + ttl->max_ms)
        return refuse_late(ttl, work, violation_out);
    return KX_OK;
}

/* ---- Quotas -------------------------------------------------------------- */

/* Reads the largest whole numbers that doubles have without gaps. */
static enum kx_status read_amount(struct declaration_parse *parse,
                                  struct kx_slice value, const char *what,
                                  uint64_t *amount_out)
{
    double amount = 0;
    if (kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &amount) || amount < 1 ||
        amount > 9007199254740992.0 || amount != floor(amount))
        return declaration_parse_bad(
            parse, "%s are a whole number from 1 to 2^53", what);
    *amount_out = (uint64_t)amount;
    return KX_OK;
}

static enum kx_status read_entries(struct declaration_parse *parse,
                                   struct kx_slice value, void *target)
{
    struct rule_quota *quota = target;
    return read_amount(parse, value, "entries", &quota->entries);
}

/* Reads a size with its unit, such as "10GiB". 0: the text is no size, or the
 * size is too large. */
static uint64_t size_of(struct kx_slice text)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < text.size && digits < 6 &&
           (uint8_t)(text.data[digits] - '0') < 10;
         digits++)
        number = number * 10 + (uint64_t)(text.data[digits] - '0');
    struct kx_slice unit = kx_slice(text.data + digits, text.size - digits);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (kx_equal(unit, kx_text(units[i])))
            return number << (10 * (i + 1));
    return 0;
}

static enum kx_status read_bytes(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    struct rule_quota *quota = target;
    struct kx_slice text;
    if (kx_json_type(value) != KX_JSON_STRING)
        return read_amount(parse, value, "bytes", &quota->bytes);
    enum kx_status status = declaration_parse_text(parse, value, &text);
    if (status != KX_OK)
        return status;
    quota->bytes = size_of(text);
    return quota->bytes != 0
               ? KX_OK
               : declaration_parse_bad(parse, "bytes are a number, or a size "
                                              "such as \"10GiB\", from "
                                              "\"1KiB\" to \"999999TiB\"");
}

static enum kx_status read_quota_depth(struct declaration_parse *parse,
                                       struct kx_slice value, void *target)
{
    struct rule_quota *quota = target;
    enum kx_status status =
        declaration_parse_count(parse, value,
                                "how many parts after the prefix the keys of "
                                "one total share",
                                &quota->depth);
    if (status == KX_OK && quota->depth > KX_FIELDS_MAX)
        return declaration_parse_bad(parse, "at most %d", KX_FIELDS_MAX);
    return status;
}

static enum kx_status read_over(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    static const char *const words[] = {"refuse", "warn", NULL};
    struct rule_quota *quota = target;
    size_t word = 0;
    enum kx_status status = declaration_parse_word(parse, value, words, &word);
    quota->warns = word == 1;
    return status;
}

static const struct declaration_member quota_members[] = {
    {"entries", read_entries},
    {"bytes", read_bytes},
    {"depth", read_quota_depth},
    {"over", read_over},
    {NULL, NULL},
};

/* The declaration becomes that of totals, with the rule's name. */
static enum kx_status read_quota(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    struct rule_quota *quota = &declaration->rule->quota;
    enum kx_status status = declaration_parse_members(
        parse, value, quota_members, "a quota", quota);
    if (status != KX_OK)
        return status;
    if (quota->entries + quota->bytes == 0)
        return declaration_parse_bad(parse,
                                     "a quota has entries, bytes or both");
    quota->declared = true;
    declaration->store = STORE_AGGREGATE;
    declaration->field_count = quota->depth;
    for (size_t i = 0; i < quota->depth; i++)
        declaration->fields[i].key_part = i + 1;
    declaration->sum_count = 1;
    declaration->sums[0] =
        (struct declared_sum){.path = kx_text("bytes"), .of_sizes = true};
    return KX_OK;
}

static void write_amount(const char *name, uint64_t amount,
                         struct kx_buffer *out)
{
    char text[48];
    if (amount == 0)
        return;
    snprintf(text, sizeof text, "\"%s\":%" PRIu64 ",", name, amount);
    kx_add_text(out, text);
}

static void write_quota(const struct rule_quota *quota, struct kx_buffer *out)
{
    if (!quota->declared)
        return;
    kx_add_text(out, ",\"quota\":{");
    write_amount("entries", quota->entries, out);
    write_amount("bytes", quota->bytes, out);
    write_amount("depth", quota->depth, out);
    kx_add_text(out,
                quota->warns ? "\"over\":\"warn\"}" : "\"over\":\"refuse\"}");
}

struct rule_totals rule_totals_of(struct kx_slice value)
{
    struct rule_totals totals = {0, 0};
    struct kx_slice bytes;
    if (value.size == 0 || !totals_count(value, &totals.entries) ||
        !kx_json_find(value, kx_text("/sum/bytes"), &bytes))
        return (struct rule_totals){0, 0};
    for (size_t i = 0; i < bytes.size; i++)
        if (bytes.data[i] != '"')
            totals.bytes = totals.bytes * 10 + (uint64_t)(bytes.data[i] - '0');
    return totals;
}

/* ---- References ---------------------------------------------------------- */

static enum kx_status read_reference_path(struct declaration_parse *parse,
                                          struct kx_slice value, void *target)
{
    struct rule_reference *reference = target;
    return declaration_parse_pointer(parse, value, &reference->path);
}

static enum kx_status read_to(struct declaration_parse *parse,
                              struct kx_slice value, void *target)
{
    struct rule_reference *reference = target;
    return declaration_parse_prefix(parse, value, "to", &reference->to);
}

static enum kx_status read_as(struct declaration_parse *parse,
                              struct kx_slice value, void *target)
{
    static const char *const words[] = {"part", "key", NULL};
    struct rule_reference *reference = target;
    size_t word = 0;
    enum kx_status status = declaration_parse_word(parse, value, words, &word);
    reference->of_keys = word == 1;
    return status;
}

static const char *const ON_DELETE[] = {[ON_DELETE_RESTRICT] = "restrict",
                                        [ON_DELETE_CASCADE] = "cascade",
                                        [ON_DELETE_CLEAR] = "clear",
                                        NULL};

static enum kx_status read_on_delete(struct declaration_parse *parse,
                                     struct kx_slice value, void *target)
{
    struct rule_reference *reference = target;
    size_t word = ON_DELETE_RESTRICT;
    enum kx_status status =
        declaration_parse_word(parse, value, ON_DELETE, &word);
    reference->on_delete = word;
    return status;
}

static const struct declaration_member reference_members[] = {
    {"path", read_reference_path}, {"to", read_to}, {"as", read_as},
    {"onDelete", read_on_delete},  {NULL, NULL},
};

static enum kx_status check_reference(struct declaration_parse *parse,
                                      const struct rule *rule,
                                      const struct rule_reference *reference)
{
    if (reference->path.size == 0 || reference->to.size == 0)
        return declaration_parse_bad(
            parse, "a reference has a path, such as \"/user\", and to, the "
                   "prefix of the other entries, such as [\"users\"]");
    for (size_t i = 0; &rule->references[i] != reference; i++)
        if (kx_equal(rule->references[i].path, reference->path))
            return declaration_parse_bad(
                parse, "another reference of the rule has this path");
    return KX_OK;
}

static enum kx_status read_reference(struct declaration_parse *parse,
                                     struct kx_slice value, struct rule *rule)
{
    if (rule->reference_count == KX_REFERENCES_MAX)
        return declaration_parse_bad(parse, "a rule has at most %d references",
                                     KX_REFERENCES_MAX);
    struct rule_reference *reference =
        &rule->references[rule->reference_count++];
    enum kx_status status = declaration_parse_members(
        parse, value, reference_members, "a reference", reference);
    return status == KX_OK ? check_reference(parse, rule, reference) : status;
}

static enum kx_status read_references(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    enum kx_status status = KX_OK;
    if (kx_json_type(value) != KX_JSON_ARRAY || !kx_json_iterate(value, &iter))
        return declaration_parse_bad(parse,
                                     "references are an array of objects");
    for (size_t i = 0; status == KX_OK && kx_json_next(&iter, &none, &element);
         i++) {
        size_t end = declaration_parse_enter_element(parse, i);
        status = read_reference(parse, element, declaration->rule);
        if (status != KX_OK)
            return status;
        parse->pointer_end = end;
        parse->pointer[end] = '\0';
    }
    return status;
}

/* Returns a byte that may stand in the name of an index. */
static uint8_t name_byte(uint8_t byte)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    if (byte == '/')
        return '.';
    return byte != 0 && strchr(letters, byte) != NULL ? byte : '_';
}

/* Appends the name of the index that finds the referring entries: that of the
 * rule and the path, with dots. */
static void add_index_name(const struct declaration *declaration,
                           struct kx_slice path, struct kx_buffer *out)
{
    kx_add_slice(out, declaration->name);
    for (size_t i = 0; i < path.size; i++)
        kx_add_byte(out, name_byte(path.data[i]));
}

/* Appends the JSON Pointer of the target's last key part. If the value is the
 * whole key, that is the element after the parts of `to`. */
static void add_part_path(const struct rule_reference *reference,
                          struct kx_buffer *out)
{
    char number[24];
    size_t parts = 0;
    struct kx_slice rest = reference->to;
    kx_add_slice(out, reference->path);
    for (; rest.size > 0; parts++) {
        size_t size = kx_part_size(rest);
        rest = kx_slice(rest.data + size, rest.size - size);
    }
    snprintf(number, sizeof number, "/%zu", parts);
    if (reference->of_keys)
        kx_add_text(out, number);
}

static void write_index(const struct declaration *declaration,
                        const struct rule_reference *reference,
                        struct kx_buffer *out)
{
    struct kx_buffer part;
    char depth[40];
    kx_buffer_init(&part, out->owner);
    kx_add_text(out, "{\"name\":\"");
    add_index_name(declaration, reference->path, out);
    kx_add_text(out, "\",\"prefix\":");
    kx_key_to_json(declaration->prefix, out);
    snprintf(depth, sizeof depth, ",\"depth\":%zu", declaration->depth);
    if (declaration->depth != 0)
        kx_add_text(out, depth);
    add_part_path(reference, &part);
    kx_add_text(out, ",\"fields\":[");
    kx_json_escape(kx_buffer_slice(&part), out);
    kx_add_text(out, "]}");
    out->failed |= part.failed;
    kx_buffer_free(&part);
}

/* Declares the index of each reference, in the memory of the rule. */
static enum kx_status declare_indexes(struct declaration_parse *parse)
{
    struct declaration *declaration = parse->declaration;
    struct rule *rule = declaration->rule;
    for (size_t i = 0; i < rule->reference_count; i++) {
        struct kx_fault fault = {.detail = ""};
        struct kx_buffer text;
        kx_buffer_init(&text, declaration);
        write_index(declaration, &rule->references[i], &text);
        enum kx_status status =
            text.failed ? KX_NO_MEMORY
                        : declaration_parse(declaration, kx_buffer_slice(&text),
                                            &rule->references[i].index, &fault);
        kx_buffer_free(&text);
        if (status == KX_NO_MEMORY)
            return declaration_parse_no_memory(parse);
        if (status != KX_OK)
            return declaration_parse_bad(
                parse, "the index of reference %zu: %s", i, fault.detail);
    }
    return KX_OK;
}

static void write_references(const struct rule *rule, struct kx_buffer *out)
{
    for (size_t i = 0; i < rule->reference_count; i++) {
        const struct rule_reference *reference = &rule->references[i];
        kx_add_text(out,
                    i == 0 ? ",\"references\":[{\"path\":" : ",{\"path\":");
        kx_json_escape(reference->path, out);
        kx_add_text(out, ",\"to\":");
        kx_key_to_json(reference->to, out);
        kx_add_text(out, reference->of_keys ? ",\"as\":\"key\""
                                            : ",\"as\":\"part\"");
        kx_add_text(out, ",\"onDelete\":\"");
        kx_add_text(out, ON_DELETE[reference->on_delete]);
        kx_add_text(out, "\"}");
    }
    kx_add(out, "]", rule->reference_count > 0);
}

/* Returns whether the index keys have the values of this field as they are. */
static bool is_plain_field(const struct field *field)
{
    return field_of_value(field) && field->fold == FOLD_NONE &&
           !field->descending && !field->each;
}

/* Returns whether the index keys have another form than name, field parts and
 * the key of the entry. */
static bool is_special(const struct declaration *index)
{
    return index->unique || index->signed_zero || index->queue.declared ||
           index->feed || declaration_aggregates(index);
}

/* Returns whether an index may leave out entries that have its first field. */
static bool leaves_out(const struct declaration *index)
{
    return (index->field_count > 1 && index->missing != MISSING_ERROR) ||
           index->where_count > 0 || index->has_each;
}

/* Returns whether the index covers all entries of the rule, under the same
 * prefix. */
static bool covers_same(const struct declaration *index,
                        const struct declaration *own)
{
    return kx_equal(index->prefix, own->prefix) &&
           (index->depth == 0 || index->depth == own->depth);
}

bool rule_reference_fits(const struct rule_reference *reference,
                         const struct declaration *index)
{
    const struct declaration *own = reference->index;
    return index->rule == NULL && covers_same(index, own) &&
           index->field_count > 0 && is_plain_field(&index->fields[0]) &&
           kx_equal(index->fields[0].path, own->fields[0].path) &&
           !is_special(index) && !leaves_out(index);
}

/* Appends the last part of the target's key. KX_OK; KX_ABSENT: the value cannot
 * be one; KX_NO_MEMORY. */
static enum kx_status add_last_part(const struct rule_reference *reference,
                                    struct kx_slice value,
                                    struct kx_buffer *key)
{
    struct kx_fault fault;
    if (!reference->of_keys) {
        kx_add_slice(key, reference->to);
        return indexable_add_value(value, FOLD_NONE, false, key);
    }
    if (kx_json_type(value) != KX_JSON_ARRAY)
        return KX_ABSENT;
    enum kx_status status = kx_key_from_json(value, key, &fault);
    if (status != KX_OK)
        return status == KX_NO_MEMORY ? status : KX_ABSENT;
    if (!rule_refers_to(reference, kx_buffer_slice(key)))
        return KX_ABSENT;
    indexable_unsign(key, reference->to.size);
    return KX_OK;
}

/* Finds the value at the path. KX_ABSENT: it is null or not there. */
static enum kx_status find_target(const struct rule_reference *reference,
                                  struct kx_slice json, struct rule_work *work,
                                  struct kx_slice *value_out)
{
    if (json.size == 0 || !kx_json_find(json, reference->path, value_out) ||
        kx_json_type(*value_out) == KX_JSON_NULL)
        return KX_ABSENT;
    kx_buffer_clear(&work->target);
    enum kx_status status = add_last_part(reference, *value_out, &work->target);
    if (status == KX_NO_MEMORY || work->target.failed)
        return KX_NO_MEMORY;
    return status == KX_OK ? KX_OK : KX_RULE_VIOLATED;
}

enum kx_status rule_target(const struct rule_reference *reference,
                           const struct record *record, struct rule_work *work)
{
    struct kx_slice json;
    struct kx_slice value;
    enum kx_status status = json_of(record, work, &json);
    return status == KX_OK ? find_target(reference, json, work, &value)
                           : status;
}

/* Returns whether the index key, which has the target's last part and the key
 * of the entry, is short enough. An index leaves out entries with longer keys,
 * so their references would not be found. */
static bool fits_index(const struct rule_reference *reference,
                       struct kx_slice key, struct kx_slice target)
{
    enum { NAME_PART_MAX = KX_INDEX_NAME_MAX + 2 };
    return NAME_PART_MAX + (target.size - reference->to.size) +
               (key.size - reference->index->prefix.size) <=
           KX_KEY_MAX;
}

/* Also looks up the target in the store. KX_RULE_VIOLATED: it does not exist.
 */
static enum kx_status look_up(const struct rule_reference *reference,
                              struct kx_slice key, struct rule_work *work)
{
    struct kx_slice target = kx_buffer_slice(&work->target);
    if (!fits_index(reference, key, target))
        return KX_RULE_VIOLATED;
    enum kx_status status = work->find == NULL
                                ? KX_OK
                                : work->find(work->finder, reference, target);
    return status == KX_ABSENT ? KX_RULE_VIOLATED : status;
}

static enum kx_status test_reference(const struct rule_reference *reference,
                                     struct kx_slice key, struct kx_slice json,
                                     struct rule_work *work,
                                     struct kx_violation *violation)
{
    struct kx_slice value;
    enum kx_status status = find_target(reference, json, work, &value);
    if (status == KX_OK)
        status = look_up(reference, key, work);
    if (status != KX_RULE_VIOLATED)
        return status == KX_ABSENT ? KX_OK : status;
    kx_add_slice(&work->pointer, reference->path);
    kx_add_text(&work->expected,
                reference->of_keys
                    ? "the key of an entry under "
                    : "the last part of the key of an entry under ");
    kx_key_to_json(reference->to, &work->expected);
    return violate(violation, "references", value, work);
}

/* ---- Declarations -------------------------------------------------------- */

static bool tests_values(const struct rule *rule)
{
    return rule->schema != NULL || rule->bounded || rule->reference_count > 0;
}

static const struct declaration_member members[] = {
    {"name", declaration_read_name},
    {"prefix", declaration_read_prefix},
    {"depth", declaration_read_depth},
    {"schema", read_schema},
    {"ttl", read_ttl},
    {"bounds", read_bounds},
    {"quota", read_quota},
    {"references", read_references},
    {NULL, NULL},
};

static enum kx_status check_whole(struct declaration_parse *parse)
{
    const struct declaration *declaration = parse->declaration;
    if (declaration->name.size == 0)
        return declaration_parse_bad(parse, "a rule needs a name");
    if (!parse->has_prefix)
        return declaration_parse_bad(parse, "a rule needs a prefix, such as "
                                            "[\"orders\"]");
    const struct rule *rule = declaration->rule;
    if (!tests_values(rule) && !rule->ttl.declared && !rule->quota.declared)
        return declaration_parse_bad(
            parse, "a rule demands something: it has a schema, a ttl, bounds, "
                   "a quota or references");
    return KX_OK;
}

/* The rows of a rule lie under its name_key. */
static enum kx_status mark_rows(struct declaration *declaration)
{
    struct kx_buffer key;
    kx_buffer_init(&key, declaration);
    kx_add_byte(&key, RULE_ROWS_MARK);
    kx_add_slice(&key, declaration->name_key);
    declaration->name_key = kx_buffer_slice(&key);
    return key.failed ? KX_NO_MEMORY : KX_OK;
}

/* As that of an index: members in a fixed order, so that equal texts mean equal
 * rules. */
static enum kx_status write_text(struct declaration *declaration)
{
    struct kx_buffer out;
    char depth[40];
    kx_buffer_init(&out, declaration);
    kx_add_text(&out, "{\"name\":");
    kx_json_escape(declaration->name, &out);
    kx_add_text(&out, ",\"prefix\":");
    kx_key_to_json(declaration->prefix, &out);
    if (declaration->depth != 0) {
        snprintf(depth, sizeof depth, ",\"depth\":%zu", declaration->depth);
        kx_add_text(&out, depth);
    }
    if (declaration->rule->schema != NULL) {
        kx_add_text(&out, ",\"schema\":");
        kx_add_slice(&out, declaration->rule->schema_text);
    }
    write_ttl(&declaration->rule->ttl, &out);
    write_bounds(declaration->rule, &out);
    write_quota(&declaration->rule->quota, &out);
    write_references(declaration->rule, &out);
    kx_add_byte(&out, '}');
    declaration->text = kx_buffer_slice(&out);
    return out.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status parse_all(struct declaration_parse *parse,
                                struct kx_slice text)
{
    struct declaration *declaration = parse->declaration;
    enum kx_status status =
        declaration_parse_members(parse, text, members, "a rule", declaration);
    if (status == KX_OK)
        status = check_whole(parse);
    if (status == KX_OK)
        status = declare_indexes(parse);
    if (status == KX_OK)
        status = mark_rows(declaration);
    if (status == KX_OK)
        status = write_text(declaration);
    if (status == KX_OK && declaration->text.size > KX_DECLARATION_MAX)
        return declaration_parse_bad(
            parse, "with its defaults the rule has %zu bytes; the limit is %d",
            declaration->text.size, KX_DECLARATION_MAX);
    return status;
}

static struct declaration *make_declaration(void *mem)
{
    struct declaration *declaration = talloc_zero(mem, struct declaration);
    if (declaration == NULL)
        return NULL;
    declaration->rule = talloc_zero(declaration, struct rule);
    if (declaration->rule == NULL)
        TALLOC_FREE(declaration);
    return declaration;
}

enum kx_status rule_parse(void *mem, struct kx_slice text,
                          struct declaration **declaration_out,
                          struct kx_fault *fault)
{
    enum kx_status status = kx_json_check(text, fault);
    if (status != KX_OK)
        return status;
    struct declaration *declaration = make_declaration(mem);
    if (declaration == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    struct declaration_parse parse = {.declaration = declaration,
                                      .fault = fault};
    status = parse_all(&parse, text);
    if (status == KX_OK)
        *declaration_out = declaration;
    else
        talloc_free(declaration);
    if (status != KX_BAD_INDEX)
        return status;
    if (fault != NULL)
        fault->status = KX_BAD_RULE;
    return KX_BAD_RULE;
}

/* ---- Tests --------------------------------------------------------------- */

void rule_work_init(struct rule_work *work, void *owner)
{
    index_document_init(&work->document, owner);
    kx_buffer_init(&work->number, owner);
    kx_buffer_init(&work->pointer, owner);
    kx_buffer_init(&work->expected, owner);
    kx_buffer_init(&work->target, owner);
    work->find = NULL;
    work->finder = NULL;
    work->charge = NULL;
}

enum kx_status rule_test(const struct declaration *declaration,
                         struct kx_slice key, const struct record *record,
                         struct rule_work *work,
                         struct kx_violation *violation_out)
{
    const struct rule *rule = declaration->rule;
    struct kx_slice json;
    if (!tests_values(rule))
        return KX_OK;
    kx_buffer_clear(&work->pointer);
    kx_buffer_clear(&work->expected);
    charge_add(work->charge, record->value.size, CHARGE_PASSED);
    enum kx_status status = json_of(record, work, &json);
    if (status == KX_OK && rule->bounded)
        status = test_bounds(rule, record, work, json, violation_out);
    if (status == KX_OK && rule->schema != NULL)
        status = test_schema(rule, json, work, violation_out);
    for (size_t i = 0; status == KX_OK && i < rule->reference_count; i++)
        status = test_reference(&rule->references[i], key, json, work,
                                violation_out);
    return status;
}
