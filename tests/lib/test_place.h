/* Where files of a test lie that need not outlive it. */
#ifndef TEST_PLACE_H
#define TEST_PLACE_H

/* A directory in memory, if there is room for many stores, else on the disk,
 * where each sync takes its time. */
const char *test_place(void);

#endif
