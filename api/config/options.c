/* Reads the options from environment and command line. A later source overrides
 * an earlier one: default, environment, flag. options_parse.c reads the text of
 * one option; options_print.c shows the table. */
#include "config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/flags.h"

/* A row of the table; NULL after the last. */
static const struct option_row *row_at(size_t row)
{
    size_t count;
    const struct option_row *table = options_table(&count);
    return row < count ? &table[row] : NULL;
}

/* Called before the first address of a source; drops the addresses of sources
 * of lower rank. */
static void begin_row(struct options *options, size_t row,
                      enum option_source source)
{
    const struct option_row *option = row_at(row);
    if (option->type == OPTION_ADDRESSES && options->sources[row] != source)
        *(struct addresses *)((char *)options + option->offset) =
            (struct addresses){.count = 0};
}

/* Reads one option. An error names the variable or the flag, as the user wrote
 * it. */
static bool set(struct options *options, size_t row, const char *text,
                enum option_source source)
{
    const struct option_row *option = row_at(row);
    char expected[OPTION_EXPECTED_MAX];
    begin_row(options, row, source);
    if (!option_parse(option, text, options, expected, sizeof expected)) {
        char name[64] = "";
        if (source == FROM_ENVIRONMENT)
            option_variable(option, name, sizeof name);
        else
            snprintf(name, sizeof name, "--%s", option->name);
        fprintf(stderr, "kindex: %s: \"%s\" is not %s\n", name, text, expected);
        return false;
    }
    options->texts[row] = text;
    options->sources[row] = source;
    return true;
}

/* Reads the variables. Actions such as --help have none. */
static bool read_environment(struct options *options)
{
    const struct option_row *option;
    for (size_t row = 0; (option = row_at(row)) != NULL; row++) {
        char name[64];
        option_variable(option, name, sizeof name);
        const char *text = option->type == OPTION_ACTION ? NULL : getenv(name);
        if (text != NULL && !set(options, row, text, FROM_ENVIRONMENT))
            return false;
    }
    return true;
}

static bool takes_no_value(const struct option_row *row)
{
    return row->type == OPTION_FLAG || row->type == OPTION_ACTION;
}

static bool mistake(const char *what, const char *argument)
{
    fprintf(stderr, "kindex: %s %s; kindex serve --help lists the options\n",
            what, argument);
    return false;
}

static bool unknown(const struct flag_reader *reader)
{
    char option[sizeof reader->said + sizeof reader->meant];
    snprintf(option, sizeof option, "%s%s", reader->said, reader->meant);
    return mistake("unknown option", option);
}

/* Returns the number of flags. */
static size_t list_flags(struct flag *flags)
{
    const struct option_row *option;
    size_t row = 0;
    for (; (option = row_at(row)) != NULL; row++)
        flags[row] = (struct flag){.name = option->name,
                                   .value = !takes_no_value(option)};
    return row;
}

/* Sets an option. Prints an error and returns false if reader found anything
 * else. */
static bool take_flag(struct options *options, const struct flag_reader *reader,
                      enum flag_kind found)
{
    switch (found) {
    case FLAG_UNKNOWN:
        return unknown(reader);
    case FLAG_BARE:
        return mistake("a value is missing after", reader->said);
    case FLAG_SUPERFLUOUS:
        return mistake("no value belongs to", reader->said);
    case FLAG_WORD:
        return mistake("unexpected argument", reader->value);
    case FLAG_OPTION:
    case FLAG_END:
        break;
    }
    return set(options, reader->which,
               reader->value != NULL ? reader->value : "1", FROM_FLAG);
}

static bool read_flags(struct options *options, int argc, char **argv)
{
    struct flag flags[OPTIONS_MAX];
    struct flag_reader reader = {.flags = flags,
                                 .count = list_flags(flags),
                                 .argc = argc,
                                 .argv = argv,
                                 .at = 1};
    enum flag_kind found;
    while ((found = flags_next(&reader)) != FLAG_END)
        if (!take_flag(options, &reader, found))
            return false;
    return true;
}

static bool agree_on_tls(const struct options *options)
{
    const char *missing = NULL;
    if (options->tls_cert == NULL && options->tls_key != NULL)
        missing = "--tls-key needs --tls-cert";
    else if (options->tls_cert != NULL && options->tls_key == NULL)
        missing = "--tls-cert needs --tls-key";
    else if (options->tls_client_ca != NULL && options->tls_cert == NULL)
        missing = "--tls-client-ca needs --tls-cert and --tls-key";
    else if (options->tls_client_crl != NULL && options->tls_client_ca == NULL)
        missing = "--tls-client-crl needs --tls-client-ca";
    if (missing != NULL)
        fprintf(stderr, "kindex: %s\n", missing);
    return missing == NULL;
}

/* What is wrong with the place of the keys, or NULL. */
static const char *wrong_keys(const struct options *options)
{
    const char *keys = options->jwt_keys;
    if (strncmp(keys, "https://", 8) == 0)
        return NULL;
    if (strstr(keys, "://") != NULL)
        return "--jwt-keys takes a file or an https:// address";
    return options->jwt_ca != NULL
               ? "--jwt-ca is for keys from an https:// address"
               : NULL;
}

/* A token's issuer and audience are always checked, and what it grants must be
 * stated. */
static bool agree_on_identities(const struct options *options)
{
    const char *keys = options->jwt_keys;
    const char *needed[] = {options->grants, options->jwt_issuer,
                            options->jwt_audience};
    const char *wrong = NULL;
    size_t given = 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        given += needed[i] != NULL;
    if (keys != NULL && given < sizeof needed / sizeof *needed)
        wrong = "--jwt-keys needs --jwt-issuer, --jwt-audience and --grants";
    else if (keys == NULL && given > (options->grants != NULL))
        wrong = "--jwt-issuer and --jwt-audience need --jwt-keys";
    else if (keys == NULL && options->jwt_ca != NULL)
        wrong = "--jwt-ca needs --jwt-keys";
    else if (given == 1 && options->tls_client_ca == NULL)
        wrong = "--grants needs --jwt-keys or --tls-client-ca";
    else if (keys != NULL)
        wrong = wrong_keys(options);
    if (wrong != NULL)
        fprintf(stderr, "kindex: %s\n", wrong);
    return wrong == NULL;
}

/* Checks the options of a database, including those that a database replaces.
 */
static bool agree_on_engine(const struct options *options)
{
    const char *wrong = NULL;
    if (options->engine == NULL && options->engine_password_file != NULL)
        wrong = "--engine-password-file needs --engine";
    else if (options->engine != NULL &&
             strncmp(options->engine, "postgresql://", 13) != 0 &&
             strncmp(options->engine, "postgres://", 11) != 0)
        wrong = "--engine takes the URL of a database, such as "
                "postgresql://kindex@localhost/kindex";
    else if (options->engine != NULL && options->archive != NULL)
        wrong = "--archive is for a data directory; with --engine the database "
                "is archived with its own tools";
    if (wrong != NULL)
        fprintf(stderr, "kindex: %s\n", wrong);
    return wrong == NULL;
}

/* Returns why the options of a standby do not fit together, or NULL. */
static const char *follow_conflict(const struct options *options)
{
    if (options->follow == NULL)
        return options->primary != NULL ? "--primary needs --follow" : NULL;
    if (options->archive != NULL)
        return "--archive is for a server; a standby with --follow writes no "
               "archive";
    return options->engine != NULL
               ? "--follow is for a data directory; with --engine the nodes "
                 "share a database"
               : NULL;
}

static bool agree_on_archive(const struct options *options)
{
    const char *wrong = follow_conflict(options);
    if (options->followed && options->archive == NULL)
        wrong = "--followed needs --archive";
    else if (options->archive_sync && !options->followed &&
             options->follow == NULL)
        wrong = "--archive-sync needs --followed";
    if (wrong != NULL)
        fprintf(stderr, "kindex: %s\n", wrong);
    return wrong == NULL;
}

static size_t row_named(const char *name)
{
    size_t row = 0;
    while (strcmp(row_at(row)->name, name) != 0)
        row++;
    return row;
}

/* The name of an option that --ephemeral excludes, or NULL. As a flag,
 * --ephemeral overrides the variable KINDEX_DATA, which images set. */
static const char *ephemeral_conflict(const struct options *options)
{
    if (options->sources[row_named("data")] != FROM_DEFAULT &&
        options->sources[row_named("data")] >=
            options->sources[row_named("ephemeral")])
        return "data";
    return options->engine != NULL    ? "engine"
           : options->archive != NULL ? "archive"
           : options->follow != NULL  ? "follow"
                                      : NULL;
}

/* Replaces the defaults of --data and --listen if --ephemeral is given. */
static bool apply_ephemeral(struct options *options)
{
    const size_t listen = row_named("listen");
    if (!options->ephemeral)
        return true;
    const char *conflict = ephemeral_conflict(options);
    if (conflict != NULL) {
        fprintf(stderr, "kindex: --ephemeral and --%s exclude each other\n",
                conflict);
        return false;
    }
    options->data = NULL;
    options->texts[row_named("data")] = NULL;
    options->sources[row_named("data")] = FROM_DEFAULT;
    if (options->sources[listen] != FROM_DEFAULT)
        return true;
    options->listen = (struct addresses){.count = 0};
    return set(options, listen, "127.0.0.1:0", FROM_DEFAULT);
}

bool options_read(struct options *options, int argc, char **argv)
{
    const struct option_row *option;
    *options = (struct options){0};
    for (size_t row = 0; (option = row_at(row)) != NULL; row++)
        if (option->initial != NULL &&
            !set(options, row, option->initial, FROM_DEFAULT))
            return false;
    return read_environment(options) && read_flags(options, argc, argv) &&
           agree_on_tls(options) && agree_on_identities(options) &&
           agree_on_engine(options) && agree_on_archive(options) &&
           apply_ephemeral(options);
}
