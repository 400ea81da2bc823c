/* The commands of the command line: help, completion, manual page and parsing
 * follow this table. */
#include "cli/commands/cli_commands.h"

enum { ALONE, ASKS };

/* clang-format off */
static const struct cli_command COMMANDS[] = {
    {"get", "KEY...", "print the value of an entry", "fields", 1, 1000, cli_get,
     "With one key, prints its value unchanged. With several, or -o table or json,\nprints whole entries, all of one view; exit status 3 if one is missing.", ASKS},
    {"set", "KEY [VALUE]", "store a value, print its versionstamp", "type entry-ttl if-match if-absent merge file", 1, 2, cli_set,
     "The value is JSON unless --type says otherwise. Without VALUE it is read from\nstandard input or --file.", ASKS},
    {"patch", "KEY [PATCH] | --prefix KEY [PATCH]", "change parts of a JSON value, print its versionstamp", "ops entry-ttl if-match if-absent file patch-prefix start end index dry-run", 0, 2, cli_patch,
     "The patch is a JSON merge patch: members replace members, null removes one.\nWith --ops it is a list such as [{\"op\":\"sum\",\"path\":\"/n\",\"value\":1}]: the\noperations of RFC 6902, set, append, include, exclude and sum. Without an entry\none is stored. Without PATCH it is read from standard input or --file. With\n--prefix or --index all entries there are patched, up to 1000 in a commit, and\ntheir number is printed.", ASKS},
    {"touch", "KEY", "change when an entry ends, not its value", "entry-ttl if-match", 1, 1, cli_touch,
     "Prints the new versionstamp. Exit status 3 if there is no entry.", ASKS},
    {"sum", "KEY [NUMBER]", "add to a number, print what it is then", "min max out ttl ttl-of", 1, 2, cli_sum,
     "Without NUMBER it adds 1; without an entry it begins at 0. A number below 0 comes\nafter --. Exit status 4 if the sum would leave its bounds.", ASKS},
    {"del", "KEY... | --prefix KEY", "delete entries", "del-prefix start end index if-match", 0, -1, cli_del,
     "Prints how many entries were deleted. A key without an entry is not an error.\nEntries under a key stay, unless --prefix is given. With --index those are deleted\nthat have values of the index: --prefix, or --start and --end, gives them.", ASKS},
    {"ls", "[PREFIX]", "list entries", "prefix start end index in order where fields preview share limit reverse keys", 0, 1, cli_ls,
     "-o raw prints only the keys, in the form that get takes.", ASKS},
    {"tree", "[PREFIX]", "show keys as a tree of their parts", "prefix start end tree-index tree-depth", 0, 1, cli_tree,
     "With --depth the last part shown is followed by the number of entries below it,\nwith ~ where it is estimated. Then not all keys are read.", ASKS},
    {"count", "[PREFIX]", "count entries", "prefix start end index estimate", 0, 1, cli_count,
     "With --estimate a number that was not counted has ~ in front.", ASKS},
    {"watch", "KEY... | --prefix KEY", "print entries, and again whenever they change", "prefix limit", 0, 10, cli_watch,
     "With --limit it ends after that many lines. With --prefix, entries are printed\nonly when they change.", ASKS},
    {"atomic", "[DOCUMENT]", "commit checks and mutations together", "file dry-run", 0, 1, cli_atomic,
     "The document is the body of POST /atomic: {\"checks\":[...],\"mutations\":[...]}.", ASKS},
    {"explain", "[QUESTION]", "find the index that answers a query", "file", 0, 1, cli_explain,
     "The query is the body of POST /explain: {\"prefix\":[...],\"where\":[...]}.", ASKS},
    {"index add", "NAME PREFIX FIELD...", "declare an index", "unique store missing where fold each depth adopt dry-run paused wait file", 0, -1, cli_index_add,
     "A field is a member of the value (email, /address/city) or key:N, the N-th part\nof the key after the prefix. Declaring the same index again does nothing.", ASKS},
    {"index ls", "", "list the indexes with their states", "", 0, 0, cli_index_ls, NULL, ASKS},
    {"index show", "NAME", "show one index", "", 1, 1, cli_index_show, NULL, ASKS},
    {"index get", "NAME VALUE", "print the entry that a unique index has for a value", "fields", 2, 2, cli_index_get, NULL, ASKS},
    {"index watch", "[NAME]", "show the progress of an index until it has settled", "limit", 0, 1, cli_index_watch,
     "Without NAME it shows all indexes, and each again when it changes; with --limit it\nends after that many lines. Exit status 0 if it is ready, 4 if it is conflicted, 3 if it was dropped.", ASKS},
    {"index conflicts", "NAME", "list entries with the same value in a unique index", "", 1, 1, cli_index_conflicts, "Exit status 4 if there are any.", ASKS},
    {"index migrate", "NAME", "change what an index stores, while it stays readable", "store unique not-unique undo wait", 1, 1, cli_index_migrate, NULL, ASKS},
    {"index verify", "NAME", "compare an index with its entries", "repair", 1, 1, cli_index_verify,
     "Runs beside all other work. Exit status 0 if the index is correct or was\nrepaired, otherwise 4.", ASKS},
    {"index pause", "NAME", "pause the build of an index", "", 1, 1, cli_index_pause, NULL, ASKS},
    {"index resume", "NAME", "resume the build of an index", "", 1, 1, cli_index_resume, NULL, ASKS},
    {"index throttle", "NAME N", "limit the build of an index to N entries per second", "", 2, 2, cli_index_throttle, "N is null to remove the limit.", ASKS},
    {"index rm", "NAME", "drop an index", "", 1, 1, cli_index_rm, NULL, ASKS},
    {"import", "[FILE]", "store entries, one per line (NDJSON)", "import-prefix overwrite dry-run from-key state deno batch jobs file", 0, 1, cli_import,
     "The lines have the format of export and of GET /list. Existing entries stay,\nunless --overwrite is given; so of several lines with one key the first is\nstored, or with --overwrite the last. With --state an interrupted import\ncontinues.", ASKS},
    {"export", "[PREFIX]", "print entries, one per line (NDJSON)", "prefix start end from-key reverse limit deno all out", 0, 1, cli_export,
     "Entries of declared indexes are left out: the declarations create them again. A\nfile gets its name when it is complete. An interrupted export leaves FILE.part;\n--from-key continues it in another file.", ASKS},
    {"backup", "[FILE]", "write a backup of the running server", "out", 0, 1, cli_backup,
     "The file is created only when it is complete and its checksums are correct.\nWithout a name it goes to standard output, which must not be a terminal.", ASKS},
    {"restore", "[FILE]", "create a data directory from a backup or an archive", "data archive to", 0, 1, cli_restore,
     "Verifies every checksum and every index. --to, with --archive, restores the\nstate at a versionstamp or a time, without later commits. FILE may be - for\nstandard input. Files that root restores belong to the owner of the directory,\nif it existed.", ALONE},
    {"engine copy", "", "copy a store from a data directory to a database, or back", "from copy-to engine-password-file engine-insecure", 0, 0, cli_engine_copy,
     "No server may run on either of them. Everything is copied as it is, with\nversionstamps, indexes and tokens; then every index is verified.", ALONE},
    {"token create", "NAME GRANT...", "create an access token and print it this once", "ttl", 2, -1, cli_token_create,
     "A grant is SCOPES:PREFIX, such as read,list:users, or all: every scope for all\nkeys. Scopes: read, write, list, watch, index, admin, monitor. The first token\nmust have all.", ASKS},
    {"token ls", "", "list the access tokens", "", 0, 0, cli_token_ls, NULL, ASKS},
    {"token show", "ID", "show one access token", "", 1, 1, cli_token_show, NULL, ASKS},
    {"token self", "", "show the token of KINDEX_TOKEN, and whether one is needed", "", 0, 0, cli_token_self, NULL, ASKS},
    {"token revoke", "ID", "revoke an access token at once", "", 1, 1, cli_token_revoke, NULL, ASKS},
    {"token generate", "", "print a new token for the file of serve --token-file", "", 0, 0, cli_token_generate, NULL, ALONE},
    {"doctor", "", "check the state of the server and its indexes", "", 0, 0, cli_doctor, NULL, ASKS},
    {"ready", "", "check whether the server accepts requests", "", 0, 0, cli_ready, "For health checks: exit status 0 if it does, 5 if it does not.", ASKS},
    {"bench", "[PREFIX]", "measure how fast the server answers", "clients seconds requests reads size", 0, 1, cli_bench,
     "Reads and writes 1000 entries under the prefix (kindex-bench), which must be\nempty before, and removes them. Times are in milliseconds.", ASKS},
    {"top", "", "show what the server is doing", "once every", 0, 0, cli_top,
     "Requests, latencies, batches of the writer, caches, indexes; on a terminal\nthey are drawn repeatedly. Otherwise, or with --once: all since the server\nstarted.", ASKS},
    {"history", "[SERIES...]", "show what the server's metrics were", "step last", 0, 24, cli_history,
     "A line for each step. Series: requestsPerSecond, requestP99Ms and so on, as\n-o json names them.", ASKS},
    {"completion", "bash|zsh", "print a script that completes commands and options", "", 1, 1, cli_completion, "For bash: source <(kindex completion bash)", ALONE},
    {"man", "", "print the manual page kindex(1)", "", 0, 0, cli_man, NULL, ALONE},
    {"version", "", "print the version", "", 0, 0, cli_version, NULL, ALONE},
    {"help", "[COMMAND]", "describe a command", "", 0, 2, cli_help, NULL, ALONE},
};
/* clang-format on */

const struct cli_table *cli_commands(void)
{
    static const struct cli_table table = {
        .commands = COMMANDS, .count = sizeof COMMANDS / sizeof *COMMANDS};
    return &table;
}
