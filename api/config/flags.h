/* The options among the words of a command line: --name VALUE, --name=VALUE,
 * -n VALUE, -nVALUE, several letters in one word (-rk). A name is written in
 * full: an abbreviation would mean another option as soon as there is one. What
 * stands after "--" is no option. */
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
    FLAG_WORD,       /* value is an argument that is no option */
    FLAG_UNKNOWN,    /* said; meant is a question with the likely name */
    FLAG_BARE,       /* said lacks its value */
    FLAG_SUPERFLUOUS /* said takes no value, and has one */
};

/* A command line that is being read; begin with flags, count, argc, argv and
 * at = 1, the rest zero. */
struct flag_reader {
    const struct flag *flags;
    size_t count;
    int argc;
    char **argv;
    int at;        /* the word that comes next */
    bool ended;    /* by "--" */
    char *letters; /* those left of the present word; NULL: none */
    size_t which;  /* of flags */
    char *value;
    char said[64];  /* the option as it is written, cut off if it is long */
    char meant[96]; /* suggestion_write; empty: no name is like it */
};

/* What other programs call options, for suggestion_of. */
const struct synonym *flags_synonyms(void);

/* Reads what comes next. */
enum flag_kind flags_next(struct flag_reader *reader);

#endif
