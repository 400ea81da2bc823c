/* A rule: what the entries under a prefix must be. Its declaration is a struct
 * declaration with a `rule`; this room parses it, writes its canonical text and
 * tests entries. Any thread may parse a rule and use a parsed one. */
#ifndef RULE_H
#define RULE_H

#include "entry/record.h"
#include "schema/declaration.h"
#include "schema/index_document.h"

struct json_schema;

/* When entries expire. */
struct rule_ttl {
    bool declared;
    int64_t default_ms;   /* of a write that says nothing; 0: never */
    int64_t max_ms;       /* 0: any */
    struct kx_slice from; /* JSON Pointer to the time; size 0: none */
};

/* How much there may be under the prefix, or under each child of it. The totals
 * are kept as those of an aggregate index (schema/totals.h) whose groups are
 * the children and whose sum are the bytes of keys and values. */
struct rule_quota {
    bool declared;
    bool warns;       /* a write beyond it is logged, not refused */
    uint64_t entries; /* 0: any number */
    uint64_t bytes;   /* 0: any size */
    size_t depth;     /* parts of a child after the prefix; 0: one total */
};

/* What happens to an entry when the one that it refers to is deleted. */
enum rule_on_delete { ON_DELETE_RESTRICT, ON_DELETE_CASCADE, ON_DELETE_CLEAR };

/* A place in the value that has the key of another entry, or the last part of
 * that key. Null and nothing refer to no entry. */
struct rule_reference {
    struct kx_slice path; /* not empty */
    struct kx_slice to;   /* the key of the other entry without its last part */
    bool of_keys;         /* the value is the whole key, as an array */
    enum rule_on_delete on_delete;
    /* The index by which referring entries are found: the rule declares it
     * unless another one fits. */
    struct declaration *index;
};

/* What a rule demands. All slices lie in the declaration's talloc context. */
struct rule {
    struct json_schema *schema; /* NULL: any value */
    struct kx_slice schema_text;
    bool bounded;        /* each value is a number from min to max */
    struct kx_slice min; /* JSON numbers; size 0: no bound */
    struct kx_slice max;
    struct rule_ttl ttl;
    struct rule_quota quota;
    struct rule_reference references[KX_REFERENCES_MAX];
    size_t reference_count;
};

/* The totals of a group of a quota. */
struct rule_totals {
    uint64_t entries;
    uint64_t bytes;
};
/* Reads the value of a row of the rule; empty: nothing is there. A damaged
 * value counts as nothing. */
struct rule_totals rule_totals_of(struct kx_slice value);

/* Reads a rule from text that may be invalid JSON, into talloc context mem. Its
 * name_key begins with RULE_ROWS_MARK, with which no key of a client begins.
 * KX_OK; KX_BAD_JSON; KX_JSON_TOO_DEEP; KX_BAD_RULE with pointer, detail and
 * perhaps suggestion; KX_NO_MEMORY. On errors nothing remains in mem. */
enum { RULE_ROWS_MARK = 0xfe };
enum kx_status rule_parse(void *mem, struct kx_slice text,
                          struct declaration **declaration_out,
                          struct kx_fault *fault);

/* Looks up the entry with the key `target`, the target of a reference. KX_OK,
 * KX_ABSENT, or an error. */
typedef enum kx_status rule_find_fn(void *finder,
                                    const struct rule_reference *reference,
                                    struct kx_slice target);

/* Where entries are tested. */
struct rule_work {
    struct index_document document;
    struct kx_buffer number;   /* text of a value that is a number */
    struct kx_buffer pointer;  /* of the last violation */
    struct kx_buffer expected; /* of the last violation */
    struct kx_buffer target;   /* key of the last reference's target */
    rule_find_fn *find;        /* NULL: every entry counts as being there */
    void *finder;
    struct charge *charge; /* pays for the tests; NULL: not counted */
};

/* Makes the work of a talloc context. */
void rule_work_init(struct rule_work *work, void *owner);

/* Tests an entry that the rule covers. KX_OK; KX_RULE_VIOLATED, with
 * *violation_out, whose slices lie in the work or the record until the next
 * test; KX_NO_MEMORY; errors of work->find. */
enum kx_status rule_test(const struct declaration *declaration,
                         struct kx_slice key, const struct record *record,
                         struct rule_work *work,
                         struct kx_violation *violation_out);

/* Makes the key of the reference's target in work->target. KX_OK; KX_ABSENT:
 * the entry has no reference there; KX_RULE_VIOLATED: the value is no key or
 * key part; KX_NO_MEMORY. */
enum kx_status rule_target(const struct rule_reference *reference,
                           const struct record *record, struct rule_work *work);

/* Returns whether the key may be a target of the reference: `to` and one more
 * part. */
static inline bool rule_refers_to(const struct rule_reference *reference,
                                  struct kx_slice key)
{
    size_t skip = reference->to.size;
    return kx_starts_with(key, reference->to) && key.size > skip &&
           kx_part_size(kx_slice(key.data + skip, key.size - skip)) ==
               key.size - skip;
}

/* Returns whether an index finds all entries that refer to another one: its
 * first field is the reference, and it leaves none of them out. */
bool rule_reference_fits(const struct rule_reference *reference,
                         const struct declaration *index);

/* Returns whether an entry that violates the rule before a write and after it
 * has become no worse: it does so at the same place in the same way, a number
 * beyond its bounds has not moved away from them, and a reference is the same.
 */
bool rule_is_no_worse(const struct rule *rule,
                      const struct kx_violation *before,
                      const struct kx_violation *now);

/* Sets record->expires_at_ms, which is what a write at now_ms says (0:
 * nothing), to what the rule says. KX_OK; KX_RULE_VIOLATED, as rule_test;
 * KX_NO_MEMORY. */
enum kx_status rule_expiry(const struct rule *rule, struct record *record,
                           int64_t now_ms, struct rule_work *work,
                           struct kx_violation *violation_out);

#endif
