/* Answers the tickets that wait for a change of an index: its state, the
 * progress of its build, its pace. The answer says that there is news, not
 * which, and the waiting side reads the state itself: so nothing is kept for a
 * slow reader. */
#ifndef INDEX_NEWS_H
#define INDEX_NEWS_H

#include <pthread.h>
#include <stdatomic.h>

#include "kindex/watch.h"

struct index_news {
    kx_answer_fn *answer;
    void *answer_context;
    _Atomic uint64_t count; /* of answers so far */
    /* Of the writer. */
    bool due; /* something has changed */
    uint64_t told_ns;
    /* Under `lock`. */
    pthread_mutex_t lock;
    struct kx_ticket *waiting;
};

/* answer: called by the writer, with the tickets that waited. */
void index_news_init(struct index_news *news, kx_answer_fn *answer,
                     void *answer_context);
void index_news_finish(struct index_news *news);

/* kx_news, kx_news_wait and kx_news_cancel (kindex/watch.h). Any thread. */
uint64_t index_news_count(struct index_news *news);
enum kx_status index_news_wait(struct index_news *news, uint64_t seen,
                               struct kx_ticket *ticket);
bool index_news_cancel(struct index_news *news, struct kx_ticket *ticket);

/* Something has changed. For the thread that does the writer's work. */
void index_news_note(struct index_news *news);

/* Answers the tickets if something was noted, but at most every 50 ms unless
 * `idle`: then there may be no later opportunity. The writer thread. */
void index_news_tell(struct index_news *news, bool idle);

#endif
