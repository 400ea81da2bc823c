/* Rows that are gathered in any order and taken in key order, without a moment
 * in which all of them are sorted: each addition and each taking is short. The
 * work of a build (round.h) comes in small steps, between which commits go on.
 * One thread at a time. */
#ifndef SORTER_H
#define SORTER_H

#include "bdb/txn.h"

struct sorter;

/* An empty one in talloc context mem, for rows whose keys all begin with the
 * same `common` bytes. NULL when memory ran out. */
struct sorter *sorter_create(void *mem, size_t common);

/* Adds a copy of a row. False when memory ran out: it is not added. Not after
 * sorter_next. */
bool sorter_add(struct sorter *sorter, struct kx_slice key,
                struct kx_slice value);

/* Takes the next row in key order as a put into TABLE_ENTRIES; equal keys come
 * one after the other. Key and value live as long as the sorter. False when all
 * were taken; also when memory ran out, which sorter_failed tells. */
bool sorter_next(struct sorter *sorter, struct txn_write *write_out);

/* Has memory run out, so that rows may be missing? */
bool sorter_failed(const struct sorter *sorter);

/* How many rows were added, and the bytes that they take. */
size_t sorter_count(const struct sorter *sorter);
size_t sorter_bytes(const struct sorter *sorter);

#endif
