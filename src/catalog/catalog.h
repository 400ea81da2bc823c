/* The declared indexes and rules with their states, and facts about the store:
 * the last versionstamp and the number of entries.
 *
 * Only the writer thread changes the catalog, while it applies a batch
 * (commit/view.h). Any thread may read it inside a view; the writer thread may
 * read it at any time. */
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

/* The form of an index's rows, and a change of that form to another `store`
 * (row_form.h). */
struct row_form {
    struct declaration *target; /* with the new `store`, or NULL */
    struct declaration *failed; /* the last change that failed, or NULL */
    uint64_t changed_stamp;     /* of the change to this form; 0: as declared */
    bool shows_odd_form;        /* records of the shown form have `odd` set */
    bool rewriting;             /* some rows still have to be rewritten */
};

/* An index, or a rule (declaration->rule is set), which is kept in the same
 * way: while it is checked against the entries that were there before, it is
 * being built; `conflicts` counts the stored entries that violate it, and the
 * samples of the build are keys of such entries. The address stays the same
 * until catalog_forget. */
struct index {
    uint32_t id; /* never reused in a store; index entries carry it */
    enum kx_index_state state;
    struct declaration *declaration;
    struct row_form form;
    uint32_t replaces; /* id of the index of the same name that this one
                        * replaces when it is ready, or 0 */
    uint64_t history;  /* index of changes: it has all changes after this
                        * stamp, removals included if it keeps tombstones */
    uint64_t entries;
    uint64_t conflicts; /* conflict rows (conflict_rows.h) */
    /* Stored entries that the index covers and that have no index key. While
     * the index is built, only entries up to its stored progress count. */
    uint64_t left_out[KX_LEFT_OUT_REASONS];
    bool left_out_unknown; /* a program that did not count them has written */
    struct build_progress build;
    struct index_usage usage;
    struct throttle pace; /* speed limit of the build or another job */
    struct kx_adoption adoption;
    struct verify_report *verification; /* the last one, or NULL */
    char failure[KX_DETAIL_MAX];
    bool outdated; /* built with other rules, so it must be rebuilt */
    bool reused;   /* dropped; clients may have entries under its name */
};

struct catalog {
    struct engine *engine;
    struct engine_view *view;              /* the writer's */
    struct index *indexes[KX_INDEXES_MAX]; /* in name order; a successor comes
                                            * after the index it replaces */
    size_t count;
    struct index *rules[KX_RULES_MAX]; /* in name order */
    size_t rule_count;
    /* Dropped indexes and rules, without names. */
    struct index *dropping[KX_INDEXES_MAX + KX_RULES_MAX];
    size_t dropping_count;
    char id[UUID_SIZE]; /* of the store */
    uint32_t last_id;
    uint64_t stamp;   /* the last versionstamp */
    uint64_t entries; /* clients' entries, including expired ones */
};

/* Reads the catalog of an open engine, or creates that of a new store, under
 * talloc context mem. The view is the writer's and must live as long as the
 * catalog. KX_OK, KX_BAD_DIRECTORY, KX_NO_MEMORY, KX_DISK_FULL, KX_UNREACHABLE,
 * KX_FAILED; the fault says why. */
enum kx_status catalog_load(void *mem, struct engine *engine,
                            struct engine_view *view,
                            struct catalog **catalog_out,
                            struct kx_fault *fault);

/* Brings *catalog, NULL at first, to the state that the view shows, for a
 * reader of rows that another process changes. Writes nothing. Makes the
 * catalog again, in talloc context mem, if an index has changed. An index that
 * this program would build differently is shown as being built. KX_OK;
 * KX_BAD_DIRECTORY, with a fault that says why: there is no store, or one of
 * another format; KX_NO_MEMORY, KX_FAILED, KX_UNREACHABLE: *catalog is
 * unchanged. */
struct catalog_mark {
    char digest[SHA256_TEXT]; /* of the rows that the catalog was made from */
};
enum kx_status catalog_follow(void *mem, struct engine_view *view,
                              struct catalog **catalog,
                              struct catalog_mark *mark,
                              struct kx_fault *fault);

/* Raises the versionstamp above `known` and above any that a lost or forgotten
 * state of this store may have used. It is on disk before the first commit.
 * KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_UNREACHABLE, KX_UNKNOWN, KX_FAILED.
 * Call before the writer starts. */
enum kx_status catalog_raise_stamp(struct catalog *catalog, uint64_t known);

/* Returns the index with this name, or NULL. */
struct index *catalog_find(const struct catalog *catalog, struct kx_slice name);

/* Returns the rule with this name, or NULL. */
struct index *catalog_rule(const struct catalog *catalog, struct kx_slice name);

/* Finds the index that a client names. KX_OK, or KX_INDEX_ABSENT with a fault.
 */
enum kx_status catalog_get(const struct catalog *catalog, struct kx_slice name,
                           struct index **index_out, struct kx_fault *fault);
/* Finds the index that a commit names, and sets the commit's status. Returns
 * NULL if there is no such index; the commit's fault then says so. */
struct index *catalog_named(const struct catalog *catalog,
                            struct kx_commit *commit);

/* Returns the n-th index in name order, not counting successors, or NULL. */
struct index *catalog_at(const struct catalog *catalog, size_t n);

/* Returns whether a key lies under the index name with this encoding. */
bool catalog_is_under(struct kx_slice name_key, struct kx_slice key);
/* Returns whether a range that begins with a key of the index also ends within
 * its keys. The name followed by FF is an end after all of them. */
bool catalog_ends_under(const struct index *index, struct kx_slice end);

/* Returns the index under whose name a key lies, or NULL. */
struct index *catalog_owner(const struct catalog *catalog, struct kx_slice key);

/* Returns the index, possibly a dropped one, that owns all rows under the name
 * to which this key belongs. NULL if there is no such index, or if clients may
 * have entries under the name. */
const struct index *catalog_sole_owner(const struct catalog *catalog,
                                       struct kx_slice key);

/* Notes that a client's entry was written, which may lie under the name of a
 * dropped index. Writer thread only. */
void catalog_note_written(struct catalog *catalog, struct kx_slice key);

/* Returns the most rows that one changed entry adds, including its own. */
size_t catalog_rows_per_change(const struct catalog *catalog);

/* Returns the index with this id, or NULL if it is dropped. */
struct index *catalog_by_id(const struct catalog *catalog, uint32_t id);

/* Returns whether a rule has a reference to the entry with this key, or to one
 * whose key begins with it. unready: only rules that are not ready count. */
bool catalog_is_target(const struct catalog *catalog, struct kx_slice key,
                       bool unready);

/* Returns the index that is built to replace this one, or NULL. */
struct index *catalog_successor(const struct catalog *catalog,
                                const struct index *index);

/* Turns a stored row into the row that clients see: that of the declared index,
 * which is neither dropped nor built to replace another. */
void catalog_pick_row(const struct catalog *catalog, struct record *row);

/* Combines the row *bytes that an index should have (size 0: no row) with what
 * is `stored` under the key now. If `stored` has the row of another index that
 * is not dropped, *bytes becomes a row of both, in the buffer `joined`. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status catalog_join(const struct catalog *catalog,
                            const struct index *index, struct kx_slice stored,
                            struct kx_slice *bytes, struct kx_buffer *joined);

/* Returns whether the index is built to replace another, or is being replaced:
 * a row may then belong to both indexes (row_form.h). */
bool catalog_shares_rows(const struct catalog *catalog,
                         const struct index *index);

/* Returns whether clients may read by the index. */
static inline bool index_readable(const struct index *index)
{
    return index->state == KX_INDEX_READY;
}

/* Returns whether the entries under the index's name can be read as keys; also
 * while it adopts hand-kept entries, and while these have conflicts. */
static inline bool index_shown(const struct index *index)
{
    return index_readable(index) || index->adoption.asked;
}

/* Returns whether there may be hand-kept entries under the index's name that it
 * has not adopted yet. */
static inline bool index_adopts(const struct index *index)
{
    return index->adoption.asked && !index->adoption.done;
}

/* Returns whether the build still reads entries and gathers rows from them.
 * (The rows of an aggregate index are added up instead.) */
static inline bool index_gathers(const struct index *index)
{
    return index->state == KX_INDEX_BUILDING && !index->adoption.gathered &&
           !declaration_aggregates(index->declaration);
}

/* Returns whether the stored counts of an index or rule include the entry with
 * this key: its job has ended, or has stored that it has read the entry. */
static inline bool index_has_read(const struct index *index,
                                  struct kx_slice key)
{
    return index->state != KX_INDEX_BUILDING || index->adoption.gathered ||
           build_progress_has_read(&index->build, key);
}

/* Returns whether commits update the index's rows. This includes a failed index
 * while the entries that it has adopted can be read. */
static inline bool index_maintained(const struct index *index)
{
    return index->state == KX_INDEX_READY ||
           index->state == KX_INDEX_BUILDING ||
           index->state == KX_INDEX_CONFLICTED ||
           (index->state == KX_INDEX_FAILED && index_adopts(index));
}

/* Returns whether a row of this index is a conflict row (conflict_rows.h). */
static inline bool index_row_hidden(const struct index *index,
                                    const struct record *record)
{
    return index->declaration->unique && record->owner_at != 0;
}

/* Returns the approximate number of rows of TABLE_ENTRIES. */
uint64_t catalog_row_count(const struct catalog *catalog);

/* Returns whether clients can see a record: it has not expired and, if it is an
 * index entry, its index is shown. Pass an index entry through catalog_pick_row
 * first. now_ms: Unix time. */
bool catalog_shows(const struct catalog *catalog, const struct record *record,
                   int64_t now_ms);

/* Like catalog_shows, but also turns the record of an index entry into what
 * clients see under the entry's own key: a row may hold another form as well,
 * and an older stamp. Make the entry that an index entry points to from the
 * stored record, not from this one. */
bool catalog_show(const struct catalog *catalog, struct record *record,
                  int64_t now_ms);

/* Add an index or a rule, which becomes the catalog's child; move one to the
 * dropped ones; free a dropped one. Writer thread only, while a batch is
 * applied. They cannot fail: the caller has checked that there is room. */
void catalog_add(struct catalog *catalog, struct index *index);
void catalog_drop(struct catalog *catalog, struct index *index);
void catalog_forget(struct catalog *catalog, struct index *index);

/* Replaces each index that was built with another version of Unicode or another
 * EXTRACT_VERSION by a new one that will be built, and drops the old one. Call
 * right after catalog_load. KX_OK: the change is on disk; KX_DISK_FULL,
 * KX_NO_MEMORY, KX_UNREACHABLE, KX_UNKNOWN, KX_FAILED. */
enum kx_status catalog_rebuild(struct catalog *catalog);

/* Fill in the write that stores an index, and the one that stores the facts;
 * key and value are in talloc context mem. False if memory ran out. */
bool catalog_index_write(void *mem, const struct index *index,
                         struct row_write *write_out);
bool catalog_facts_write(void *mem, const struct catalog *catalog,
                         struct row_write *write_out);
/* Fills in the write that removes an index's row. False if memory ran out. */
bool catalog_index_removal(void *mem, const struct index *index,
                           struct row_write *write_out);

#endif
