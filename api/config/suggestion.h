/* Suggests the name that an unknown word was probably meant for: what Kindex
 * calls an option that other programs call by the word, the nearest name, or a
 * name that begins with the word. */
#ifndef API_SUGGESTION_H
#define API_SUGGESTION_H

#include "kindex.h"

/* A word of other programs and its name here. A word may have several rows:
 * only names that are offered are suggested. */
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

/* Begins a suggestion for the unknown word. `given` must outlive the
 * suggestion. */
struct suggestion suggestion_of(struct kx_slice given,
                                const struct synonym *synonyms);

/* Offers a valid name, which must outlive the suggestion. The name becomes
 * suggestion->name if it is nearer than all names offered before. */
void suggestion_offer(struct suggestion *suggestion, struct kx_slice name);

/* Writes " (did you mean --NAME?)", with `before` in place of "--", or an empty
 * text if no name is similar. */
void suggestion_write(const struct suggestion *suggestion, const char *before,
                      char *out, size_t size);

#endif
