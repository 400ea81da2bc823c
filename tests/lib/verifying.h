/* Indexes of four forms over the same entries, their verification, and damage
 * to rows that is planted without the store. */
#ifndef VERIFYING_H
#define VERIFYING_H

#include "entry/record.h"
#include "store.h"

/* The entry [p,n], whose value in both unique indexes is a. */
void set(struct story *s, int n, int a);

/* Declares the indexes u, n, v and f, and makes so many entries, each with its
 * own value. */
void fill(struct story *s, int count);

/* Starts a verification and does not wait for it. */
enum kx_status begin_verification(struct story *s, const char *index,
                                  bool repair);

/* Returns the report of the last verification, which may be running, or zeros
 * if there was none. */
struct kx_verification report(struct story *s, const char *index);

/* Verifies the index, waits for the end, and returns the report. */
struct kx_verification verify(struct story *s, const char *index, bool repair);

/* Fails unless the report has exactly these counts. */
void expect(const struct kx_verification *report, uint64_t missing,
            uint64_t dangling, uint64_t stale, uint64_t duplicate);

/* Fails unless the sample shows the key, which is a JSON array. */
void same_key(struct story *s, const struct kx_sample *sample, const char *key);

/* Writes a row of the entries while the store is closed, which it opens again.
 * plant with an empty value removes the row, as remove_row does with its key as
 * a JSON array. */
void plant(struct story *s, struct kx_slice key, struct kx_slice value);
void remove_row(struct story *s, const char *key);

#endif
