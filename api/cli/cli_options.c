/* The table of the commands' options, and their parsing. The values are parsed
 * by options_parse.c, like those of the server's options. */
#include "cli/cli_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/flags.h"

/* clang-format off */
static const struct cli_option TABLE[] = {
    {{"url", OPTION_TEXT, offsetof(struct cli, url), "http://127.0.0.1:4512", 0, 0, "the server; also KINDEX_URL"}, "URL", 0, true, NULL},
    {{"token", OPTION_TEXT, offsetof(struct cli, token), NULL, 0, 0, "access token, sent as Bearer; KINDEX_TOKEN is safer, since other users cannot see it"}, "TOKEN", 0, true, NULL},
    {{"cacert", OPTION_TEXT, offsetof(struct cli, cacert), NULL, 0, 0, "https: file with the authorities to trust instead of the system's (PEM); also KINDEX_CACERT"}, "FILE", 0, true, NULL},
    {{"client-cert", OPTION_TEXT, offsetof(struct cli, client_cert), NULL, 0, 0, "https: certificate to show to the server (PEM); also KINDEX_CLIENT_CERT"}, "FILE", 0, true, NULL},
    {{"client-key", OPTION_TEXT, offsetof(struct cli, client_key), NULL, 0, 0, "https: private key of --client-cert (PEM); also KINDEX_CLIENT_KEY"}, "FILE", 0, true, NULL},
    {{"output", OPTION_TEXT, offsetof(struct cli, output), NULL, 0, 0, "json (one document a line), table, or raw (values, or keys as paths)"}, "json|table|raw", 'o', true, NULL},
    {{"timeout", OPTION_DURATION, offsetof(struct cli, timeout_ms), "60s", 1000, 86400000, "end a request when its answer has been slower than 64 bytes per second for this long, except a watch or a backup; also KINDEX_TIMEOUT"}, "TIME", 0, true, NULL},
    {{"help", OPTION_FLAG, offsetof(struct cli, help), NULL, 0, 0, "print the help of the command"}, NULL, 'h', true, NULL},

    {{"prefix", OPTION_TEXT, offsetof(struct cli, prefix), NULL, 0, 0, "only entries under this key"}, "KEY", 'p', false, NULL},
    {{"prefix", OPTION_TEXT, offsetof(struct cli, prefix), NULL, 0, 0, "delete all entries under this key"}, "KEY", 'p', false, "del-prefix"},
    {{"prefix", OPTION_TEXT, offsetof(struct cli, prefix), NULL, 0, 0, "patch all entries under this key"}, "KEY", 'p', false, "patch-prefix"},
    {{"prefix", OPTION_TEXT, offsetof(struct cli, prefix), NULL, 0, 0, "put this in front of every imported key"}, "KEY", 'p', false, "import-prefix"},
    {{"prefix", OPTION_TEXT, offsetof(struct cli, prefix), NULL, 0, 0, "only jobs with these values of the queue's fields before the time"}, "KEY", 'p', false, "claim-prefix"},
    {{"start", OPTION_TEXT, offsetof(struct cli, start), NULL, 0, 0, "first key, inclusive"}, "KEY", 0, false, NULL},
    {{"end", OPTION_TEXT, offsetof(struct cli, end), NULL, 0, 0, "last key, exclusive"}, "KEY", 0, false, NULL},
    {{"index", OPTION_TEXT, offsetof(struct cli, index), NULL, 0, 0, "in the order of this index; the prefix then selects values of its fields"}, "NAME", 'i', false, NULL},
    {{"index", OPTION_TEXT, offsetof(struct cli, index), NULL, 0, 0, "the tree of this index's values; --depth is 1 if not given"}, "NAME", 'i', false, "tree-index"},
    {{"index", OPTION_TEXT, offsetof(struct cli, index), NULL, 0, 0, "follow this index of changes; the prefix then selects values of the fields before the versionstamp"}, "NAME", 'i', false, "watch-index"},
    {{"since", OPTION_TEXT, offsetof(struct cli, since), NULL, 0, 0, "with --index: only changes after this versionstamp"}, "STAMP", 0, false, NULL},
    {{"in", OPTION_TEXT, offsetof(struct cli, in), NULL, 0, 0, "with --index: only these values of its next field, such as open,paid; write a comma in a value as %2C"}, "LIST", 0, false, NULL},
    {{"order", OPTION_TEXT, offsetof(struct cli, order), NULL, 0, 0, "order of the entries with --in: merge (by the next field) or concat (one value after another, the default)"}, "ORDER", 0, false, NULL},
    {{"fields", OPTION_TEXT, offsetof(struct cli, fields), NULL, 0, 0, "only these members of the values, such as name,/address/city"}, "LIST", 0, false, NULL},
    {{"preview", OPTION_TEXT, offsetof(struct cli, preview), NULL, 0, 0, "show each value's kind, size and first N bytes instead of the value"}, "N", 0, false, NULL},
    {{"share", OPTION_TEXT, offsetof(struct cli, share), NULL, 0, 0, "begin after about this share of the entries, 0 to 1"}, "PART", 0, false, NULL},
    {{"estimate", OPTION_FLAG, offsetof(struct cli, estimate), NULL, 0, 0, "estimate the number without counting every entry"}, NULL, 0, false, NULL},
    {{"limit", OPTION_NUMBER, offsetof(struct cli, limit), NULL, 1, UINT64_MAX, "stop after this many"}, "N", 'n', false, NULL},
    {{"limit", OPTION_NUMBER, offsetof(struct cli, limit), NULL, 1, 1000, "claim at most this many jobs; 1 if not given"}, "N", 'n', false, "claim-limit"},
    {{"wait", OPTION_NUMBER, offsetof(struct cli, wait_seconds), NULL, 0, 60, "wait for a job for at most this many seconds"}, "N", 0, false, "claim-wait"},
    {{"workers", OPTION_NUMBER, offsetof(struct cli, workers), "1", 1, 64, "run this many commands at a time"}, "N", 'w', false, NULL},
    {{"once", OPTION_FLAG, offsetof(struct cli, once), NULL, 0, 0, "end when no job is due"}, NULL, 0, false, "work-once"},
    {{"delay", OPTION_TEXT, offsetof(struct cli, delay), NULL, 0, 0, "the jobs are due again after this time: 250ms, 60s, 5m, 1h"}, "TIME", 0, false, NULL},
    {{"error", OPTION_TEXT, offsetof(struct cli, error), NULL, 0, 0, "why the jobs failed, at most 1024 bytes; the next claim shows it"}, "TEXT", 0, false, NULL},
    {{"reverse", OPTION_FLAG, offsetof(struct cli, reverse), NULL, 0, 0, "from the last to the first"}, NULL, 'r', false, NULL},
    {{"keys", OPTION_FLAG, offsetof(struct cli, keys), NULL, 0, 0, "without the values"}, NULL, 'k', false, NULL},
    {{"leases", OPTION_FLAG, offsetof(struct cli, leases), NULL, 0, 0, "with attempts, lease and last error of jobs"}, NULL, 0, false, NULL},
    {{"depth", OPTION_NUMBER, offsetof(struct cli, depth), NULL, 1, 1000, "show this many parts of the keys"}, "N", 'd', false, "tree-depth"},
    {{"depth", OPTION_NUMBER, offsetof(struct cli, depth), NULL, 1, 1000, "index only keys with this many parts after the prefix"}, "N", 'd', false, NULL},

    {{"type", OPTION_TEXT, offsetof(struct cli, type), "json", 0, 0, "type of the value: json, text (stored as a JSON string), bytes, typed, or a media type"}, "TYPE", 't', false, NULL},
    {{"ttl", OPTION_TEXT, offsetof(struct cli, ttl), NULL, 0, 0, "time to live: 250ms, 60s, 5m, 1h, 7d"}, "TIME", 0, false, NULL},
    {{"ttl", OPTION_TEXT, offsetof(struct cli, ttl), NULL, 0, 0, "time to live: 250ms, 60s, 5m, 1h, 7d; keep: the entry's expiry stays; none: it never expires"}, "TIME", 0, false, "entry-ttl"},
    {{"ttl-of", OPTION_TEXT, offsetof(struct cli, ttl_of), NULL, 0, 0, "which entries get --ttl: always, new (only if this command creates the entry) or keep (an entry that expires keeps its expiry)"}, "WHICH", 0, false, NULL},
    {{"min", OPTION_TEXT, offsetof(struct cli, min), NULL, 0, 0, "the number stays at or above this"}, "NUMBER", 0, false, NULL},
    {{"max", OPTION_TEXT, offsetof(struct cli, max), NULL, 0, 0, "the number stays at or below this"}, "NUMBER", 0, false, NULL},
    {{"out", OPTION_TEXT, offsetof(struct cli, out), NULL, 0, 0, "when the result would be out of bounds: refuse (the default), clamp (store the bound) or skip (keep the number)"}, "HOW", 0, false, NULL},
    {{"if-match", OPTION_TEXT, offsetof(struct cli, if_match), NULL, 0, 0, "only if the entry still has this versionstamp"}, "STAMP", 0, false, NULL},
    {{"if-absent", OPTION_FLAG, offsetof(struct cli, absent), NULL, 0, 0, "only if there is no such entry"}, NULL, 0, false, NULL},
    {{"merge", OPTION_FLAG, offsetof(struct cli, merge), NULL, 0, 0, "the value is a JSON merge patch of the stored value"}, NULL, 'm', false, NULL},
    {{"ops", OPTION_FLAG, offsetof(struct cli, ops), NULL, 0, 0, "the patch is a list of operations (JSON Patch)"}, NULL, 0, false, NULL},
    {{"file", OPTION_TEXT, offsetof(struct cli, file), NULL, 0, 0, "read from this file; - is standard input"}, "PATH", 'f', false, NULL},
    {{"file", OPTION_TEXT, offsetof(struct cli, file), NULL, 0, 0, "write to this file"}, "PATH", 'f', false, "to-file"},
    {{"dry-run", OPTION_FLAG, offsetof(struct cli, dry_run), NULL, 0, 0, "show what would happen, without changing anything"}, NULL, 0, false, NULL},

    {{"plan", OPTION_FLAG, offsetof(struct cli, dry_run), NULL, 0, 0, "show what would change, with size, time and conflicts, without changing anything"}, NULL, 0, false, NULL},
    {{"prune", OPTION_FLAG, offsetof(struct cli, prune), NULL, 0, 0, "drop the indexes that the file does not name"}, NULL, 0, false, NULL},
    {{"wait", OPTION_FLAG, offsetof(struct cli, wait), NULL, 0, 0, "wait until all indexes of the file are ready, and show their progress"}, NULL, 0, false, "wait-all"},

    {{"unique", OPTION_FLAG, offsetof(struct cli, unique), NULL, 0, 0, "no two entries may have the same values in the fields"}, NULL, 'u', false, NULL},
    {{"not-unique", OPTION_FLAG, offsetof(struct cli, not_unique), NULL, 0, 0, "allow entries with the same values in the fields"}, NULL, 0, false, NULL},
    {{"store", OPTION_TEXT, offsetof(struct cli, store), NULL, 0, 0, "what index entries store: pointer, value, or a list of members such as /name,/city"}, "WHAT", 0, false, NULL},
    {{"count", OPTION_FLAG, offsetof(struct cli, counts), NULL, 0, 0, "make an index of totals: the number of entries in each group; the fields, if any, make the groups"}, NULL, 0, false, NULL},
    {{"sum", OPTION_TEXT, offsetof(struct cli, sums), NULL, 0, 0, "make an index of totals with sums of these members, such as total:2,/tax:2; after the colon the number of decimals (0 if not given)"}, "LIST", 0, false, NULL},
    {{"changes", OPTION_FLAG, offsetof(struct cli, changes), NULL, 0, 0, "make an index of changes: after the fields, if any, entries are in the order of their last changes"}, NULL, 0, false, NULL},
    {{"tombstones", OPTION_TEXT, offsetof(struct cli, tombstones), NULL, 0, 0, "with --changes: for how long the index keeps what was removed: 250ms, 60s, 5m, 1h, 7d"}, "TIME", 0, false, NULL},
    {{"missing", OPTION_TEXT, offsetof(struct cli, missing), NULL, 0, 0, "how to treat entries without the fields: skip, error or null"}, "WHAT", 0, false, NULL},
    {{"where", OPTION_TEXT, offsetof(struct cli, where), NULL, 0, 0, "only entries that meet this condition: status=open, several with commas between them, or JSON such as {\"path\":\"/status\",\"in\":[\"open\",\"paid\"]}"}, "WHERE", 'w', false, NULL},
    {{"fold", OPTION_TEXT, offsetof(struct cli, fold), NULL, 0, 0, "ignore case in the fields: lower or casefold"}, "HOW", 0, false, NULL},
    {{"each", OPTION_TEXT, offsetof(struct cli, each), NULL, 0, 0, "this field is an array: an index entry for each element"}, "FIELD", 0, false, NULL},
    {{"adopt", OPTION_FLAG, offsetof(struct cli, adopt), NULL, 0, 0, "take over index entries that an application maintains"}, NULL, 0, false, NULL},
    {{"wait", OPTION_FLAG, offsetof(struct cli, wait), NULL, 0, 0, "wait until the index is ready, and show its progress"}, NULL, 0, false, NULL},
    {{"paused", OPTION_FLAG, offsetof(struct cli, paused), NULL, 0, 0, "declare the index, but do not build it before index resume"}, NULL, 0, false, NULL},
    {{"undo", OPTION_FLAG, offsetof(struct cli, undo), NULL, 0, 0, "undo a migration that is not complete"}, NULL, 0, false, NULL},

    {{"once", OPTION_FLAG, offsetof(struct cli, once), NULL, 0, 0, "print one report on the time since the server's start"}, NULL, 0, false, NULL},
    {{"every", OPTION_DURATION, offsetof(struct cli, every_ms), "2s", 100, 3600000, "time between two reports"}, "TIME", 0, false, NULL},

    {{"step", OPTION_TEXT, offsetof(struct cli, step), NULL, 0, 0, "10s (of the last hour) or 1m (of the last day); 10s if not given"}, "TIME", 0, false, NULL},
    {{"limit", OPTION_NUMBER, offsetof(struct cli, limit), NULL, 1, 1440, "show the last N steps; 20 if not given"}, "N", 'n', false, "last"},

    {{"link", OPTION_FLAG, offsetof(struct cli, link), NULL, 0, 0, "print an address for one download within a minute, without a token"}, NULL, 0, false, NULL},

    {{"overwrite", OPTION_FLAG, offsetof(struct cli, overwrite), NULL, 0, 0, "replace existing entries, which otherwise stay unchanged"}, NULL, 0, false, NULL},
    {{"deno", OPTION_FLAG, offsetof(struct cli, deno), NULL, 0, 0, "use the lines that Deno's kv-utils write and read"}, NULL, 0, false, NULL},
    {{"from-key", OPTION_TEXT, offsetof(struct cli, from_key), NULL, 0, 0, "begin at this key"}, "KEY", 0, false, NULL},
    {{"file", OPTION_TEXT, offsetof(struct cli, file), NULL, 0, 0, "with --index and --state: copy the changes to this file"}, "PATH", 'f', false, "copy-file"},
    {{"state", OPTION_TEXT, offsetof(struct cli, state), NULL, 0, 0, "with --file: file that records the place of the copy; a later run continues there"}, "PATH", 0, false, "copy-state"},
    {{"state", OPTION_TEXT, offsetof(struct cli, state), NULL, 0, 0, "file that records the progress of the import; a later run continues from it"}, "PATH", 0, false, NULL},
    {{"data", OPTION_TEXT, offsetof(struct cli, data), NULL, 0, 0, "data directory to create; it must be new or empty"}, "DIR", 0, false, NULL},
    {{"archive", OPTION_TEXT, offsetof(struct cli, archive), NULL, 0, 0, "directory or s3://BUCKET/PREFIX in which a server with --archive keeps backups and its log"}, "PLACE", 0, false, NULL},
    {{"data", OPTION_TEXT, offsetof(struct cli, data), NULL, 0, 0, "the data directory of a standby that does not run"}, "DIR", 0, false, "standby-data"},
    {{"archive", OPTION_TEXT, offsetof(struct cli, archive), NULL, 0, 0, "with --data: the archive that the standby follows"}, "PLACE", 0, false, "standby-archive"},
    {{"now", OPTION_FLAG, offsetof(struct cli, now), NULL, 0, 0, "do not wait for the lease of the server that was followed: it is known to be dead"}, NULL, 0, false, NULL},
    {{"encrypt-to", OPTION_TEXT, offsetof(struct cli, encrypt_to), NULL, 0, 0, "encrypt the backup for this public key (FILE.pub of keygen); only its secret key can decrypt it"}, "FILE", 0, false, NULL},
    {{"decrypt-with", OPTION_TEXT, offsetof(struct cli, decrypt_with), NULL, 0, 0, "file with the secret key of an encrypted backup"}, "FILE", 0, false, NULL},
    {{"to", OPTION_TEXT, offsetof(struct cli, to), NULL, 0, 0, "restore the state at this versionstamp, or at this time (2026-11-21T17:30:00Z)"}, "POINT", 0, false, NULL},
    {{"from", OPTION_TEXT, offsetof(struct cli, from), NULL, 0, 0, "the store: a data directory, or a database (postgresql://...)"}, "PLACE", 0, false, NULL},
    {{"from", OPTION_TEXT, offsetof(struct cli, from), NULL, 0, 0, "import this Deno KV store instead of lines: an SQLite file of Deno or denokv, also while its program runs, or a KV Connect address (https://..., http on this machine)"}, "STORE", 0, false, "import-from"},
    {{"from", OPTION_TEXT, offsetof(struct cli, from), NULL, 0, 0, "examine this Deno KV store instead of the server's: a file or an address, as import takes them"}, "STORE", 0, false, "discover-from"},
    {{"token-file", OPTION_TEXT, offsetof(struct cli, token_file), NULL, 0, 0, "file whose first line is the access token for the address of --from"}, "FILE", 0, false, NULL},
    {{"finish", OPTION_FLAG, offsetof(struct cli, finish), NULL, 0, 0, "with --from ADDRESS and --state, after the import: store what is newer there, and delete what is gone, of what the import has stored"}, NULL, 0, false, NULL},
    {{"queue-to", OPTION_TEXT, offsetof(struct cli, queue_to), NULL, 0, 0, "with --from FILE: make a job under this key of each queued message: {\"due\":...,\"message\":...}"}, "KEY", 0, false, NULL},
    {{"to", OPTION_TEXT, offsetof(struct cli, copy_to), NULL, 0, 0, "where to make the copy: a database or a directory without a store"}, "PLACE", 0, false, "copy-to"},
    {{"engine", OPTION_TEXT, offsetof(struct cli, engine), NULL, 0, 0, "the database (postgresql://...)"}, "ADDRESS", 0, false, NULL},
    {{"engine-password-file", OPTION_TEXT, offsetof(struct cli, engine_password_file), NULL, 0, 0, "file whose first line is the password of the database"}, "FILE", 0, false, NULL},
    {{"engine-insecure", OPTION_FLAG, offsetof(struct cli, engine_insecure), NULL, 0, 0, "accept a database on another machine without verified TLS"}, NULL, 0, false, NULL},
    {{"all", OPTION_FLAG, offsetof(struct cli, all), NULL, 0, 0, "also export the entries of declared indexes"}, NULL, 'a', false, NULL},
    {{"batch", OPTION_NUMBER, offsetof(struct cli, batch), "1000", 1, 1000, "entries per commit"}, "N", 0, false, NULL},
    {{"jobs", OPTION_NUMBER, offsetof(struct cli, jobs), "4", 1, 64, "concurrent commits"}, "N", 'j', false, NULL},

    {{"repair", OPTION_FLAG, offsetof(struct cli, repair), NULL, 0, 0, "repair missing, dangling and stale index entries"}, NULL, 0, false, NULL},

    {{"clients", OPTION_NUMBER, offsetof(struct cli, clients), "16", 1, 1024, "concurrent requests"}, "N", 0, false, NULL},
    {{"seconds", OPTION_NUMBER, offsetof(struct cli, seconds), "10", 1, 3600, "how long to measure"}, "N", 0, false, NULL},
    {{"requests", OPTION_NUMBER, offsetof(struct cli, requests), NULL, 1, UINT32_MAX, "end after this many requests instead of after --seconds"}, "N", 0, false, NULL},
    {{"reads", OPTION_NUMBER, offsetof(struct cli, reads), "50", 0, 100, "percentage of reads"}, "N", 0, false, NULL},
    {{"size", OPTION_SIZE, offsetof(struct cli, size), "200", 2, 64 << 20, "size of a value in bytes"}, "SIZE", 0, false, NULL},
};
/* clang-format on */

enum { ROWS = sizeof TABLE / sizeof *TABLE };

const struct cli_option *cli_options(size_t *count_out)
{
    *count_out = ROWS;
    return TABLE;
}

bool cli_takes(const struct cli_command *command,
               const struct cli_option *option)
{
    char names[256], name[64];
    snprintf(names, sizeof names, " %s ", command->takes);
    snprintf(name, sizeof name, " %s ",
             option->key != NULL ? option->key : option->row.name);
    if (option->common)
        return command->asks || option->word == NULL;
    return strstr(names, name) != NULL;
}

static bool set(struct cli *cli, const struct cli_option *option,
                const char *text, const char *name)
{
    char expected[OPTION_EXPECTED_MAX];
    if (option_parse(&option->row, text, cli, expected, sizeof expected))
        return true;
    cli_misuse(cli, "%s: \"%s\" is not %s", name, text, expected);
    return false;
}

/* True if an environment variable can set the option. Only common options have
 * one: a variable must not change what a single command does. */
static bool cli_has_variable(const struct cli_option *option)
{
    return option->common && option->word != NULL;
}

/* The value of the option's variable; NULL if it is not set or empty. */
static const char *from_environment(const struct cli_option *option, char *name,
                                    size_t size)
{
    option_variable(&option->row, name, size);
    const char *text = cli_has_variable(option) ? getenv(name) : NULL;
    return text != NULL && *text != '\0' ? text : NULL;
}

static bool read_start(struct cli *cli)
{
    for (size_t i = 0; i < ROWS; i++) {
        char name[64];
        const char *text = from_environment(&TABLE[i], name, sizeof name);
        if (text == NULL)
            text = TABLE[i].row.initial;
        if (text != NULL && !set(cli, &TABLE[i], text, name))
            return false;
    }
    return true;
}

/* The options of the command; `which` has the row of TABLE of each. */
struct command_flags {
    struct flag flags[ROWS];
    size_t which[ROWS];
    size_t count;
};

static void list_flags(const struct cli *cli, struct command_flags *list)
{
    list->count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (!cli_takes(cli->command, &TABLE[i]))
            continue;
        list->flags[list->count] =
            (struct flag){.name = TABLE[i].row.name,
                          .letter = TABLE[i].letter,
                          .value = TABLE[i].word != NULL};
        list->which[list->count++] = i;
    }
}

static bool unknown(const struct cli *cli, const struct flag_reader *reader)
{
    cli_misuse(cli, "unknown option %s%s", reader->said,
               *reader->meant != '\0'
                   ? reader->meant
                   : " (put an argument that begins with - after --)");
    return false;
}

static bool take_option(struct cli *cli, const struct flag_reader *reader,
                        const struct cli_option *option)
{
    char name[64];
    snprintf(name, sizeof name, "--%s", option->row.name);
    return set(cli, option, reader->value != NULL ? reader->value : "1", name);
}

/* Reads the options; other arguments move to the front of argv. */
static bool read_flags(struct cli *cli, int argc, char **argv)
{
    struct command_flags list;
    enum flag_kind found;
    list_flags(cli, &list);
    struct flag_reader reader = {.flags = list.flags,
                                 .count = list.count,
                                 .argc = argc,
                                 .argv = argv,
                                 .at = 1};
    cli->words = argv + 1;
    while ((found = flags_next(&reader)) != FLAG_END) {
        if (found == FLAG_UNKNOWN)
            return unknown(cli, &reader);
        if (found == FLAG_WORD)
            cli->words[cli->count++] = reader.value;
        else if (found != FLAG_OPTION)
            return cli_misuse(cli,
                              found == FLAG_BARE ? "a value is missing after %s"
                                                 : "%s takes no value",
                              reader.said) == CLI_OK;
        else if (!take_option(cli, &reader, &TABLE[list.which[reader.which]]))
            return false;
    }
    return true;
}

static bool read_output(struct cli *cli)
{
    static const char *const NAMES[] = {
        [CLI_JSON] = "json", [CLI_TABLE] = "table", [CLI_RAW] = "raw"};
    if (cli->output == NULL)
        return true;
    for (enum cli_output form = CLI_JSON; form <= CLI_RAW; form++)
        if (strcmp(cli->output, NAMES[form]) == 0)
            cli->form = form;
    if (strcmp(cli->output, "declarations") == 0 &&
        (strcmp(cli->command->name, "index ls") == 0 ||
         strcmp(cli->command->name, "index discover") == 0))
        cli->form = CLI_DECLARATIONS;
    if (cli->form == CLI_DEFAULT)
        cli_misuse(cli, "--output: \"%s\" is not json, table or raw",
                   cli->output);
    return cli->form != CLI_DEFAULT;
}

/* The URL must have no query or fragment, since paths are appended to it. A
 * token must have no line end, which would end the header. */
static bool check_server(const struct cli *cli)
{
    if (strpbrk(cli->url, "?#") != NULL) {
        cli_misuse(cli,
                   "--url: \"%s\" has a ? or #, which are not allowed there",
                   cli->url);
        return false;
    }
    for (const char *at = cli->token; at != NULL && *at != '\0'; at++)
        if (*at <= ' ' || *at > '~') {
            cli_misuse(cli,
                       "--token: a token is printable ASCII without spaces");
            return false;
        }
    return true;
}

bool cli_options_read(struct cli *cli, int argc, char **argv)
{
    const char *plain = getenv("NO_COLOR");
    cli->colour = isatty(STDOUT_FILENO) && (plain == NULL || *plain == '\0');
    return read_start(cli) && read_flags(cli, argc, argv) && read_output(cli) &&
           (!cli->command->asks || check_server(cli));
}

/* ---- Variables that no option reads ------------------------------------- */

enum { VARIABLE_MAX = 64 };
static const char PREFIX[] = "KINDEX_";

static bool is_of(const struct option_row *row, const char *variable)
{
    char name[VARIABLE_MAX];
    option_variable(row, name, sizeof name);
    return strcmp(name, variable) == 0;
}

static bool is_read(const char *variable)
{
    size_t count;
    const struct option_row *rows = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].type != OPTION_ACTION && is_of(&rows[i], variable))
            return true;
    const struct cli_option *options = cli_options(&count);
    for (size_t i = 0; i < count; i++)
        if (cli_has_variable(&options[i]) && is_of(&options[i].row, variable))
            return true;
    return false;
}

/* True for the variables that Kubernetes sets for a service named kindex
 * (KINDEX_SERVICE_HOST, KINDEX_PORT_80_TCP). */
static bool is_of_kubernetes(const char *variable, const char *value)
{
    const char *port = strstr(variable, "_PORT_");
    return strstr(variable, "_SERVICE_") != NULL ||
           (port != NULL && isdigit((unsigned char)port[6])) ||
           strncmp(value, "tcp://", 6) == 0 || strncmp(value, "udp://", 6) == 0;
}

/* Returns the option of either table that was probably meant, such as
 * "idle-timeout" for KINDEX_IDEL_TIMEOUT. */
static struct kx_slice find_meant(struct kx_slice name)
{
    size_t count;
    struct suggestion suggestion = suggestion_of(name, flags_synonyms());
    const struct option_row *rows = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].type != OPTION_ACTION)
            suggestion_offer(&suggestion, kx_text(rows[i].name));
    const struct cli_option *options = cli_options(&count);
    for (size_t i = 0; i < count; i++)
        if (cli_has_variable(&options[i]))
            suggestion_offer(&suggestion, kx_text(options[i].row.name));
    return suggestion.name;
}

static void warn_of(const char *variable)
{
    char name[VARIABLE_MAX], meant[VARIABLE_MAX];
    snprintf(name, sizeof name, "%s", variable + sizeof PREFIX - 1);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    struct kx_slice option = find_meant(kx_text(name));
    snprintf(name, sizeof name, "%.*s", (int)option.size,
             (const char *)option.data);
    option_variable(&(struct option_row){.name = name}, meant, sizeof meant);
    cli_fail("warning: no option reads the variable %s%s%s%s", variable,
             option.size > 0 ? " (did you mean " : "",
             option.size > 0 ? meant : "", option.size > 0 ? "?)" : "");
}

void variables_check(void)
{
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        char variable[VARIABLE_MAX];
        const char *equals = strchr(*at, '=');
        if (equals == NULL || strncmp(*at, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        snprintf(variable, sizeof variable, "%.*s", (int)(equals - *at), *at);
        if (!is_read(variable) && !is_of_kubernetes(variable, equals + 1))
            warn_of(variable);
    }
}
