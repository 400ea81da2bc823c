/* ListObjectsV2, page by page. Names that an archive cannot have (too long, or
 * in need of escapes) belong to others and are skipped. */
#include "s3/s3_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "s3/s3_xml.h"

enum { TOKEN_MAX = 1024, FIRST_CAPACITY = 64 };

static bool needs_escape(char c)
{
    return !isalnum((unsigned char)c) && strchr("-._~", c) == NULL;
}

static bool is_plain(const char *name)
{
    while (*name != '\0' && !needs_escape(*name))
        name++;
    return *name == '\0';
}

/* Appends text as a value in a query. */
static void encode(struct kx_buffer *out, const char *text)
{
    char escaped[4];
    for (; *text != '\0'; text++) {
        if (!needs_escape(*text)) {
            kx_add(out, text, 1);
            continue;
        }
        snprintf(escaped, sizeof escaped, "%%%02X", (unsigned char)*text);
        kx_add(out, escaped, 3);
    }
}

/* Builds the query with its parameters sorted by name, as the signature
 * requires. */
static const char *make_query(struct kx_buffer *query, const char *prefix,
                              const char *token)
{
    kx_buffer_clear(query);
    if (token[0] != '\0') {
        kx_add_text(query, "continuation-token=");
        encode(query, token);
        kx_add_text(query, "&");
    }
    kx_add_text(query, "delimiter=%2F&list-type=2&prefix=");
    encode(query, prefix);
    kx_add(query, "", 1);
    return query->failed ? NULL : (const char *)query->data;
}

static bool grow(struct s3 *s3, struct s3_list *list)
{
    if (list->count < list->capacity)
        return true;
    size_t capacity = list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
    struct s3_listed *objects =
        talloc_realloc(s3, list->objects, struct s3_listed, capacity);
    if (objects == NULL)
        return false;
    list->objects = objects;
    list->capacity = capacity;
    return true;
}

/* True if the part of the key after the prefix can be a name in an archive. */
static bool is_name(const char *key, const char *prefix)
{
    size_t before = strlen(prefix);
    return strncmp(key, prefix, before) == 0 && key[before] != '\0' &&
           strlen(key) - before < S3_NAME_MAX && is_plain(key + before);
}

/* Appends an object to the list. False if memory ran out. */
static bool add(struct s3 *s3, struct s3_list *list, struct kx_slice element,
                const char *prefix)
{
    char key[S3_KEY_MAX + S3_NAME_MAX], size[24], at[40];
    size_t before = strlen(prefix);
    struct s3_listed object = {.at_ms = INT64_MAX};
    bool is_object = s3_xml_text(element, "Key", key, sizeof key);
    if (!is_object && !s3_xml_text(element, "Prefix", key, sizeof key))
        return true;
    size_t length = strlen(key);
    if (!is_object && length > 0 && key[length - 1] == '/')
        key[--length] = '\0';
    if (!is_name(key, prefix))
        return true;
    snprintf(object.name, sizeof object.name, "%s", key + before);
    if (s3_xml_text(element, "Size", size, sizeof size))
        object.size = strtoull(size, NULL, 10);
    if (s3_xml_text(element, "LastModified", at, sizeof at))
        object.at_ms = s3_xml_time(at);
    if (!grow(s3, list))
        return false;
    list->objects[list->count++] = object;
    return true;
}

static bool add_all(struct s3 *s3, struct s3_list *list, struct kx_slice page,
                    const char *prefix)
{
    static const char *const NAMES[] = {"Contents", "CommonPrefixes"};
    struct kx_slice element;
    bool added = true;
    for (int i = 0; i < 2; i++) {
        struct kx_slice rest = page;
        while (added && s3_xml_next(&rest, NAMES[i], &element))
            added = add(s3, list, element, prefix);
    }
    return added;
}

/* Reads a page and sets token to that of the next page, or to "" after the
 * last. */
static enum kx_status read_page(struct s3 *s3, struct s3_list *list,
                                const char *prefix, char *token,
                                struct kx_fault *fault)
{
    char more[8];
    struct kx_buffer query;
    struct s3_request request = {
        .method = "GET", .key = "", .about = prefix, .fd = -1};
    kx_buffer_init(&query, s3);
    request.query = make_query(&query, prefix, token);
    if (request.query == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = s3_send(s3, &request, fault);
    kx_buffer_free(&query);
    struct kx_slice page = kx_slice(request.reply.data, request.reply.size);
    token[0] = '\0';
    if (status == KX_ABSENT ||
        (status == KX_OK && !s3_xml_text(page, "IsTruncated", more, 8)))
        status = kx_fail(fault, KX_FAILED,
                         "s3://%s: %s does not answer a list of objects as S3",
                         s3->settings.bucket, s3->settings.endpoint);
    else if (status == KX_OK && !add_all(s3, list, page, prefix))
        status = kx_fail(fault, KX_NO_MEMORY, "no memory");
    else if (status == KX_OK && strcmp(more, "true") == 0 &&
             (!s3_xml_text(page, "NextContinuationToken", token, TOKEN_MAX) ||
              token[0] == '\0'))
        status = kx_fail(fault, KX_FAILED,
                         "s3://%s: %s does not say how its list continues",
                         s3->settings.bucket, s3->settings.endpoint);
    s3_request_end(&request);
    return status;
}

static int compare(const void *left, const void *right)
{
    const struct s3_listed *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void sort(struct s3_list *list)
{
    if (list->count > 0)
        qsort(list->objects, list->count, sizeof *list->objects, compare);
}

enum kx_status s3_list_keys(struct s3 *s3, const char *prefix,
                            struct s3_list *list_out, struct kx_fault *fault)
{
    char token[TOKEN_MAX] = "";
    int pages = 0;
    enum kx_status status;
    *list_out = (struct s3_list){.objects = NULL};
    do {
        status = read_page(s3, list_out, prefix, token, fault);
        if (status == KX_OK && list_out->count > S3_LIST_MAX)
            status =
                kx_fail(fault, KX_FAILED, "s3://%s/%s has more than %d objects",
                        s3->settings.bucket, prefix, S3_LIST_MAX);
        if (status == KX_OK && ++pages == S3_PAGES_MAX && token[0] != '\0')
            status = kx_fail(fault, KX_FAILED,
                             "s3://%s/%s: its list has more than %d pages",
                             s3->settings.bucket, prefix, S3_PAGES_MAX);
    } while (status == KX_OK && token[0] != '\0');
    sort(list_out);
    return status;
}

void s3_list_end(struct s3_list *list)
{
    talloc_free(list->objects);
    list->objects = NULL;
}
