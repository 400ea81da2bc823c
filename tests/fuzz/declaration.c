/* Two declarations of indexes, a line each, and an entry's value. The canonical
 * text of a declaration is that of the same declaration; what an index takes
 * from the entry are keys in order, and records. */
#include "schema/declaration.h"
#include "schema/extract.h"
#include "fuzz.h"

static struct declaration *parse(struct kx_slice text, void *memory)
{
    struct declaration *declaration = NULL;
    struct declaration *again = NULL;
    struct kx_fault fault = {.detail = ""};
    size_t blocks = talloc_total_blocks(memory);
    enum kx_status status =
        declaration_parse(memory, text, &declaration, &fault);
    if (status != KX_OK) {
        assert_true(status == KX_BAD_JSON || status == KX_JSON_TOO_DEEP ||
                    status == KX_BAD_INDEX);
        assert_true(fault.detail[0] != '\0');
        assert_int_equal(talloc_total_blocks(memory), blocks);
        return NULL;
    }
    if (declaration_parse(memory, declaration->text, &again, &fault) != KX_OK)
        fail_msg("%s: %.*s", fault.detail, (int)declaration->text.size,
                 (const char *)declaration->text.data);
    assert_true(kx_equal(again->text, declaration->text));
    return declaration;
}

static void differ(const struct declaration *a, const struct declaration *b,
                   void *memory)
{
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    declaration_difference(a, b, &out);
    if (!kx_equal(a->text, b->text))
        assert_true(out.size > 0);
}

/* ---- The index entries of one entry ------------------------------------- */

static bool take_value(struct kx_slice text, struct record *record,
                       void *memory)
{
    *record = (struct record){.encoding = KX_BYTES, .stamp = 1, .value = text};
    if (kx_json_check(text, NULL) == KX_OK)
        record->encoding = KX_JSON;
    else if (kx_v8_check(text, memory, NULL) == KX_OK)
        record->encoding = KX_V8;
    return text.size > 0;
}

static void check_entry(struct extract *extract, size_t n, void *memory)
{
    struct record record, again;
    struct kx_buffer bytes;
    struct kx_slice key = extract_key(extract, n);
    assert_int_equal(kx_key_check(key, NULL), KX_OK);
    assert_int_equal(extract_find(extract, key), n);
    if (n > 0)
        assert_true(kx_compare(extract_key(extract, n - 1), key) < 0);
    assert_int_equal(extract_record(extract, n, 7, &record), KX_OK);
    record.stamp = 1;
    kx_buffer_init(&bytes, memory);
    record_write(&record, &bytes);
    assert_true(record_read(kx_buffer_slice(&bytes), &again));
    assert_true(kx_equal(record.value, again.value));
    assert_true(
        kx_equal(record_owner(&record, key), record_owner(&again, key)));
}

static void extracted(const struct declaration *declaration,
                      const struct record *record, void *memory)
{
    struct extract extract;
    struct kx_buffer key, detail, field;
    kx_buffer_init(&key, memory);
    kx_buffer_init(&detail, memory);
    kx_buffer_init(&field, memory);
    kx_add_slice(&key, declaration->prefix);
    for (size_t i = 0; i < (declaration->depth | 1) && i < 8; i++)
        kx_key_add_string(&key, kx_text("Part"));
    if (key.size > KX_KEY_MAX ||
        !declaration_covers(declaration, kx_buffer_slice(&key)))
        return;
    extract_init(&extract, memory);
    enum kx_status status =
        extract_keys(&extract, declaration, kx_buffer_slice(&key), record);
    assert_true(status == KX_OK || status == KX_NOT_INDEXABLE);
    if (extract.obstacle != OBSTACLE_NONE) {
        extract_describe(&extract, &detail, &field);
        assert_true(detail.size > 0);
    }
    for (size_t n = 0; status == KX_OK && n < extract.count; n++)
        check_entry(&extract, n, memory);
}

void fuzz(struct kx_slice input, void *memory)
{
    struct record record;
    struct kx_slice first = fuzz_alone(fuzz_until(&input, '\n'), memory);
    struct kx_slice second = fuzz_alone(fuzz_until(&input, '\n'), memory);
    struct declaration *a = parse(first, memory);
    struct declaration *b = a != NULL ? parse(second, memory) : NULL;
    if (b != NULL)
        differ(a, b, memory);
    if (a != NULL && take_value(input, &record, memory))
        extracted(a, &record, memory);
}
