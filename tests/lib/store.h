/* A store in a new directory, and calls that wait for their results. */
#ifndef TEST_STORE_H
#define TEST_STORE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>
#include <unistd.h>

#include "storage/env.h"
#include "kindex.h"
#include "test_place.h"
#include "bdb/txn.h"
#include "unit.h"

struct test_store {
    char directory[64];
    struct kx_store *store;
    struct kx_reader *reader;
    struct kx_options options;
    pthread_mutex_t lock;
    pthread_cond_t answered;
};

/* Opens and closes the store with the options in *test, and a reader of it. */
void test_store_open(struct test_store *test);
void test_store_close(struct test_store *test);

/* Makes a new directory in `place`, and options for a store there. */
void test_store_place(struct test_store *test, const char *place);

/* Makes a store in a new directory, in memory if that has room (test_place) or
 * in `place`. test_store_remove closes it and removes the directory. */
void test_store_new(struct test_store *test);
void test_store_new_at(struct test_store *test, const char *place);
void test_store_remove(struct test_store *test);

/* Opens the storage of a closed store without the store, so that the test
 * itself can write its tables. */
struct env *test_env(struct test_store *test, void *mem);

/* Puts a row into the storage's table of the catalog; not flushed. */
void test_put(struct env *env, const char *key, struct kx_slice value);

/* Waits until the store has written a checkpoint. */
void test_wait_for_checkpoint(struct test_store *test);

/* Writes a row straight into the tables of a closed store. */
void test_write(struct test_store *test, void *mem,
                const struct row_write *write);

/* Removes a file, or a directory with its contents. */
void test_remove(const char *path);

/* Waits until *done, the owner of a ticket, is true. */
void test_wait(struct test_store *test, const bool *done);

/* Submits a commit and waits for its result. */
enum kx_status test_commit(struct test_store *test, struct kx_commit *commit);

/* The encoded key of a JSON array. */
struct kx_slice test_key(void *mem, const char *json);

/* A JSON value of the text, which is not copied. */
struct kx_value test_json(const char *text);

/* Commits one mutation with a JSON value (NULL for none), and waits. */
enum kx_status test_mutate(struct test_store *test, void *mem,
                           enum kx_mutation_type type, const char *key,
                           const char *value);
enum kx_status test_set(struct test_store *test, void *mem, const char *key,
                        const char *value);
enum kx_status test_delete(struct test_store *test, void *mem, const char *key);

/* Sets the entry to 1, with an expiry. */
enum kx_status test_set_until(struct test_store *test, void *mem,
                              const char *key, int64_t expires_at_ms);

/* Sets the entries [prefix,first] to [prefix,first + count - 1] in one commit,
 * to the texts that value_of returns, which may be allocated in mem. */
void test_fill(struct test_store *test, const char *prefix, int first,
               int count, const char *(*value_of)(void *mem, int n));

/* Returns the number of entries that a scan of the range shows in one view. */
size_t test_count(struct test_store *test, const struct kx_range *range);

/* Declares and drops an index; neither waits for its rows. */
enum kx_status test_declare(struct test_store *test, void *mem,
                            const char *declaration);
enum kx_status test_drop(struct test_store *test, void *mem, const char *name);

/* An index by_n with one entry to build it from. */
void test_declare_by_n(struct test_store *test, void *mem);

/* Reads the state of an index. Texts in info_out are valid only in the view, so
 * do not use them. */
enum kx_status test_index(struct test_store *test, const char *name,
                          struct kx_index_info *info_out);

/* Appends "key value|" of an entry to out; a pointer is shown as a key. */
void test_show(const struct kx_entry *entry, struct kx_buffer *out);

/* The value stored under a key as text in mem, or NULL. */
const char *test_get(struct test_store *test, void *mem, const char *key);

/* The versionstamp of an entry; 0: absent. */
uint64_t test_stamp(struct test_store *test, void *mem, const char *key);

/* All entries with the prefix as "key value|key value|", in mem. */
const char *test_list(struct test_store *test, void *mem, const char *prefix);

/* A store and memory of one test. */
struct story {
    struct test_store test;
    void *mem;
};

/* begin makes a story with a new store, and finish removes it and ends a clock
 * that the test has set. */
int begin(void **state);
int finish(void **state);

/* Takes the first row of an index out of the table, past everything; the store
 * is closed meanwhile. False: it has none. */
bool test_lose_row(struct test_store *test, void *mem, const char *index);

#endif
