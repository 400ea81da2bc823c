/* The official suite of JSON Schema 2020-12 (tests/data/json-schema). Each
 * schema that is refused must be listed in refused.txt with its file, name,
 * pointer and reason; one that is not listed is printed as such a line. */
#include "rules/json_schema.h"

#include <dirent.h>

#include "unit.h"

/* A run over the files of one folder. */
struct suite {
    void *memory;
    struct kx_slice refused; /* refused.txt */
    size_t listed;           /* lines of refused.txt that have been met */
    size_t checked;          /* values */
    size_t failed;
};

static struct kx_slice read_file(void *memory, const char *name)
{
    char path[512];
    FILE *file = fopen(data_path(name, path, sizeof path), "r");
    assert_non_null(file);
    char *bytes = talloc_size(memory, 1 << 20);
    assert_non_null(bytes);
    size_t size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    assert_in_range(size, 1, (1 << 20) - 1);
    return kx_slice(bytes, size);
}

static struct kx_slice member(struct kx_slice object, const char *pointer)
{
    struct kx_slice value;
    assert_true(kx_json_find(object, kx_text(pointer), &value));
    return value;
}

/* True if refused.txt has this line. */
static bool is_listed(struct suite *suite, const char *line)
{
    size_t size = strlen(line);
    const uint8_t *found =
        memmem(suite->refused.data, suite->refused.size, line, size);
    bool listed = found != NULL && found[size] == '\n' &&
                  (found == suite->refused.data || found[-1] == '\n');
    suite->listed += listed;
    return listed;
}

static void check_value(struct suite *suite, const struct json_schema *schema,
                        struct kx_slice test, const char *place)
{
    struct json_schema_violation violation = {.keyword = ""};
    struct kx_slice name = member(test, "/description");
    bool valid = kx_json_type(member(test, "/valid")) == KX_JSON_TRUE;
    enum kx_status status =
        json_schema_check(schema, member(test, "/data"), NULL, &violation);
    suite->checked++;
    if (status == (valid ? KX_OK : KX_CHECK_FAILED))
        return;
    suite->failed++;
    print_error("%s: %.*s: %s %s\n", place, (int)name.size,
                (const char *)name.data, kx_status_name(status),
                violation.keyword);
}

static void run_group(struct suite *suite, struct kx_slice group,
                      const char *file)
{
    char place[1024];
    struct json_schema *schema;
    struct kx_fault fault;
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice test;
    struct kx_slice name = member(group, "/description");
    snprintf(place, sizeof place, "%s: %.*s", file, (int)name.size,
             (const char *)name.data);
    if (json_schema_compile(member(group, "/schema"), suite->memory, &schema,
                            &fault) != KX_OK) {
        size_t size = strlen(place);
        snprintf(place + size, sizeof place - size, ": %s: %s", fault.pointer,
                 fault.detail);
        if (!is_listed(suite, place)) {
            suite->failed++;
            print_error("%s\n", place);
        }
        return;
    }
    assert_true(kx_json_iterate(member(group, "/tests"), &iter));
    while (kx_json_next(&iter, &none, &test))
        check_value(suite, schema, test, place);
    talloc_free(schema);
}

static void run_file(struct suite *suite, const char *name)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice group;
    struct kx_slice text = read_file(suite->memory, name);
    assert_int_equal(kx_json_check_document(text, NULL), KX_OK);
    assert_true(kx_json_iterate(text, &iter));
    while (kx_json_next(&iter, &none, &group))
        run_group(suite, group, name);
}

static void run_folder(struct suite *suite, const char *folder)
{
    char path[512];
    struct dirent **files;
    int count =
        scandir(data_path(folder, path, sizeof path), &files, NULL, alphasort);
    assert_in_range(count, 1, 1000);
    for (int i = 0; i < count; i++) {
        size_t size = strlen(files[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
        if (size > 5 && strcmp(files[i]->d_name + size - 5, ".json") == 0)
            run_file(suite, path);
        free(files[i]);
    }
    free(files);
}

static size_t count_lines(struct kx_slice text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    return lines;
}

TEST_WITH(suite_passes_and_what_is_refused_is_listed, memory_open, memory_close)
{
    void *memory = talloc_new(*state);
    struct suite suite = {.memory = memory,
                          .refused =
                              read_file(memory, "json-schema/refused.txt")};
    run_folder(&suite, "json-schema");
    run_folder(&suite, "json-schema/optional");
    printf("%zu values, %zu schemas refused, %zu failures\n", suite.checked,
           suite.listed, suite.failed);
    assert_int_equal(suite.failed, 0);
    assert_int_equal(suite.listed, count_lines(suite.refused));
    talloc_free(memory);
}
