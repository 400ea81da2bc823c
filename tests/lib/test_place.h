/* A place for temporary files of tests. */
#ifndef TEST_PLACE_H
#define TEST_PLACE_H

/* Returns a directory in memory if it has room for many stores, else one on
 * disk, where syncs are slower. */
const char *test_place(void);

#endif
