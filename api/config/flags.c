/* Reads a command line word by word, and a group of letters letter by letter.
 */
#include "config/flags.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* What other programs call these options. */
static const struct synonym SYNONYMS[] = {
    {"port", "listen"},    {"host", "listen"},       {"bind", "listen"},
    {"address", "listen"}, {"addr", "listen"},       {"dir", "data"},
    {"directory", "data"}, {"data-dir", "data"},     {"db", "data"},
    {"path", "data"},      {"verbose", "log-level"}, {"cert", "tls-cert"},
    {"key", "tls-key"},    {"server", "url"},        {"host", "url"},
    {"address", "url"},    {"format", "output"},     {"json", "output"},
    {"count", "limit"},    {"max", "limit"},         {"recursive", "prefix"},
    {"expire", "ttl"},     {"force", "overwrite"},   {NULL, NULL},
};

const struct synonym *flags_synonyms(void)
{
    return SYNONYMS;
}

/* Takes value, or the next word if value is NULL. */
static enum flag_kind take_value(struct flag_reader *reader, char *value)
{
    if (value == NULL && reader->at < reader->argc)
        value = reader->argv[reader->at++];
    reader->value = value;
    return value != NULL ? FLAG_OPTION : FLAG_BARE;
}

static enum flag_kind take_unknown(struct flag_reader *reader,
                                   struct kx_slice name)
{
    struct suggestion suggestion = suggestion_of(name, SYNONYMS);
    for (size_t i = 0; i < reader->count; i++)
        suggestion_offer(&suggestion, kx_text(reader->flags[i].name));
    suggestion_write(&suggestion, "--", reader->meant, sizeof reader->meant);
    return FLAG_UNKNOWN;
}

/* word is "--name" or "--name=value". */
static enum flag_kind take_name(struct flag_reader *reader, char *word)
{
    char *equals = strchr(word, '=');
    size_t size = equals != NULL ? (size_t)(equals - word) : strlen(word);
    struct kx_slice name = kx_slice(word + 2, size - 2);
    snprintf(reader->said, sizeof reader->said, "%.*s", (int)size, word);
    for (size_t i = 0; i < reader->count; i++) {
        if (!kx_equal(name, kx_text(reader->flags[i].name)))
            continue;
        reader->which = i;
        if (reader->flags[i].value)
            return take_value(reader, equals != NULL ? equals + 1 : NULL);
        return equals == NULL ? FLAG_OPTION : FLAG_SUPERFLUOUS;
    }
    return take_unknown(reader, name);
}

/* Takes the next letter of the word. If its option takes a value, the remainder
 * of the word is the value. */
static enum flag_kind take_letter(struct flag_reader *reader)
{
    char letter = *reader->letters++;
    char *rest = *reader->letters != '\0' ? reader->letters : NULL;
    reader->letters = rest;
    snprintf(reader->said, sizeof reader->said, "-%c", letter);
    for (size_t i = 0; i < reader->count; i++) {
        if (reader->flags[i].letter != letter)
            continue;
        reader->which = i;
        if (!reader->flags[i].value)
            return FLAG_OPTION;
        reader->letters = NULL;
        return take_value(reader, rest);
    }
    reader->meant[0] = '\0';
    return FLAG_UNKNOWN;
}

/* True for a word of letters of options. After an argument a word such as -3 is
 * an argument, too: no option has a digit as its letter. */
static bool has_letters(const struct flag_reader *reader, const char *word)
{
    return word[0] == '-' && word[1] != '\0' &&
           !(reader->after_word && isdigit((unsigned char)word[1]));
}

enum flag_kind flags_next(struct flag_reader *reader)
{
    reader->value = NULL;
    if (reader->letters != NULL)
        return take_letter(reader);
    if (reader->at >= reader->argc)
        return FLAG_END;
    char *word = reader->argv[reader->at++];
    if (!reader->ended && strcmp(word, "--") == 0) {
        reader->ended = true;
        return flags_next(reader);
    }
    if (!reader->ended && strncmp(word, "--", 2) == 0)
        return take_name(reader, word);
    reader->letters = word + 1;
    if (!reader->ended && has_letters(reader, word))
        return take_letter(reader);
    reader->letters = NULL;
    reader->value = word;
    reader->after_word = true;
    return FLAG_WORD;
}
