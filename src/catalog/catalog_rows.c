/* The catalog's stored form, in TABLE_CATALOG:
 *
 *   "format"      version of the rows (format.h)
 *   "facts"       last stamp (8), last index id (4), clients' entries (8), then
 *                 id (4) and entries (8) of each index, followed by its id with
 *                 a mark and its conflict rows if it has any, by its id with
 *                 another and its history if it is one of changes, and by its
 *                 id with one of KX_LEFT_OUT_REASONS marks and the number of
 *                 entries that it leaves out for that reason; little endian. A
 *                 number that is 0 is omitted, except that of the first reason:
 *                 without it the numbers are not known, because a program that
 *                 did not count them has written the facts
 *   "id"          the store's UUID as text
 *   "index/<id>"  of an index, or with the member `rule` of a rule, which a
 *                 program without rules refuses to read. JSON: id, state,
 * declaration, progress of the build, the version of Unicode by which its text
 * is folded; for changes of its rows' form: target, failed, since, odd, mixed,
 *                 replaces
 *
 * The facts are written with every batch, so a crash leaves them exact; that is
 * why they are short. The row of an index is written when the index changes. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "catalog/catalog.h"
#include "catalog/format_rows.h"
#include "catalog/row_json.h"
#include "engine/engine.h"
#include "rules/rule.h"
#include "schema/extract.h"

static void put(struct kx_buffer *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        kx_add_byte(out, (uint8_t)(number >> (8 * i)));
}

/* Bytes after the end count as 0. */
static uint64_t get(struct kx_slice bytes, size_t at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size && at + i < bytes.size; i++)
        number |= (uint64_t)bytes.data[at + i] << (8 * i);
    return number;
}

/* An id with this bit is followed by the number of conflict rows. */
enum { FACTS_BYTES = 20, FACTS_INDEX_BYTES = 12 };
static const uint32_t CONFLICTS_OF = UINT32_C(1) << 31;
static const uint32_t HISTORY_OF = UINT32_C(1) << 30;
/* Three bits: 1 and the reason (enum kx_left_out). */
enum { LEFT_OUT_AT = 27, LEFT_OUT_MASK = 7 };
_Static_assert((int)KX_LEFT_OUT_REASONS < (int)LEFT_OUT_MASK, "too many");
static const uint32_t ID_MASK = (UINT32_C(1) << LEFT_OUT_AT) - 1;

static void put_marked(struct kx_buffer *out, uint32_t id, uint64_t number)
{
    if (number == 0)
        return;
    put(out, id, 4);
    put(out, number, 8);
}

static void put_left_out(struct kx_buffer *out, const struct index *index)
{
    if (index->left_out_unknown)
        return;
    for (uint32_t reason = 0; reason < KX_LEFT_OUT_REASONS; reason++) {
        if (reason > 0 && index->left_out[reason] == 0)
            continue;
        put(out, index->id | (reason + 1) << LEFT_OUT_AT, 4);
        put(out, index->left_out[reason], 8);
    }
}

static void put_counts(struct kx_buffer *out, struct index *const *list,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put(out, list[i]->id, 4);
        put(out, list[i]->entries, 8);
        put_marked(out, list[i]->id | CONFLICTS_OF, list[i]->conflicts);
        if (list[i]->declaration->feed)
            put_marked(out, list[i]->id | HISTORY_OF, list[i]->history);
        if (list[i]->declaration->rule == NULL)
            put_left_out(out, list[i]);
    }
}

bool catalog_facts_write(void *mem, const struct catalog *catalog,
                         struct row_write *write_out)
{
    struct kx_buffer value;
    kx_buffer_init(&value, mem);
    kx_buffer_reserve(&value,
                      FACTS_BYTES + 2 * FACTS_INDEX_BYTES * catalog->count);
    put(&value, catalog->stamp, 8);
    put(&value, catalog->last_id, 4);
    put(&value, catalog->entries, 8);
    put_counts(&value, catalog->indexes, catalog->count);
    put_counts(&value, catalog->rules, catalog->rule_count);
    *write_out = (struct row_write){.type = ROW_PUT,
                                    .table = TABLE_CATALOG,
                                    .key = kx_text(ENGINE_FACTS_KEY),
                                    .value = kx_buffer_slice(&value)};
    return !value.failed;
}

/* The index or the rule with this id, or NULL. */
static struct index *counted(const struct catalog *catalog, uint32_t id)
{
    for (size_t i = 0; i < catalog->rule_count; i++)
        if (catalog->rules[i]->id == id)
            return catalog->rules[i];
    return catalog_by_id(catalog, id);
}

/* Sets one number of an index; `id` has the mark that says which. The number of
 * entries comes first. An earlier program has not written what is left out. */
static void set_count(struct index *index, uint32_t id, uint64_t number)
{
    uint32_t reason = id >> LEFT_OUT_AT & LEFT_OUT_MASK;
    if ((id & CONFLICTS_OF) != 0)
        index->conflicts = number;
    else if ((id & HISTORY_OF) != 0)
        index->history = number;
    else if (reason == 0)
        index->entries = number;
    else if (reason <= KX_LEFT_OUT_REASONS)
        index->left_out[reason - 1] = number;
    index->left_out_unknown =
        id == index->id || (index->left_out_unknown && reason != 1);
}

static void read_facts(struct catalog *catalog, struct kx_slice facts)
{
    catalog->stamp = get(facts, 0, 8);
    catalog->last_id = (uint32_t)get(facts, 8, 4);
    catalog->entries = get(facts, 12, 8);
    for (size_t at = FACTS_BYTES; at + FACTS_INDEX_BYTES <= facts.size;
         at += FACTS_INDEX_BYTES) {
        uint32_t id = (uint32_t)get(facts, at, 4);
        struct index *index = counted(catalog, id & ID_MASK);
        if (index != NULL)
            set_count(index, id, get(facts, at + 4, 8));
    }
}

/* Leading zeros put the rows in the order of their ids. */
static char *row_key(void *mem, const struct index *index)
{
    return talloc_asprintf(mem, "index/%010" PRIu32, index->id);
}

/* Adds a declaration that most indexes do not have. */
static bool add_declaration(json_t *document, const char *name,
                            const struct declaration *declaration)
{
    if (declaration == NULL)
        return true;
    struct kx_slice text = declaration->text;
    return json_object_set_new(
               document, name,
               json_stringn((const char *)text.data, text.size)) == 0;
}

/* Adds the members about the form of the rows and the verification. Returns the
 * document; NULL when memory ran out, and the document is released then. */
static json_t *add_form(json_t *document, const struct index *index)
{
    const struct row_form *form = &index->form;
    json_t *more = json_pack("{s:I, s:b, s:b, s:I}", "since",
                             (json_int_t)form->changed_stamp, "odd",
                             form->shows_odd_form, "mixed", form->rewriting,
                             "replaces", (json_int_t)index->replaces);
    bool good = json_object_update(document, more) == 0 &&
                (index->declaration->rule == NULL ||
                 json_object_set_new(document, "rule", json_true()) == 0) &&
                add_declaration(document, "target", form->target) &&
                add_declaration(document, "failed", form->failed);
    json_decref(more);
    if (index->verification != NULL)
        good = json_object_set_new(
                   document, "verification",
                   verify_report_to_json(index->verification)) == 0 &&
               good;
    if (good)
        return document;
    json_decref(document);
    return NULL;
}

static json_t *index_document(const struct index *index)
{
    struct kx_slice declaration = index->declaration->text;
    json_t *document = json_pack(
        "{s:I, s:s, s:s%, s:o, s:o, s:b, s:I, s:s, s:s, s:i}", "id",
        (json_int_t)index->id, "state", kx_index_state_text(index->state),
        "declaration", (const char *)declaration.data, declaration.size,
        "build", build_progress_to_json(&index->build), "adoption",
        build_progress_adoption_to_json(&index->adoption), "paused",
        index->pace.paused, "perSecond", (json_int_t)index->pace.per_second,
        "failure", index->failure, "unicode", casefold_unicode_version(),
        "extraction",
        index->declaration->signed_zero ? EXTRACT_SIGNED_ZERO
                                        : EXTRACT_VERSION);
    return document == NULL ? NULL : add_form(document, index);
}

bool catalog_index_write(void *mem, const struct index *index,
                         struct row_write *write_out)
{
    char *key = row_key(mem, index);
    json_t *document = index_document(index);
    char *text = document == NULL ? NULL : json_dumps(document, JSON_COMPACT);
    json_decref(document);
    char *value = text == NULL ? NULL : talloc_strdup(mem, text);
    free(text);
    if (key == NULL || value == NULL)
        return false;
    *write_out = (struct row_write){.type = ROW_PUT,
                                    .table = TABLE_CATALOG,
                                    .key = kx_text(key),
                                    .value = kx_text(value)};
    return true;
}

bool catalog_index_removal(void *mem, const struct index *index,
                           struct row_write *write_out)
{
    char *key = row_key(mem, index);
    if (key == NULL)
        return false;
    *write_out = (struct row_write){
        .type = ROW_DELETE, .table = TABLE_CATALOG, .key = kx_text(key)};
    return true;
}

static bool state_of(const char *text, enum kx_index_state *state_out)
{
    for (int state = KX_INDEX_BUILDING; state <= KX_INDEX_FAILED; state++) {
        if (strcmp(text, kx_index_state_text(state)) == 0) {
            *state_out = state;
            return true;
        }
    }
    return false;
}

static enum kx_status read_verification(struct index *index, json_t *document)
{
    const json_t *json = json_object_get(document, "verification");
    if (json == NULL)
        return KX_OK;
    index->verification = talloc_zero(index, struct verify_report);
    if (index->verification == NULL)
        return KX_NO_MEMORY;
    return verify_report_from_json(json, index->verification) ? KX_OK
                                                              : KX_FAILED;
}

static enum kx_status read_declaration(struct index *index, const char *text,
                                       struct declaration **declaration_out)
{
    return text == NULL
               ? KX_OK
               : declaration_parse_stored(index, kx_text(text),
                                          index->declaration->signed_zero,
                                          declaration_out);
}

/* Rows written before there were migrations do not have these members. */
static enum kx_status read_form(struct index *index, json_t *document)
{
    json_int_t since = 0;
    json_int_t replaces = 0;
    int mixed = 0;
    int odd = 0;
    const char *target = NULL;
    const char *failed = NULL;
    if (json_unpack(document, "{s?I, s?b, s?b, s?I, s?s, s?s}", "since", &since,
                    "odd", &odd, "mixed", &mixed, "replaces", &replaces,
                    "target", &target, "failed", &failed) != 0)
        return KX_FAILED;
    index->form.changed_stamp = (uint64_t)since;
    index->form.shows_odd_form = odd != 0;
    index->form.rewriting = mixed != 0;
    index->replaces = (uint32_t)replaces;
    index->build.resumed = index->build.resumed || target != NULL;
    enum kx_status status =
        read_declaration(index, target, &index->form.target);
    return status == KX_OK
               ? read_declaration(index, failed, &index->form.failed)
               : status;
}

/* True if this program would make different entries from those that the index
 * has. */
static bool is_outdated(const struct index *index, const char *unicode,
                        int extraction)
{
    if (extraction != EXTRACT_VERSION && extraction != EXTRACT_SIGNED_ZERO)
        return true;
    return index->declaration->folds &&
           strcmp(unicode, casefold_unicode_version()) != 0;
}

/* A build that was in progress is marked as resumed. The declaration passes the
 * same parser as one from a client. */
static enum kx_status read_document(struct index *index, json_t *document)
{
    const char *state = NULL;
    const char *declaration = NULL;
    const char *failure = NULL;
    const char *unicode = "";
    json_t *build = NULL;
    json_int_t id = 0;
    json_int_t per_second = 0;
    int paused = 0;
    int extraction = 1;
    if (json_unpack(document, "{s:I, s:s, s:s, s:o, s:b, s:I, s:s, s?s, s?i}",
                    "id", &id, "state", &state, "declaration", &declaration,
                    "build", &build, "paused", &paused, "perSecond",
                    &per_second, "failure", &failure, "unicode", &unicode,
                    "extraction", &extraction) != 0 ||
        !state_of(state, &index->state) ||
        !build_progress_from_json(build, &index->build) ||
        !build_progress_adoption_from_json(
            json_object_get(document, "adoption"), &index->adoption))
        return KX_FAILED;
    index->id = (uint32_t)id;
    index->build.resumed = index->state == KX_INDEX_BUILDING;
    index->pace.paused = paused != 0;
    index->pace.per_second = (uint32_t)per_second;
    snprintf(index->failure, sizeof index->failure, "%s", failure);
    if (json_object_get(document, "rule") != NULL)
        return rule_parse(index, kx_text(declaration), &index->declaration,
                          NULL);
    enum kx_status status = declaration_parse_stored(
        index, kx_text(declaration), extraction == EXTRACT_SIGNED_ZERO,
        &index->declaration);
    if (status == KX_OK) {
        index->outdated = is_outdated(index, unicode, extraction);
        status = read_form(index, document);
    }
    return status == KX_OK ? read_verification(index, document) : status;
}

static enum kx_status read_index(void *arg, struct kx_slice key,
                                 struct kx_slice row)
{
    struct catalog *catalog = arg;
    (void)key;
    struct index *index = talloc_zero(catalog, struct index);
    json_t *document = row_json_read(row);
    enum kx_status status = KX_FAILED;
    if (index != NULL && document != NULL)
        status = read_document(index, document);
    json_decref(document);
    if (index == NULL || row_json_starved())
        status = KX_NO_MEMORY;
    if (status != KX_OK) {
        talloc_free(index);
        return status;
    }
    index->reused = true; /* clients' writes since the drop are not stored */
    if (index->state == KX_INDEX_DROPPING)
        catalog->dropping[catalog->dropping_count++] = index;
    else
        catalog_add(catalog, index);
    return KX_OK;
}

/* '0' is the byte after '/'. */
static enum kx_status read_indexes(struct catalog *catalog)
{
    const struct engine_span rows = {TABLE_CATALOG, kx_text("index/"),
                                     kx_text("index0")};
    return engine_each(catalog, catalog->view, &rows, read_index, catalog);
}

/* Flushed at once: an open store has a catalog on disk. */
static enum kx_status write_new(struct catalog *catalog)
{
    void *mem = talloc_new(NULL);
    struct row_write writes[3];
    uuid_make(catalog->id);
    writes[0] = format_id_write(catalog->id);
    bool good = mem != NULL && format_write(mem, &writes[1]) &&
                catalog_facts_write(mem, catalog, &writes[2]);
    enum kx_status status =
        good ? engine_write_now(catalog->engine, writes, 3) : KX_NO_MEMORY;
    talloc_free(mem);
    return status;
}

/* No versionstamp of a lost store may be given again, nor any of another store
 * that was restored from the same backup, of which nothing is known here. So
 * versionstamps continue with the clock: 2^10 for each millisecond since 1970,
 * more than any store gives. They stay below 2^53, exact as a double. If that
 * is not LOST_MOST above the known versionstamps, because the clock of the lost
 * store was ahead of this one, they continue LEAP above those, and at another
 * place for each millisecond. The history of changes begins there: what was
 * read of the lost store may be gone. */
enum { CLOCK_SHIFT = 10 };
static const uint64_t LEAP = 1ull << 40;
static const uint64_t LOST_MOST = 1ull << 30; /* commits */

enum kx_status catalog_raise_stamp(struct catalog *catalog, uint64_t known)
{
    struct row_write write;
    int64_t now_ms = kx_now_ms();
    uint64_t by_clock = now_ms < 0 ? 0 : (uint64_t)now_ms << CLOCK_SHIFT;
    if (catalog->stamp > known)
        known = catalog->stamp;
    catalog->stamp = by_clock > known + LOST_MOST
                         ? by_clock
                         : known + LEAP + by_clock % LEAP;
    for (size_t i = 0; i < catalog->count; i++)
        catalog->indexes[i]->history = catalog->stamp;
    if (!catalog_facts_write(catalog, catalog, &write))
        return KX_NO_MEMORY;
    return engine_write_now(catalog->engine, &write, 1);
}

static enum kx_status read_id(struct catalog *catalog, struct kx_buffer *row)
{
    enum kx_status status =
        engine_get(catalog->view, TABLE_CATALOG, kx_text("id"), row);
    if (status != KX_OK || row->size != UUID_SIZE - 1)
        return status == KX_OK || status == KX_ABSENT ? KX_FAILED : status;
    memcpy(catalog->id, row->data, row->size);
    return KX_OK;
}

/* The indexes come first: read_facts sets their numbers of entries. */
static enum kx_status read_rows(struct catalog *catalog)
{
    struct kx_buffer row;
    kx_buffer_init(&row, catalog);
    enum kx_status status = read_indexes(catalog);
    if (status == KX_OK)
        status = engine_get(catalog->view, TABLE_CATALOG,
                            kx_text(ENGINE_FACTS_KEY), &row);
    if (status == KX_OK)
        read_facts(catalog, kx_buffer_slice(&row));
    if (status == KX_OK)
        status = read_id(catalog, &row);
    kx_buffer_free(&row);
    return status;
}

static enum kx_status read_all(struct catalog *catalog, struct kx_fault *fault)
{
    enum kx_status status =
        format_upgrade(catalog->engine, catalog->view, fault);
    if (status == KX_ABSENT)
        return write_new(catalog);
    return status == KX_OK ? read_rows(catalog) : status;
}

enum kx_status catalog_load(void *mem, struct engine *engine,
                            struct engine_view *view,
                            struct catalog **catalog_out,
                            struct kx_fault *fault)
{
    struct catalog *catalog = talloc_zero(mem, struct catalog);
    if (catalog == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    catalog->engine = engine;
    catalog->view = view;
    kx_fail(fault, KX_FAILED, "the catalog cannot be read");
    enum kx_status status = read_all(catalog, fault);
    if (status != KX_OK) {
        talloc_free(catalog);
        return status;
    }
    *catalog_out = catalog;
    return KX_OK;
}

/* ---- Following ---------------------------------------------------------- */

/* A catalog that follows the rows of another process. The rows from "facts" to
 * those of the indexes are neighbours, so one scan shows whether the catalog
 * must be rebuilt. Only the counts change with every batch. */

struct catalog_scan {
    struct sha256 digest;
    struct kx_buffer *facts;
};

static enum kx_status scan_row(void *arg, struct kx_slice key,
                               struct kx_slice row)
{
    struct catalog_scan *found = arg;
    if (kx_equal(key, kx_text(ENGINE_FACTS_KEY))) {
        kx_add_slice(found->facts, row);
    } else {
        sha256_add(&found->digest, key);
        sha256_add(&found->digest, row);
    }
    return KX_OK;
}

/* '0' is the byte after '/'. */
static enum kx_status scan(void *mem, struct engine_view *view,
                           struct catalog_mark *mark_out,
                           struct kx_buffer *facts_out)
{
    const struct engine_span rows = {TABLE_CATALOG, kx_text(ENGINE_FACTS_KEY),
                                     kx_text("index0")};
    struct catalog_scan found = {.facts = facts_out};
    sha256_begin(&found.digest);
    enum kx_status status = engine_each(mem, view, &rows, scan_row, &found);
    sha256_end(&found.digest, mark_out->digest);
    if (status != KX_OK)
        return status;
    return facts_out->failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status check_format(struct engine_view *view,
                                   struct kx_fault *fault)
{
    unsigned long number;
    enum kx_status status = format_read(view, &number, fault);
    if (status == KX_ABSENT)
        return kx_fail(fault, KX_BAD_DIRECTORY, "it has no store yet");
    if (status == KX_OK && number != FORMAT_NUMBER)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "its rows have the older format %lu, which the active "
                       "node replaces when it starts",
                       number);
    return status;
}

/* Resets the counts first, because the row omits numbers that are 0. */
static void read_counts(struct catalog *catalog, struct kx_slice facts)
{
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        index->entries = index->conflicts = index->history = 0;
        memset(index->left_out, 0, sizeof index->left_out);
        index->left_out_unknown = false; /* the facts lack an index that was
                                          * declared in the last batch */
    }
    for (size_t i = 0; i < catalog->rule_count; i++)
        catalog->rules[i]->entries = catalog->rules[i]->conflicts = 0;
    read_facts(catalog, facts);
}

/* A look-up may miss rows that another version of the rules has made. */
static void hide_outdated(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->outdated)
            catalog->indexes[i]->state = KX_INDEX_BUILDING;
}

static enum kx_status make(void *mem, struct engine_view *view,
                           struct catalog **catalog_out, struct kx_fault *fault)
{
    enum kx_status status = check_format(view, fault);
    if (status != KX_OK)
        return status;
    struct catalog *catalog = talloc_zero(mem, struct catalog);
    if (catalog == NULL)
        return KX_NO_MEMORY;
    catalog->view = view;
    status = read_rows(catalog);
    hide_outdated(catalog);
    if (status == KX_OK)
        *catalog_out = catalog;
    else
        talloc_free(catalog);
    return status;
}

enum kx_status catalog_follow(void *mem, struct engine_view *view,
                              struct catalog **catalog,
                              struct catalog_mark *mark, struct kx_fault *fault)
{
    struct catalog_mark now;
    struct kx_buffer facts;
    kx_buffer_init(&facts, mem);
    enum kx_status status = scan(mem, view, &now, &facts);
    if (status == KX_OK && *catalog != NULL &&
        strcmp(now.digest, mark->digest) == 0) {
        read_counts(*catalog, kx_buffer_slice(&facts));
    } else if (status == KX_OK) {
        TALLOC_FREE(*catalog);
        *mark = now;
        status = make(mem, view, catalog, fault);
    }
    kx_buffer_free(&facts);
    return status;
}
