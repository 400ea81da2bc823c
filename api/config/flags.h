/* Reads the options of a command line: --name VALUE, --name=VALUE, -n VALUE,
 * -nVALUE, several letters in one word (-rk). Names are not abbreviated,
 * because a later option could make an abbreviation ambiguous. Words after "--"
 * are not options. After the first argument a word that begins with - and a
 * digit is an argument, too. */
#ifndef API_FLAGS_H
#define API_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/suggestion.h"

struct flag {
    const char *name;
    char letter; /* 0: none */
    bool value;  /* it takes a value */
};

enum flag_kind {
    FLAG_END,
    FLAG_OPTION,     /* `which`, and `value` if the option takes one */
    FLAG_WORD,       /* `value` is an argument, not an option */
    FLAG_UNKNOWN,    /* `said`; `meant` asks for the likely name */
    FLAG_BARE,       /* `said` lacks its value */
    FLAG_SUPERFLUOUS /* `said` has a value but takes none */
};

/* The state of reading a command line. The caller sets flags, count, argc, argv
 * and at = 1; all other members are zero. */
struct flag_reader {
    const struct flag *flags;
    size_t count;
    int argc;
    char **argv;
    int at;     /* index in argv of the next word */
    bool ended; /* by "--" */
    bool after_word;
    char *letters; /* the remainder of a word of letters; NULL: none */
    size_t which;  /* of flags */
    char *value;
    char said[64];  /* the option as it was written, cut off if it is long */
    char meant[96]; /* by suggestion_write; empty: no similar name */
};

/* The names of options in other programs, for suggestion_of. */
const struct synonym *flags_synonyms(void);

/* Reads the next option or argument and sets the members of reader that the
 * result names. Returns FLAG_END after the last. */
enum flag_kind flags_next(struct flag_reader *reader);

#endif
