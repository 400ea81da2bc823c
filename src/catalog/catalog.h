/* The declared indexes and their state, and the store's few facts: the last
 * versionstamp and how many entries there are.
 *
 * Changed by the writer only, inside the gate's apply; read by any thread
 * inside a view of the gate, and by the writer at any time.
 */
#ifndef CATALOG_H
#define CATALOG_H

#include "catalog/build_progress.h"
#include "schema/declaration.h"
#include "storage/env.h"
#include "catalog/throttle.h"
#include "entry/record.h"
#include "bdb/txn.h"
#include "catalog/index_usage.h"
#include "base/uuid.h"
#include "catalog/verify_report.h"

/* How an index has got its `store`, and gets another one (row_form.h). */
struct row_form {
    struct declaration *target; /* what it is to be, or NULL */
    struct declaration *failed; /* what it could not be, lately, or NULL */
    uint64_t since; /* the commit with which it got it, 0: declared so */
    bool odd;       /* which of the forms of its rows is shown */
    bool mixed;     /* rows are to be rewritten */
};

/* Stays where it is until it is forgotten: others may point to it. */
struct index {
    uint32_t id; /* never used twice in a store; index entries carry it */
    enum kx_index_state state;
    struct declaration *declaration;
    struct row_form form;
    uint32_t replaces; /* id of the index of the same name in whose place it
                        * comes as soon as it is ready, or 0 */
    uint64_t entries;
    uint64_t conflicts; /* conflict rows (conflict_rows.h) */
    struct build_progress build;
    struct index_usage usage;
    struct throttle pace; /* of the build, or of whatever else works on it */
    struct kx_adoption adoption;
    struct verify_report *verification; /* the last one, or NULL */
    char failure[KX_DETAIL_MAX];
    bool outdated; /* made with another Unicode, or other rules */
    bool reused;   /* dropped: clients may have entries under its name again */
};

struct catalog {
    struct env *env;
    struct index *indexes[KX_INDEXES_MAX]; /* in name order; one that comes in
                                            * another's place is behind it */
    size_t count;
    struct index *dropping[KX_INDEXES_MAX]; /* have no name any more */
    size_t dropping_count;
    char id[UUID_SIZE]; /* the store's */
    uint32_t last_id;
    uint64_t stamp;   /* the last one given */
    uint64_t entries; /* clients' entries, expired ones included */
};

/* Reads the catalog of an open environment, or makes a new store's. */
enum kx_status catalog_load(void *mem, struct env *env,
                            struct catalog **catalog_out,
                            struct kx_fault *fault);

/* The index with this name, or NULL. */
struct index *catalog_find(const struct catalog *catalog, struct kx_slice name);

/* The same for a caller who was given the name: KX_OK or KX_INDEX_ABSENT. */
enum kx_status catalog_get(const struct catalog *catalog, struct kx_slice name,
                           struct index **index_out, struct kx_fault *fault);
/* The same for the index that a commit names, whose status this is. NULL: there
 * is none, and the commit's fault says so. */
struct index *catalog_named(const struct catalog *catalog,
                            struct kx_commit *commit);

/* The n-th index that clients know, in name order, or NULL. */
struct index *catalog_at(const struct catalog *catalog, size_t n);

/* Is the key one of the index with this name, encoded? */
bool catalog_is_under(struct kx_slice name_key, struct kx_slice key);
/* Does a range that begins with a key of the index hold no others? FF behind
 * the name comes after all of its keys. */
bool catalog_ends_under(const struct index *index, struct kx_slice end);

/* The index to whose entries a key belongs by its first part, or NULL. */
struct index *catalog_owner(const struct catalog *catalog, struct kx_slice key);

/* An index, perhaps a dropped one, under whose name this key lies and no entry
 * of a client does; or NULL, when there is none or that is not known. */
const struct index *catalog_sole_owner(const struct catalog *catalog,
                                       struct kx_slice key);

/* A client's entry has been written: it may be under the name of an index that
 * is dropped. Writer only. */
void catalog_note_written(struct catalog *catalog, struct kx_slice key);

/* So many rows one changed entry adds at most, its own included. */
size_t catalog_rows_per_change(const struct catalog *catalog);

/* The index with this id, NULL when it is dropped. */
struct index *catalog_by_id(const struct catalog *catalog, uint32_t id);

/* The index that comes in this one's place, or NULL. */
struct index *catalog_successor(const struct catalog *catalog,
                                const struct index *index);

/* May its entries be read? */
static inline bool index_readable(const struct index *index)
{
    return index->state == KX_INDEX_READY;
}

/* Can the entries under its name be read as keys? Also while it takes over what
 * was there, and for as long as that has conflicts. */
static inline bool index_shown(const struct index *index)
{
    return index_readable(index) || index->adoption.asked;
}

/* May there be hand-kept entries under its name, not taken over yet? */
static inline bool index_adopts(const struct index *index)
{
    return index->adoption.asked && !index->adoption.done;
}

/* Is it built from entries that it has not read yet? */
static inline bool index_gathers(const struct index *index)
{
    return index->state == KX_INDEX_BUILDING && !index->adoption.gathered;
}

/* Is it kept up by writes? Also one that has failed, if what it has taken over
 * until then can be read. */
static inline bool index_maintained(const struct index *index)
{
    return index->state == KX_INDEX_READY ||
           index->state == KX_INDEX_BUILDING ||
           index->state == KX_INDEX_CONFLICTED ||
           (index->state == KX_INDEX_FAILED && index_adopts(index));
}

/* Is a row of this index that of a further owner of a unique value, and no
 * index entry (conflict_rows.h)? */
static inline bool index_row_hidden(const struct index *index,
                                    const struct record *record)
{
    return index->declaration->unique && record->owner_at != 0;
}

/* About how many rows the table of entries has. */
uint64_t catalog_row_count(const struct catalog *catalog);

/* Is a stored record one that clients can see: not expired, and if it is an
 * index entry, one of a readable index? */
bool catalog_shows(const struct catalog *catalog, const struct record *record,
                   int64_t now_ms);

/* The same, and if it is an index entry the record becomes what clients see: a
 * row may hold more, and keep older stamps. For its key alone; an entry that an
 * index entry stands for is made from the record as it is stored. */
bool catalog_show(const struct catalog *catalog, struct record *record,
                  int64_t now_ms);

/* Adds an index (which becomes the catalog's child), or moves it to the
 * dropping ones, or forgets it, which frees it. Writer only, inside apply. None
 * can fail: there must be room. */
void catalog_add(struct catalog *catalog, struct index *index);
void catalog_drop(struct catalog *catalog, struct index *index);
void catalog_forget(struct catalog *catalog, struct index *index);

/* Puts a new index, to be built, in the place of each one whose text was folded
 * by another version of Unicode, or whose entries were made by another
 * EXTRACT_VERSION; the old one's entries are freed like a dropped index's. When
 * the store is opened, before anything else looks at the catalog. KX_OK, then
 * it is on disk; KX_NO_MEMORY, errors of the storage. */
enum kx_status catalog_rebuild(struct catalog *catalog);

/* The rows that store an index, and the store's facts; key and value are
 * written to talloc context mem. False when memory ran out. */
bool catalog_index_write(void *mem, const struct index *index,
                         struct txn_write *write_out);
bool catalog_facts_write(void *mem, const struct catalog *catalog,
                         struct txn_write *write_out);
/* The write that removes an index's row. False when memory ran out. */
bool catalog_index_removal(void *mem, const struct index *index,
                           struct txn_write *write_out);

#endif
