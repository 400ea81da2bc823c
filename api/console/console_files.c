/* The table of the console's files. The assembler includes them from the
 * folder served of the build, whose files have no comments and indentation. */
#include "console/console_files.h"

#include <pthread.h>
#include <string.h>
#include <talloc.h>

#include "http/coding.h"

enum {
    VERSION_BYTES = 6, /* bytes of the hash that are shown */
};

/* The files of this folder that browsers get; make shape checks that the list
 * is complete. */
#define JS "text/javascript; charset=utf-8"
#define CONSOLE_FILES(X)                                                       \
    X(app, "app.js", JS)                                                       \
    X(api, "api.js", JS)                                                       \
    X(access, "access.js", JS)                                                 \
    X(bytes, "bytes.js", JS)                                                   \
    X(change, "change.js", JS)                                                 \
    X(chart, "chart.js", JS)                                                   \
    X(columns, "columns.js", JS)                                               \
    X(conflict, "conflict.js", JS)                                             \
    X(counter, "counter.js", JS)                                               \
    X(data, "data.js", JS)                                                     \
    X(date, "date.js", JS)                                                     \
    X(dialog, "dialog.js", JS)                                                 \
    X(dom, "dom.js", JS)                                                       \
    X(draft, "draft.js", JS)                                                   \
    X(duplicates, "duplicates.js", JS)                                         \
    X(entry, "entry.js", JS)                                                   \
    X(expiry, "expiry.js", JS)                                                 \
    X(field, "field.js", JS)                                                   \
    X(filter, "filter.js", JS)                                                 \
    X(icons, "icons.js", JS)                                                   \
    X(import, "import.js", JS)                                                 \
    X(index, "index.js", JS)                                                   \
    X(indexes, "indexes.js", JS)                                               \
    X(indexed, "indexed.js", JS)                                               \
    X(json, "json.js", JS)                                                     \
    X(key, "key.js", JS)                                                       \
    X(list, "list.js", JS)                                                     \
    X(merge, "merge.js", JS)                                                   \
    X(pages, "pages.js", JS)                                                   \
    X(prefix, "prefix.js", JS)                                                 \
    X(query, "query.js", JS)                                                   \
    X(queues, "queues.js", JS)                                                 \
    X(rows, "rows.js", JS)                                                     \
    X(rules, "rules.js", JS)                                                   \
    X(search, "search.js", JS)                                                 \
    X(server, "server.js", JS)                                                 \
    X(service, "service.js", JS)                                               \
    X(session, "session.js", JS)                                               \
    X(signin, "signin.js", JS)                                                 \
    X(split, "split.js", JS)                                                   \
    X(store, "store.js", JS)                                                   \
    X(stored, "stored.js", JS)                                                 \
    X(tree, "tree.js", JS)                                                     \
    X(value, "value.js", JS)                                                   \
    X(values, "values.js", JS)                                                 \
    X(watch, "watch.js", JS)                                                   \
    X(style, "console.css", "text/css; charset=utf-8")                         \
    X(icon, "icon.svg", "image/svg+xml")                                       \
    X(docs, "docs/docs.js", JS)                                                \
    X(docs_style, "docs/docs.css", "text/css; charset=utf-8")                  \
    X(docs_page, "docs/docs.html", "text/html; charset=utf-8")                 \
    X(page, "index.html", "text/html; charset=utf-8")

#define EMBED(id, name, type)                                                  \
    __asm__(".pushsection .rodata\n.balign 16\nconsole_" #id                   \
            "_start:\n.incbin \"served/" name "\"\nconsole_" #id               \
            "_end:\n.byte 0\n.popsection\n");                                  \
    extern const char console_##id##_start[]                                   \
        __attribute__((visibility("hidden")));                                 \
    extern const char console_##id##_end[]                                     \
        __attribute__((visibility("hidden")));
CONSOLE_FILES(EMBED)

struct embedded {
    const char *name, *type, *start, *end;
};
#define ROW(id, name, type)                                                    \
    {name, type, console_##id##_start, console_##id##_end},
static const struct embedded TABLE[] = {CONSOLE_FILES(ROW)};
/* The last rows are the pages: templates that are filled in for each request.
 */
enum { COUNT = sizeof TABLE / sizeof *TABLE, PAGES = COUNT - 2 };

static struct console_file files[COUNT];
static char version[1 + 2 * VERSION_BYTES + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The compressed bytes live as long as the program. */
static struct kx_slice compress_file(enum coding coding, struct kx_slice bytes)
{
    struct kx_buffer out;
    struct coder *coder = coder_new(coding, CODER_SMALL, bytes.size, NULL);
    kx_buffer_init(&out, NULL);
    if (coder == NULL || !coder_add(coder, bytes, true, &out))
        kx_buffer_free(&out);
    talloc_free(coder);
    kx_buffer_fit(&out);
    return kx_buffer_slice(&out);
}

/* Compresses the files and computes the version: the hash of the files' hashes.
 */
static void prepare(void)
{
    uint8_t hashes[COUNT][KX_SHA256_SIZE];
    uint8_t hash[KX_SHA256_SIZE];
    for (int i = 0; i < COUNT; i++) {
        size_t size = (size_t)(TABLE[i].end - TABLE[i].start);
        struct kx_slice bytes = kx_slice(TABLE[i].start, size);
        const char *slash = strrchr(TABLE[i].name, '/');
        const char *name = slash == NULL ? TABLE[i].name : slash + 1;
        files[i] =
            (struct console_file){name, TABLE[i].type, bytes,
                                  .gzip = compress_file(CODING_GZIP, bytes),
                                  .zstd = compress_file(CODING_ZSTD, bytes)};
        kx_sha256(bytes, hashes[i]);
    }
    kx_sha256(kx_slice(hashes, sizeof hashes), hash);
    version[0] = '~';
    kx_hex_write(kx_slice(hash, VERSION_BYTES), version + 1);
}

const struct console_file *console_file_find(struct kx_slice name)
{
    pthread_once(&once, prepare);
    for (int i = 0; i < PAGES; i++)
        if (kx_equal(name, kx_text(files[i].name)))
            return &files[i];
    return NULL;
}

struct kx_slice console_page_text(enum console_page page)
{
    pthread_once(&once, prepare);
    return files[PAGES + (int)page].bytes;
}

const char *console_version(void)
{
    pthread_once(&once, prepare);
    return version;
}
