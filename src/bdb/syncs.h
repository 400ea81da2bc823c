/* The library's syncs of its files. One that fails is final for the store: what
 * the system could not write it may have dropped, and the next sync succeeds
 * without it. The library only tells whoever wanted that one, and tries again
 * when the next is due: a checkpoint would then remove the log that has what
 * the tables lack, a flush acknowledge what lies behind a hole in the log.
 */
#ifndef SYNCS_H
#define SYNCS_H

/* From now on the library syncs through us. To be called before the first
 * environment is made; any number of times. */
void syncs_install(void);

/* How many have failed in this process: which store's they were is not known
 * here. */
unsigned syncs_failed(void);

#endif
