/* The name that a misspelt word was meant for: one that other programs have a
 * different word for, the nearest one, or one that the word is the beginning
 * of. */
#ifndef API_SUGGESTION_H
#define API_SUGGESTION_H

#include "kindex.h"

/* A word of other programs, and the name that stands for it here. A word may
 * have several rows: the name that is offered counts. */
struct synonym {
    const char *word;
    const char *name;
};

struct suggestion {
    struct kx_slice given;
    const struct synonym *synonyms; /* ended by a NULL word; NULL: none */
    struct kx_slice name;           /* empty: nothing is like it */
    size_t distance;
};

/* `given` lives as long as the suggestion is used. */
struct suggestion suggestion_of(struct kx_slice given,
                                const struct synonym *synonyms);

/* Offers a name that would have been right; it becomes suggestion->name if it
 * is nearer than those before, and has to live as long. */
void suggestion_offer(struct suggestion *suggestion, struct kx_slice name);

/* Writes the sentence part " (did you mean --NAME?)" with what stands before
 * the name, such as "--"; nothing when there is no name. */
void suggestion_write(const struct suggestion *suggestion, const char *before,
                      char *out, size_t size);

#endif
