/* Reading declarations: one canonical form for all ways to say the same, no
 * crash and no leak with any text and any amount of memory. */
#include "all_memory.h"
#include "index_model.h"

#include "schema/extract.h"

static const char full[] =
    "{\"where\":[{\"path\":\"/s~1t\",\"in\":[\"a\",1.50,null,true,"
    "{\"value\":\"-7\",\"type\":\"bigint\"}]},{\"lt\":65,\"path\":\"/age\","
    "\"ge\":18e0}],\"missing\":\"error\",\"store\":{\"fields\":[\"/name\","
    "\"/a/b\"]},\"unique\":true,\"fields\":[\"/\\u0065mail\",{\"key\":2,"
    "\"fold\":\"lower\"},{\"order\":\"desc\",\"each\":true,\"path\":\"/"
    "tags\",\"fold\":"
    "\"casefold\"}],\"depth\":2,\"prefix\":[\"p\",1],\"name\":\"n\"}";
static const char canonical[] =
    "{\"name\":\"n\",\"prefix\":[\"p\",1],\"depth\":2,\"fields\":[{\"path\":"
    "\"/email\"},{\"key\":2,\"fold\":\"lower\"},{\"path\":\"/tags\",\"fold\":"
    "\"casefold\",\"each\":true,\"order\":\"desc\"}],\"unique\":true,\"store\":"
    "{\"fields\":["
    "\"/name\",\"/a/b\"]},\"missing\":\"error\",\"where\":[{\"path\":\"/s~1t\","
    "\"in\":[\"a\",1.5,null,true,{\"type\":\"bigint\",\"value\":\"-7\"}]},{"
    "\"path\":\"/age\",\"lt\":65},{\"path\":\"/age\",\"ge\":18}]}";

/* The canonical text, or NULL. */
static const char *canonical_of(void *mem, const char *text)
{
    struct declaration *declaration;
    if (declaration_parse(mem, kx_text(text), &declaration, NULL) != KX_OK)
        return NULL;
    return talloc_strndup(mem, (const char *)declaration->text.data,
                          declaration->text.size);
}

TEST_WITH(declaration_has_one_canonical_form, all_memory_open, all_memory_close)
{
    void *mem = talloc_new(*state);
    assert_string_equal(canonical_of(mem, full), canonical);
    assert_string_equal(canonical_of(mem, canonical), canonical);
    talloc_free(mem);
}

TEST_WITH(random_declarations_read_back_as_written, all_memory_open,
          all_memory_close)
{
    uint64_t seed = random_seed("declaration_test");
    for (size_t i = 0; i < 2000; i++) {
        void *mem = talloc_new(*state);
        struct index_shape shape = random_shape(&seed, i);
        const char *first = canonical_of(mem, shape_json(mem, &shape));
        assert_non_null(first);
        assert_string_equal(canonical_of(mem, first), first);
        talloc_free(mem);
    }
}

/* Changes, removes or doubles one byte of the text, or sometimes moves a word.
 */
static char *spoil(void *mem, uint64_t *seed, const char *text)
{
    size_t size = strlen(text);
    size_t at = random_below(seed, size);
    size_t from = random_below(seed, size);
    size_t length = random_below(seed, 12);
    if (from + length > size)
        length = size - from;
    switch (random_below(seed, 3)) {
    case 0:
        return talloc_asprintf(mem, "%.*s%c%s", (int)at, text,
                               (char)(1 + random_below(seed, 255)),
                               text + at + 1);
    case 1:
        return talloc_asprintf(mem, "%.*s%s", (int)at, text, text + at + 1);
    default:
        return talloc_asprintf(mem, "%.*s%.*s%s", (int)at, text, (int)length,
                               text + from, text + at);
    }
}

TEST_WITH(corrupted_declarations_are_refused_or_read, all_memory_open,
          all_memory_close)
{
    uint64_t seed = random_seed("declaration_test");
    size_t read_count = 0;
    size_t refused = 0;
    for (size_t i = 0; i < 20000; i++) {
        void *mem = talloc_new(*state);
        struct declaration *declaration = NULL;
        struct kx_fault fault = {.detail = ""};
        char *text = spoil(mem, &seed, i % 2 > 0 ? full : canonical);
        if (random_below(&seed, 2) > 0)
            text = spoil(mem, &seed, text);
        enum kx_status status =
            declaration_parse(mem, kx_text(text), &declaration, &fault);
        if (status == KX_OK) {
            const char *once = canonical_of(mem, text);
            assert_string_equal(canonical_of(mem, once), once);
            read_count++;
        } else {
            assert_true(status == KX_BAD_JSON || status == KX_BAD_INDEX ||
                        status == KX_JSON_TOO_DEEP);
            assert_string_not_equal(fault.detail, "");
            assert_true(kx_utf8_valid(kx_text(fault.detail)));
            assert_true(kx_utf8_valid(kx_text(fault.pointer)));
            refused++;
        }
        talloc_free(mem);
    }
    assert_true(read_count > 100 && refused > 100);
}

/* The limit of memory grows until the declaration is read. */
TEST_WITH(declaration_parse_reports_lack_of_memory, all_memory_open,
          all_memory_close)
{
    enum kx_status status = KX_NO_MEMORY;
    size_t refused = 0;
    for (size_t bytes = 600; status != KX_OK; bytes += 64) {
        struct declaration *declaration = NULL;
        void *mem = talloc_new(*state);
        all_memory_limit(*state, bytes);
        status = declaration_parse(mem, kx_text(full), &declaration, NULL);
        all_memory_limit(*state, 0);
        assert_true(status == KX_OK || status == KX_NO_MEMORY);
        refused += status != KX_OK;
        talloc_free(mem);
    }
    assert_true(refused > 10);
}

TEST_WITH(extraction_reports_lack_of_memory, all_memory_open, all_memory_close)
{
    void *all = talloc_new(*state);
    struct declaration *declaration;
    struct record record = {.encoding = KX_JSON,
                            .stamp = 1,
                            .value = kx_text("{\"email\":\"\\u0061\",\"tags\":["
                                             "\"É\",1,\"b\",2,3,4,5,6,7],"
                                             "\"s/t\":\"a\",\"age\":20,"
                                             "\"name\":1}")};
    struct kx_slice key = test_key(all, "[\"p\",1,\"x\",\"Y\"]");
    assert_int_equal(declaration_parse(all, kx_text(full), &declaration, NULL),
                     KX_OK);
    enum kx_status status = KX_NO_MEMORY;
    size_t refused = 0;
    for (size_t bytes = 64; status != KX_OK; bytes += 64) {
        void *mem = talloc_new(*state);
        struct extract extract;
        struct record row;
        extract_init(&extract, mem);
        all_memory_limit(*state, talloc_total_size(*state) + bytes);
        status = extract_keys(&extract, declaration, key, &record);
        if (status == KX_OK)
            status = extract_record(&extract, 8, 1, &row);
        all_memory_limit(*state, 0);
        assert_true(status == KX_OK || status == KX_NO_MEMORY);
        if (status == KX_OK)
            assert_int_equal(extract.count, 9);
        refused += status != KX_OK;
        talloc_free(mem);
    }
    assert_true(refused > 5);
    talloc_free(all);
}
