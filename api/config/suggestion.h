/* The name that an unknown word was probably meant for: the name here of an
 * option that other programs call so, the nearest name, or a name that begins
 * with the word. */
#ifndef API_SUGGESTION_H
#define API_SUGGESTION_H

#include "kindex.h"

/* A word of other programs and its name here. A word may have several rows; of
 * these names the one that is offered counts. */
struct synonym {
    const char *word;
    const char *name;
};

struct suggestion {
    struct kx_slice given;
    const struct synonym *synonyms; /* ended by a NULL word; NULL: none */
    struct kx_slice name;           /* empty: no name is similar */
    size_t distance;
};

/* Begins a suggestion. `given` must live as long as it is used. */
struct suggestion suggestion_of(struct kx_slice given,
                                const struct synonym *synonyms);

/* Offers a valid name. It becomes suggestion->name if it is nearer than those
 * before, and must live as long as the suggestion. */
void suggestion_offer(struct suggestion *suggestion, struct kx_slice name);

/* Writes " (did you mean --NAME?)", with `before` in place of "--"; an empty
 * text when there is no name. */
void suggestion_write(const struct suggestion *suggestion, const char *before,
                      char *out, size_t size);

#endif
