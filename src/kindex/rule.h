/* Rules: what entries under a prefix must be, whichever way they are written.
 */
#ifndef KINDEX_RULE_H
#define KINDEX_RULE_H

#include "kindex/index.h"

/* The name of a rule's state in JSON: "checking" while the entries that were
 * there before the rule are read (KX_INDEX_BUILDING), "ready", or "conflicted"
 * while some entries violate the rule. */
const char *kx_rule_state_text(enum kx_index_state state);

struct kx_rule_info {
    struct kx_slice name;
    struct kx_slice declaration; /* JSON text, all defaults filled in */
    struct kx_slice prefix;      /* encoded parts */
    enum kx_index_state state;
    uint64_t done;       /* entries read while it is checking */
    uint64_t total;      /* an estimate until the end */
    uint64_t violations; /* stored entries that violate it; while it is
                          * checking, those found so far */
};

/* Inside a view. The slices are valid until the end of the view. KX_OK or
 * KX_RULE_ABSENT. */
enum kx_status kx_rule_find(struct kx_reader *reader, struct kx_slice name,
                            struct kx_rule_info *info_out);
/* The n-th rule in name order; KX_END after the last. */
enum kx_status kx_rule_at(struct kx_reader *reader, size_t n,
                          struct kx_rule_info *info_out);

/* The totals of a rule with a quota, of which each is for the keys that begin
 * with `key`. An entry that has expired counts until it is removed. */
struct kx_usage {
    struct kx_slice key;
    uint64_t entries;
    uint64_t bytes; /* of keys and values */
};
/* What a quota allows; 0: any. */
struct kx_quota {
    uint64_t entries;
    uint64_t bytes;
};
/* Inside a view. False: there is no such rule, or it has no quota. */
bool kx_rule_quota(struct kx_reader *reader, struct kx_slice name,
                   struct kx_quota *quota_out);

/* Begins a scan of those totals of a rule with a quota that are for keys under
 * the prefix, or around it. Inside a view; kx_scan_end ends it. KX_OK;
 * KX_RULE_ABSENT: there is no such rule, it has no quota, or another prefix;
 * KX_NO_MEMORY, KX_FAILED. kx_usage_next: KX_OK, with a key that is valid until
 * the next call; KX_END, KX_NO_MEMORY, KX_FAILED. */
enum kx_status kx_usage(struct kx_reader *reader, struct kx_slice name,
                        struct kx_slice prefix);
/* Returns the next totals of that scan. */
enum kx_status kx_usage_next(struct kx_reader *reader,
                             struct kx_usage *usage_out);

/* What is wrong with an entry. */
struct kx_violation {
    const char *member;       /* of the declaration: "schema", "ttl" ... */
    struct kx_slice pointer;  /* JSON Pointer into the value */
    struct kx_slice value;    /* the JSON there; size 0: nothing, or
                               * more than KX_FOUND_MAX bytes */
    struct kx_slice expected; /* what would be right, such as "at least 0" */
};

/* A declaration that tests entries without being a rule of a store. Belongs to
 * one thread. kx_rule_read: KX_OK, KX_BAD_JSON, KX_JSON_TOO_DEEP, KX_BAD_RULE,
 * KX_NO_MEMORY; it lies in talloc context mem. kx_rule_test, inside a view that
 * has the entries to which others refer: KX_OK; KX_ABSENT: the declaration does
 * not cover the entry; KX_RULE_VIOLATED, whose slices are valid until the next
 * call; KX_NO_MEMORY, KX_FAILED. */
struct kx_rule;
enum kx_status kx_rule_read(void *mem, struct kx_slice declaration,
                            struct kx_rule **rule_out, struct kx_fault *fault);
struct kx_slice kx_rule_prefix(const struct kx_rule *rule);
struct kx_slice kx_rule_text(const struct kx_rule *rule);
/* Returns the n-th reference: the prefix of its targets, and whether the
 * deletion of a target changes the referring entries. False after the last. */
bool kx_rule_reference(const struct kx_rule *rule, size_t n,
                       struct kx_slice *to_out, bool *changes_out);
enum kx_status kx_rule_test(struct kx_reader *reader, struct kx_rule *rule,
                            const struct kx_entry *entry,
                            struct kx_violation *violation_out);

/* A reference that a read follows. */
struct kx_reference {
    struct kx_slice path; /* JSON Pointer */
    struct kx_slice to;   /* prefix of the other entries, or empty */
};
/* Makes an expander, which finds the targets of references. Belongs to one
 * thread; lies in talloc context mem. NULL if memory ran out. */
struct kx_expander;
struct kx_expander *kx_expander_make(const void *mem);
/* Sets the key of the entry to which `entry` refers by the value at the path:
 * as a rule that covers the entry declares it or, if `to` is not empty, as the
 * last part of a key under `to`, or as a whole key that begins with `to`.
 * Inside a view. KX_OK, with a key that is valid until the next call;
 * KX_ABSENT: there is no such rule, or the value is no such key; KX_NO_MEMORY.
 */
enum kx_status kx_expander_find(struct kx_reader *reader,
                                struct kx_expander *expander,
                                const struct kx_entry *entry,
                                const struct kx_reference *reference,
                                struct kx_slice *key_out);

#endif
