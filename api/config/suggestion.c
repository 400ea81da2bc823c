/* Ranks the names: a synonym first, then names within a few edits, then the
 * first name that begins with the word. */
#include "config/suggestion.h"

#include <stdio.h>

/* Shorter words begin too many names. */
enum { BEGINNING_LEAST = 2 };

struct suggestion suggestion_of(struct kx_slice given,
                                const struct synonym *synonyms)
{
    return (struct suggestion){
        .given = given, .synonyms = synonyms, .distance = KX_NEAR + 1};
}

static bool is_synonym(const struct suggestion *suggestion,
                       struct kx_slice name)
{
    const struct synonym *row = suggestion->synonyms;
    for (; row != NULL && row->word != NULL; row++)
        if (kx_equal(suggestion->given, kx_text(row->word)) &&
            kx_equal(name, kx_text(row->name)))
            return true;
    return false;
}

void suggestion_offer(struct suggestion *suggestion, struct kx_slice name)
{
    struct kx_slice given = suggestion->given;
    bool begins = suggestion->name.size == 0 && given.size >= BEGINNING_LEAST &&
                  kx_starts_with(name, given);
    if (is_synonym(suggestion, name)) {
        suggestion->name = name;
        suggestion->distance = 0;
    } else if (kx_resembles(given, name, &suggestion->distance) || begins) {
        suggestion->name = name;
    }
}

void suggestion_write(const struct suggestion *suggestion, const char *before,
                      char *out, size_t size)
{
    *out = '\0';
    if (suggestion->name.size > 0)
        snprintf(out, size, " (did you mean %s%.*s?)", before,
                 (int)suggestion->name.size,
                 (const char *)suggestion->name.data);
}
