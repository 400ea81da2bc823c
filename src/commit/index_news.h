/* Telling those who wait that something about an index has changed: its state,
 * the progress of its build, its pace. They are told that there is news, not
 * what it is, and look for themselves: so nothing is kept for a slow one.
 */
#ifndef INDEX_NEWS_H
#define INDEX_NEWS_H

#include "commit/store_state.h"

/* Something has changed. Whoever does the writer's work. */
void index_news_note(struct kx_store *store);

/* Tells what was noted, progress not more than some times a second: `idle` says
 * that there may be no later opportunity. The writer thread. */
void index_news_tell(struct kx_store *store, bool idle);

#endif
