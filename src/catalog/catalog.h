/* The declared indexes and their state, and the store's facts: the last
 * versionstamp and the number of entries.
 *
 * Changed by the writer thread only, while it applies a batch (commit/view.h).
 * Read by any thread inside a view, and by the writer thread at any time. */
#ifndef CATALOG_H
#define CATALOG_H

#include "catalog/build_progress.h"
#include "schema/declaration.h"
#include "engine/engine.h"
#include "catalog/throttle.h"
#include "entry/record.h"
#include "catalog/index_usage.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "catalog/verify_report.h"

/* The form of an index's rows, and its change to another `store`
 * (row_form.h). */
struct row_form {
    struct declaration *target; /* with the new `store`, or NULL */
    struct declaration *failed; /* of the last change that failed, or NULL */
    uint64_t since; /* stamp of the change to this form; 0: as declared */
    bool odd;       /* value of `odd` in the form that is shown */
    bool mixed;     /* rows are still to be rewritten */
};

/* Its address stays the same until catalog_forget. */
struct index {
    uint32_t id; /* never used twice in a store; index entries carry it */
    enum kx_index_state state;
    struct declaration *declaration;
    struct row_form form;
    uint32_t replaces; /* id of the index of the same name that it replaces
                        * when it is ready, or 0 */
    uint64_t history;  /* of an index of changes: those after this stamp are all
                        * there, removals if it keeps tombstones */
    uint64_t entries;
    uint64_t conflicts; /* conflict rows (conflict_rows.h) */
    struct build_progress build;
    struct index_usage usage;
    struct throttle pace; /* of the build or another job on it */
    struct kx_adoption adoption;
    struct verify_report *verification; /* the last one, or NULL */
    char failure[KX_DETAIL_MAX];
    bool outdated; /* built with other rules: to be rebuilt */
    bool reused;   /* dropped, and clients may have entries under its name */
};

struct catalog {
    struct engine *engine;
    struct engine_view *view;              /* the writer's */
    struct index *indexes[KX_INDEXES_MAX]; /* in name order; a successor comes
                                            * after the index it replaces */
    size_t count;
    struct index *dropping[KX_INDEXES_MAX]; /* dropped; have no name */
    size_t dropping_count;
    char id[UUID_SIZE]; /* the store's */
    uint32_t last_id;
    uint64_t stamp;   /* the last one given */
    uint64_t entries; /* clients' entries, expired ones included */
};

/* Reads the catalog of an open engine by a view that lives as long, or makes a
 * new store's. */
enum kx_status catalog_load(void *mem, struct engine *engine,
                            struct engine_view *view,
                            struct catalog **catalog_out,
                            struct kx_fault *fault);

/* For a reader of rows that another process changes: brings *catalog, NULL at
 * first, to the state that the view shows, and writes nothing. It is made again
 * in talloc context mem when an index has changed. An index that this program
 * would build otherwise is shown as being built. KX_OK; KX_BAD_DIRECTORY with a
 * sentence: no store is there, or one of another format; KX_NO_MEMORY,
 * KX_FAILED, KX_UNREACHABLE: *catalog is as before, or NULL. */
struct catalog_mark {
    char digest[SHA256_TEXT]; /* of the rows that it was made from */
};
enum kx_status catalog_follow(void *mem, struct engine_view *view,
                              struct catalog **catalog,
                              struct catalog_mark *mark,
                              struct kx_fault *fault);

/* For catalog_follow: reads all rows but the format's into an empty catalog;
 * the counts from their row. */
enum kx_status catalog_read_rows(struct catalog *catalog);
void catalog_read_facts(struct catalog *catalog, struct kx_slice facts);

/* Raises the versionstamp above `known` and all that a lost or forgotten state
 * of this store may have given; it is on disk before the first commit. As
 * engine_apply. Before the writer starts. */
enum kx_status catalog_raise_stamp(struct catalog *catalog, uint64_t known);

/* The index with this name, or NULL. */
struct index *catalog_find(const struct catalog *catalog, struct kx_slice name);

/* The same for a name from a client: KX_OK, or KX_INDEX_ABSENT with the
 * fault. */
enum kx_status catalog_get(const struct catalog *catalog, struct kx_slice name,
                           struct index **index_out, struct kx_fault *fault);
/* The index that a commit names. Sets the commit's status; NULL with its fault
 * filled if there is no such index. */
struct index *catalog_named(const struct catalog *catalog,
                            struct kx_commit *commit);

/* The n-th index in name order, successors left out, or NULL. */
struct index *catalog_at(const struct catalog *catalog, size_t n);

/* Is the key under the index name with this encoding? */
bool catalog_is_under(struct kx_slice name_key, struct kx_slice key);
/* Is a range that begins with a key of the index within its keys? The name and
 * an FF are an end after all of its keys. */
bool catalog_ends_under(const struct index *index, struct kx_slice end);

/* The index under whose name a key lies, or NULL. */
struct index *catalog_owner(const struct catalog *catalog, struct kx_slice key);

/* The index, perhaps a dropped one, that owns all rows under the name to which
 * this key belongs. NULL if there is no such index, or if clients may have
 * entries under the name. */
const struct index *catalog_sole_owner(const struct catalog *catalog,
                                       struct kx_slice key);

/* Notes that a client's entry was written, perhaps under the name of a dropped
 * index. Writer thread only. */
void catalog_note_written(struct catalog *catalog, struct kx_slice key);

/* The most rows that one changed entry adds, its own included. */
size_t catalog_rows_per_change(const struct catalog *catalog);

/* The index with this id; NULL if it is dropped. */
struct index *catalog_by_id(const struct catalog *catalog, uint32_t id);

/* The index that is built to replace this one, or NULL. */
struct index *catalog_successor(const struct catalog *catalog,
                                const struct index *index);

/* Makes a stored row the one that clients see: that of the index that is
 * declared, neither dropped nor built to replace another. */
void catalog_settle(const struct catalog *catalog, struct record *row);

/* What is to be stored under a key where an index is to have the row *bytes
 * (size 0: no row), and `stored` is stored now: if that has the row of another
 * index that is not dropped, *bytes becomes both, in `joined`. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status catalog_join(const struct catalog *catalog,
                            const struct index *index, struct kx_slice stored,
                            struct kx_slice *bytes, struct kx_buffer *joined);

/* Is the index built to replace another, or is another built to replace it?
 * Then a row may be of both (row_form.h). */
bool catalog_has_partner(const struct catalog *catalog,
                         const struct index *index);

/* May its entries be read? */
static inline bool index_readable(const struct index *index)
{
    return index->state == KX_INDEX_READY;
}

/* Can the entries under its name be read as keys? Also while it adopts
 * hand-kept entries, and while these have conflicts. */
static inline bool index_shown(const struct index *index)
{
    return index_readable(index) || index->adoption.asked;
}

/* May there be hand-kept entries under its name that it has not adopted yet? */
static inline bool index_adopts(const struct index *index)
{
    return index->adoption.asked && !index->adoption.done;
}

/* Does its build still have entries to read, from which it gathers rows? (The
 * rows of an aggregate index are added up instead.) */
static inline bool index_gathers(const struct index *index)
{
    return index->state == KX_INDEX_BUILDING && !index->adoption.gathered &&
           !declaration_aggregates(index->declaration);
}

/* Do commits update its rows? Also those of a failed index while the entries
 * that it has adopted can be read. */
static inline bool index_maintained(const struct index *index)
{
    return index->state == KX_INDEX_READY ||
           index->state == KX_INDEX_BUILDING ||
           index->state == KX_INDEX_CONFLICTED ||
           (index->state == KX_INDEX_FAILED && index_adopts(index));
}

/* Is a row of this index a conflict row (conflict_rows.h)? */
static inline bool index_row_hidden(const struct index *index,
                                    const struct record *record)
{
    return index->declaration->unique && record->owner_at != 0;
}

/* The approximate number of rows in the table of entries. */
uint64_t catalog_row_count(const struct catalog *catalog);

/* Can clients see a record (of an index entry: after catalog_settle): not
 * expired and, for an index entry, of an index that is shown? */
bool catalog_shows(const struct catalog *catalog, const struct record *record,
                   int64_t now_ms);

/* The same. The record of an index entry becomes what clients see under its own
 * key: a row may hold another form as well, and an older stamp. The entry that
 * an index entry points to is made from the stored record, not from this. */
bool catalog_show(const struct catalog *catalog, struct record *record,
                  int64_t now_ms);

/* Adds an index, which becomes the catalog's child; moves it to the dropped
 * ones; frees a dropped one. Writer thread only, while a batch is applied. They
 * cannot fail: the caller has made sure that there is room. */
void catalog_add(struct catalog *catalog, struct index *index);
void catalog_drop(struct catalog *catalog, struct index *index);
void catalog_forget(struct catalog *catalog, struct index *index);

/* Replaces each index that was built with another version of Unicode or another
 * EXTRACT_VERSION by a new one, to be built; the old one is dropped. Called
 * right after catalog_load. KX_OK: the change is on disk; KX_NO_MEMORY, errors
 * of the storage. */
enum kx_status catalog_rebuild(struct catalog *catalog);

/* The writes that store an index and the store's facts, with key and value in
 * talloc context mem. False when memory ran out. */
bool catalog_index_write(void *mem, const struct index *index,
                         struct row_write *write_out);
bool catalog_facts_write(void *mem, const struct catalog *catalog,
                         struct row_write *write_out);
/* The write that removes an index's row. False when memory ran out. */
bool catalog_index_removal(void *mem, const struct index *index,
                           struct row_write *write_out);

#endif
