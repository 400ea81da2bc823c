/* Answers the tickets that wait for a change of an index: its state, the
 * progress of its build, its pace. The answer says that there is news, not
 * which, and the waiting side reads the state itself: so nothing is kept for a
 * slow reader. */
#ifndef INDEX_NEWS_H
#define INDEX_NEWS_H

#include "commit/store_state.h"

/* Something has changed. For the thread that does the writer's work. */
void index_news_note(struct kx_store *store);

/* Answers the tickets if something was noted, but at most every 50 ms unless
 * `idle`: then there may be no later opportunity. The writer thread. */
void index_news_tell(struct kx_store *store, bool idle);

#endif
