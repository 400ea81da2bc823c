/* The table of options, and reading them from environment and command line.
 * Each source overwrites the one before: default, environment, flag.
 * options_parse.c reads the text of one option; options_print.c shows the
 * table. */
#include "config/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/flags.h"

enum {
    KI = 1024,
    MI = 1024 * 1024,
    SECOND_MS = 1000,
    DAY_MS = 24 * 3600 * 1000
};

static const struct option_row TABLE[] = {
    {"data", OPTION_TEXT, offsetof(struct options, data), "./kindex-data", 0, 0,
     "data directory; made when missing, with its parents"},
    {"listen", OPTION_ADDRESSES, offsetof(struct options, listen),
     "localhost:4512", 0, 0,
     "address and port, several times or several with commas; a port alone is "
     "that of both loopback addresses, of which those that the machine lacks "
     "are left out; port 0 takes a free one"},
    {"insecure", OPTION_FLAG, offsetof(struct options, insecure), "0", 0, 0,
     "let everybody in, also where other machines reach --listen, as long as "
     "there are no access tokens"},
    {"token-file", OPTION_TEXT, offsetof(struct options, token_file), NULL, 0,
     0,
     "file with an access token that may do everything; made, with a new "
     "token, when it is missing"},
    {"token-rate", OPTION_NUMBER, offsetof(struct options, token_rate),
     "600000", 1, 1000000000, "requests a minute with one access token"},
    {"token-streams", OPTION_NUMBER, offsetof(struct options, token_streams),
     "1000", 1, 1000000,
     "watches and other streams at a time with one access token"},
    {"host-names", OPTION_LIST, offsetof(struct options, host_names), NULL, 0,
     0,
     "names, with commas, by which clients address the server; on loopback "
     "addresses alone no others are let in but localhost and addresses"},
    {"cors-origin", OPTION_ORIGINS, offsetof(struct options, cors_origin), NULL,
     0, 0,
     "sites, with commas, whose pages may use the service, such as "
     "https://app.example.org"},
    {"tls-cert", OPTION_TEXT, offsetof(struct options, tls_cert), NULL, 0, 0,
     "serve HTTPS: file with the certificate and those it needs (PEM)"},
    {"tls-key", OPTION_TEXT, offsetof(struct options, tls_key), NULL, 0, 0,
     "file with the certificate's private key (PEM)"},
    {"tls-client-ca", OPTION_TEXT, offsetof(struct options, tls_client_ca),
     NULL, 0, 0,
     "accept only clients with a certificate of these authorities (PEM)"},
    {"loops", OPTION_NUMBER, offsetof(struct options, loops), "1", 1, 64,
     "event-loop threads"},
    {"connections-max", OPTION_NUMBER,
     offsetof(struct options, connections_max), "4096", 1, 1000000,
     "open connections; further ones are answered 503"},
    {"connections-per-address", OPTION_NUMBER,
     offsetof(struct options, connections_per_address), "1024", 1, 1000000,
     "open connections from one address"},
    {"streams-max", OPTION_NUMBER, offsetof(struct options, streams_max),
     "1000", 1, 100000, "requests at a time on one HTTP/2 connection"},
    {"requests-max", OPTION_NUMBER, offsetof(struct options, requests_max),
     "16384", 1, 10000000,
     "requests at a time in all; further HTTP/2 streams are refused"},
    {"idle-timeout", OPTION_DURATION, offsetof(struct options, idle_timeout_ms),
     "60s", SECOND_MS, DAY_MS, "a silent connection is closed after this"},
    {"header-timeout", OPTION_DURATION,
     offsetof(struct options, header_timeout_ms), "10s", 100, DAY_MS,
     "a TLS handshake, and the headers of a request, must be there after this"},
    {"body-timeout", OPTION_DURATION, offsetof(struct options, body_timeout_ms),
     "60s", 100, DAY_MS, "the body of a request must be there after this"},
    {"headers-max", OPTION_SIZE, offsetof(struct options, headers_max), "11KiB",
     2 * KI, 60 * KI, "request line and headers"},
    {"header-count-max", OPTION_NUMBER,
     offsetof(struct options, header_count_max), "64", 8, 1000,
     "headers of a request"},
    {"cache", OPTION_SIZE, offsetof(struct options, cache), "256MiB", MI,
     1ull << 42,
     "memory for pages of the tree and for single records, half each"},
    {"value-max", OPTION_SIZE, offsetof(struct options, value_max), "1MiB", 1,
     64 * MI, "largest value"},
    {"body-max", OPTION_SIZE, offsetof(struct options, body_max), "8MiB", KI,
     1024 * MI, "largest body of the other requests, such as POST /atomic"},
    {"bodies-max", OPTION_SIZE, offsetof(struct options, bodies_max), "256MiB",
     MI, 1024 * 1024 * (uint64_t)MI,
     "memory for the bodies of all requests and replies; while it is taken, "
     "large ones are refused and lists wait"},
    {"queue-max", OPTION_NUMBER, offsetof(struct options, queue_max), "4096", 1,
     1000000, "commits that may wait; further ones are answered 503"},
    {"checkpoint-interval", OPTION_DURATION,
     offsetof(struct options, checkpoint_interval_ms), "30s", SECOND_MS, DAY_MS,
     "a checkpoint is written after this time"},
    {"checkpoint-log", OPTION_SIZE, offsetof(struct options, checkpoint_log),
     "128MiB", MI, 2048ull * MI,
     "a checkpoint is also written after this much of the log"},
    {"disk-floor", OPTION_SIZE, offsetof(struct options, disk_floor), "128MiB",
     0, 1ull << 42,
     "with less free space than this the disk counts as full: no more writes"},
    {"archive", OPTION_TEXT, offsetof(struct options, archive), NULL, 0, 0,
     "directory to copy the log to as it is written, with backups; a damaged "
     "data directory is restored from there"},
    {"archive-interval", OPTION_DURATION,
     offsetof(struct options, archive_interval_ms), "24h", SECOND_MS,
     366ull * DAY_MS, "time between the archive's backups"},
    {"archive-keep", OPTION_NUMBER, offsetof(struct options, archive_keep), "7",
     1, 1000, "backups that stay in the archive"},
    {"log-level", OPTION_LEVEL, offsetof(struct options, log_level), "info", 0,
     0, "error, warning, info or debug"},
    {"access-log", OPTION_FLAG, offsetof(struct options, access_log), "0", 0, 0,
     "log a line for every request"},
    {"slow-ms", OPTION_NUMBER, offsetof(struct options, slow_ms), "500", 0,
     DAY_MS,
     "requests that take so many milliseconds are logged and shown by GET "
     "/slow; 0: all"},
    {"port-file", OPTION_TEXT, offsetof(struct options, port_file), NULL, 0, 0,
     "file to write the port to when the server is ready"},
    {"help", OPTION_ACTION, offsetof(struct options, help), NULL, 0, 0,
     "print this"},
    {"print-config", OPTION_ACTION, offsetof(struct options, print_config),
     NULL, 0, 0, "print every setting and where it comes from"},
    {"print-routes", OPTION_ACTION, offsetof(struct options, print_routes),
     NULL, 0, 0, "print method, path and operation of every route"},
    {"print-problems", OPTION_ACTION, offsetof(struct options, print_problems),
     NULL, 0, 0, "print HTTP status and code of every problem"},
};

enum { ROWS = sizeof TABLE / sizeof *TABLE };
_Static_assert((int)ROWS <= (int)OPTIONS_MAX,
               "struct options has room for every row");

const struct option_row *options_table(size_t *count_out)
{
    *count_out = ROWS;
    return TABLE;
}

/* Before the first address of a source: drops the addresses of the sources of
 * lower rank. */
static void begin_row(struct options *options, size_t row,
                      enum option_source source)
{
    if (TABLE[row].type == OPTION_ADDRESSES && options->sources[row] != source)
        *(struct addresses *)((char *)options + TABLE[row].offset) =
            (struct addresses){.count = 0};
}

/* Reads one option. An error names the variable or the flag, as the user wrote
 * it. */
static bool set(struct options *options, size_t row, const char *text,
                enum option_source source)
{
    char expected[OPTION_EXPECTED_MAX];
    begin_row(options, row, source);
    if (!option_parse(&TABLE[row], text, options, expected, sizeof expected)) {
        char name[64] = "";
        if (source == FROM_ENVIRONMENT)
            option_variable(&TABLE[row], name, sizeof name);
        else
            snprintf(name, sizeof name, "--%s", TABLE[row].name);
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
    for (size_t row = 0; row < ROWS; row++) {
        char name[64];
        option_variable(&TABLE[row], name, sizeof name);
        const char *text =
            TABLE[row].type == OPTION_ACTION ? NULL : getenv(name);
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

static void list_flags(struct flag *flags)
{
    for (size_t row = 0; row < ROWS; row++)
        flags[row] = (struct flag){.name = TABLE[row].name,
                                   .value = !takes_no_value(&TABLE[row])};
}

/* Sets an option; anything else that was found is an error. */
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
        return mistake("stray argument", reader->value);
    case FLAG_OPTION:
    case FLAG_END:
        break;
    }
    return set(options, reader->which,
               reader->value != NULL ? reader->value : "1", FROM_FLAG);
}

static bool read_flags(struct options *options, int argc, char **argv)
{
    struct flag flags[ROWS];
    struct flag_reader reader = {
        .flags = flags, .count = ROWS, .argc = argc, .argv = argv, .at = 1};
    enum flag_kind found;
    list_flags(flags);
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
    if (missing != NULL)
        fprintf(stderr, "kindex: %s\n", missing);
    return missing == NULL;
}

bool options_read(struct options *options, int argc, char **argv)
{
    *options = (struct options){0};
    for (size_t row = 0; row < ROWS; row++)
        if (TABLE[row].initial != NULL &&
            !set(options, row, TABLE[row].initial, FROM_DEFAULT))
            return false;
    return read_environment(options) && read_flags(options, argc, argv) &&
           agree_on_tls(options);
}
