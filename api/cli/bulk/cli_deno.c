/* Checks, converts and counts the entries of Deno KV stores. */
#include "cli/bulk/cli_deno.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(part) ((part)->lost = true)
#include <uthash.h>

enum { PARTS_MAX = 10000, PARTS_SHOWN = 20, NAMED_MAX = 20 };

struct cli_deno_part {
    UT_hash_handle hh;
    uint64_t count;
    bool lost; /* memory ran out, and it is not in the table */
    size_t size;
    uint8_t bytes[];
};

/* ---- Entries that cannot be stored -------------------------------------- */

/* Checks that the value of a message has a form in JSON, plain or typed. */
static enum kx_status check_message(const struct cli_deno *deno,
                                    const struct cli_deno_entry *entry,
                                    struct kx_fault *fault)
{
    static const char BYTES_ONLY[] = "{\"type\":\"V8\"";
    struct kx_value value = {.encoding = KX_V8, .data = entry->value};
    struct kx_buffer json;
    kx_buffer_init(&json, deno->memory);
    bool plain = kx_value_to_json(&value, &json);
    bool fits =
        plain || !kx_starts_with(kx_buffer_slice(&json), kx_text(BYTES_ONLY));
    kx_buffer_free(&json);
    return fits ? KX_OK
                : kx_fail(fault, KX_BAD_VALUE,
                          "The message cannot be a member of an object.");
}

/* Checks what the server would refuse. */
static enum kx_status check(const struct cli_deno *deno,
                            const struct cli_deno_entry *entry,
                            struct kx_fault *fault)
{
    struct kx_slice key = entry->key;
    enum kx_status status = kx_key_check(key, fault);
    if (status == KX_OK && key.size + deno->prefix_size > KX_KEY_MAX)
        return kx_fail(fault, KX_KEY_TOO_LONG,
                       "The key has %zu encoded bytes with the prefix; the "
                       "limit is %d.",
                       key.size + deno->prefix_size, KX_KEY_MAX);
    if (status != KX_OK)
        return status;
    if (entry->encoding == CLI_DENO_V8)
        return kx_v8_check(entry->value, deno->memory, fault);
    if (entry->encoding == CLI_DENO_LE64 && entry->value.size != 8)
        return kx_fail(fault, KX_BAD_VALUE,
                       "The KvU64 has %zu bytes instead of 8.",
                       entry->value.size);
    if (entry->encoding < CLI_DENO_V8 || entry->encoding > CLI_DENO_BYTES)
        return kx_fail(fault, KX_BAD_VALUE,
                       "The value encoding %" PRId64 " is unknown.",
                       entry->encoding);
    return KX_OK;
}

/* A key that is not valid has no text, so it is shown in hexadecimal digits. */
static void name_left_out(const struct cli_deno *deno, struct kx_slice key,
                          const struct kx_fault *fault)
{
    struct kx_buffer text;
    char digits[2 * KX_SAMPLE_KEY_MAX + 1];
    size_t shown = key.size < KX_SAMPLE_KEY_MAX ? key.size : KX_SAMPLE_KEY_MAX;
    kx_buffer_init(&text, deno->memory);
    kx_key_to_json(key, &text);
    kx_hex_write(kx_slice(key.data, shown), digits);
    if (text.size > 2)
        cli_note("left out %.*s: %s", (int)text.size, (const char *)text.data,
                 fault->detail);
    else
        cli_note("left out key 0x%s%s: %s", digits,
                 shown < key.size ? "..." : "", fault->detail);
    kx_buffer_free(&text);
}

bool cli_deno_fits(struct cli_deno *deno, const struct cli_deno_entry *entry)
{
    struct kx_fault fault = {0};
    enum kx_status status = check(deno, entry, &fault);
    if (status == KX_OK && entry->message)
        status = check_message(deno, entry, &fault);
    if (status == KX_OK)
        return true;
    if (++deno->left_out <= NAMED_MAX)
        name_left_out(deno, entry->key, &fault);
    return false;
}

/* ---- The form in a request ---------------------------------------------- */

static void add_u64(struct kx_slice value, struct kx_buffer *out)
{
    uint64_t number = 0;
    char text[24];
    for (size_t i = 8; i-- > 0;)
        number = number << 8 | value.data[i];
    snprintf(text, sizeof text, "%" PRIu64, number);
    kx_add_text(out, text);
}

void cli_deno_typed(const struct cli_deno_entry *entry, struct kx_buffer *out)
{
    static const char *const TYPES[] = {[CLI_DENO_V8] = "V8",
                                        [CLI_DENO_LE64] = "KvU64",
                                        [CLI_DENO_BYTES] = "Uint8Array"};
    kx_add_text(out, "{\"type\":\"");
    kx_add_text(out, TYPES[entry->encoding]);
    kx_add_text(out, "\",\"value\":\"");
    if (entry->encoding == CLI_DENO_LE64)
        add_u64(entry->value, out);
    else
        kx_base64_write(entry->value, out);
    kx_add_text(out, "\"}");
}

/* ---- Numbers by first key part ------------------------------------------ */

static struct cli_deno_part *add_part(struct cli_deno *deno,
                                      struct kx_slice bytes)
{
    struct cli_deno_part *part =
        deno->part_count < PARTS_MAX
            ? talloc_zero_size(deno->memory, sizeof *part + bytes.size)
            : NULL;
    if (part == NULL)
        return NULL;
    part->size = bytes.size;
    memcpy(part->bytes, bytes.data, bytes.size);
    HASH_ADD_KEYPTR(hh, deno->parts, part->bytes, part->size, part);
    deno->part_count++;
    return part->lost ? NULL : part;
}

void cli_deno_count(struct cli_deno *deno, struct kx_slice key)
{
    struct cli_deno_part *part;
    struct kx_slice first = kx_slice(key.data, kx_part_size(key));
    HASH_FIND(hh, deno->parts, first.data, first.size, part);
    if (part == NULL)
        part = add_part(deno, first);
    if (part != NULL)
        part->count++;
    else
        deno->other_count++;
}

static int compare_counts(const struct cli_deno_part *a,
                          const struct cli_deno_part *b)
{
    struct kx_slice left = kx_slice(a->bytes, a->size);
    struct kx_slice right = kx_slice(b->bytes, b->size);
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return kx_compare(left, right);
}

static void report_parts(const struct cli_deno *deno)
{
    struct cli_deno_part *parts = deno->parts;
    struct kx_buffer text;
    uint64_t rest = deno->other_count;
    size_t shown = 0;
    kx_buffer_init(&text, deno->memory);
    HASH_SRT(hh, parts, compare_counts);
    for (struct cli_deno_part *part = parts; part != NULL;
         part = part->hh.next) {
        if (shown++ >= PARTS_SHOWN) {
            rest += part->count;
            continue;
        }
        text.size = 0;
        kx_key_to_json(kx_slice(part->bytes, part->size), &text);
        cli_note("%12" PRIu64 "  %.*s", part->count, (int)text.size,
                 (const char *)text.data);
    }
    if (rest > 0)
        cli_note("%12" PRIu64 "  other first key parts", rest);
}

void cli_deno_report(const struct cli_deno *deno, const char *from)
{
    if (deno->parts != NULL)
        cli_note("entries of %s by first key part:", from);
    report_parts(deno);
    if (deno->left_out > 0)
        cli_note("%" PRIu64 " entries were left out because Kindex cannot "
                 "store them%s",
                 deno->left_out,
                 deno->left_out > NAMED_MAX ? "; the first are named above"
                                            : "");
    if (deno->names_next)
        cli_note("next: kindex index discover finds the indexes that the "
                 "application keeps by hand");
}

void cli_deno_end(struct cli_deno *deno)
{
    HASH_CLEAR(hh, deno->parts);
}
