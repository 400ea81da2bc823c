/* Reads the options of a command line: --name VALUE, --name=VALUE, -n VALUE,
 * -nVALUE, several letters in one word (-rk). Names are not abbreviated,
 * because a later option could make an abbreviation ambiguous. Words after "--"
 * are not options. */
#ifndef API_FLAGS_H
#define API_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/suggestion.h"

struct flag {
    const char *name;
    char letter; /* 0: none */
    bool value;  /* it takes one */
};

enum flag_kind {
    FLAG_END,
    FLAG_OPTION,     /* which, and value if it takes one */
    FLAG_WORD,       /* value is an argument, not an option */
    FLAG_UNKNOWN,    /* said; meant is a question with the likely name */
    FLAG_BARE,       /* said lacks its value */
    FLAG_SUPERFLUOUS /* said takes no value, and has one */
};

/* The state of reading a command line. The caller sets flags, count, argc, argv
 * and at = 1; all other members are zero. */
struct flag_reader {
    const struct flag *flags;
    size_t count;
    int argc;
    char **argv;
    int at;        /* the word that comes next */
    bool ended;    /* by "--" */
    char *letters; /* the remainder of a word of letters; NULL: none */
    size_t which;  /* of flags */
    char *value;
    char said[64];  /* the option as it was written, cut off if it is long */
    char meant[96]; /* suggestion_write; empty: no name is like it */
};

/* The names of options in other programs, for suggestion_of. */
const struct synonym *flags_synonyms(void);

/* Reads the next option or argument. */
enum flag_kind flags_next(struct flag_reader *reader);

#endif
