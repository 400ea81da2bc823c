/* Rows that are added in any order and taken in key order. They are never
 * sorted all at once, so that each addition and each removal is short: a build
 * (build_rows.h) works in small steps between commits. One thread at a time. */
#ifndef ROW_SORTER_H
#define ROW_SORTER_H

#include "engine/engine.h"

struct row_sorter;

/* Creates an empty sorter in talloc context mem, for rows whose keys all begin
 * with the same `common` bytes. NULL: memory ran out. */
struct row_sorter *row_sorter_create(void *mem, size_t common);

/* Adds a copy of a row. False: memory ran out, and the row is not added. Must
 * not be called after row_sorter_next. */
bool row_sorter_add(struct row_sorter *sorter, struct kx_slice key,
                    struct kx_slice value);

/* Takes the next row in key order as a put into TABLE_ENTRIES; equal keys come
 * one after the other. Key and value live as long as the sorter. False: all
 * were taken, or memory ran out (row_sorter_failed). */
bool row_sorter_next(struct row_sorter *sorter, struct row_write *write_out);

/* Empties the sorter after all rows were taken, so that rows can be added
 * again. */
void row_sorter_clear(struct row_sorter *sorter);

/* True if memory ran out, so that rows may be missing. */
bool row_sorter_failed(const struct row_sorter *sorter);

/* Return the number of rows added since the sorter was empty, and their bytes.
 */
size_t row_sorter_count(const struct row_sorter *sorter);
size_t row_sorter_bytes(const struct row_sorter *sorter);

#endif
