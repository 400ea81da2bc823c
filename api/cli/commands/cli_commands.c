/* The commands of the command line: help, completion, manual page and parsing
 * follow this table. */
#include "cli/commands/cli_commands.h"

enum { ALONE, ASKS };

/* clang-format off */
static const struct cli_command COMMANDS[] = {
    {"get", "KEY...", "print the value of an entry", "fields", 1, 1000, cli_get,
     "One key: its value as it is. Several, or -o table or json: whole entries, all\nof one view; exit status 3 when one of them is not there.", ASKS},
    {"set", "KEY [VALUE]", "store a value, print its versionstamp", "type ttl if-match if-absent merge file", 1, 2, cli_set,
     "The value is JSON unless --type says otherwise, and is read from standard input\nor --file when it does not stand there.", ASKS},
    {"del", "KEY... | --prefix KEY", "delete entries", "del-prefix if-match", 0, -1, cli_del,
     "Prints how many of them were there. A key that is not there is no error, as it\nis gone in any case; what is under a key stays, unless --prefix is given.", ASKS},
    {"ls", "[PREFIX]", "list entries", "prefix start end index fields limit reverse keys", 0, 1, cli_ls,
     "-o raw prints keys alone, in the form that get takes.", ASKS},
    {"tree", "[PREFIX]", "show keys as a tree of their parts", "prefix start end tree-depth", 0, 1, cli_tree, "With --depth the number of entries below stands behind the last part shown.", ASKS},
    {"count", "[PREFIX]", "count entries", "prefix start end index", 0, 1, cli_count, NULL, ASKS},
    {"watch", "KEY... | --prefix KEY", "print entries, and again whenever they change", "prefix limit", 0, 10, cli_watch,
     "With --limit it ends after so many lines. Under a prefix entries are printed\nonly when they change.", ASKS},
    {"atomic", "[DOCUMENT]", "commit checks and mutations together", "file dry-run", 0, 1, cli_atomic,
     "The document is that of POST /atomic: {\"checks\":[...],\"mutations\":[...]}.", ASKS},
    {"explain", "[QUESTION]", "find the index that answers a question", "file", 0, 1, cli_explain,
     "The question is that of POST /explain: {\"prefix\":[...],\"where\":[...]}.", ASKS},
    {"index add", "NAME PREFIX FIELD...", "declare an index", "unique store missing where fold each depth adopt dry-run paused wait file", 0, -1, cli_index_add,
     "A field is a member of the value (email, /address/city) or key:N, the N-th part\nof the key after the prefix. Declaring the same again does nothing.", ASKS},
    {"index ls", "", "list the indexes with their states", "", 0, 0, cli_index_ls, NULL, ASKS},
    {"index show", "NAME", "show one index", "", 1, 1, cli_index_show, NULL, ASKS},
    {"index get", "NAME VALUE", "print the entry that a unique index has for a value", "fields", 2, 2, cli_index_get, NULL, ASKS},
    {"index watch", "NAME", "show how far an index is until it has settled", "", 1, 1, cli_index_watch,
     "Exit status 0 when it is ready, 4 when it is conflicted, 3 when it is dropped.", ASKS},
    {"index conflicts", "NAME", "list entries with the same value in a unique index", "", 1, 1, cli_index_conflicts, "Exit status 4 when there are any.", ASKS},
    {"index migrate", "NAME", "change what an index stores while it is read", "store unique not-unique undo wait", 1, 1, cli_index_migrate, NULL, ASKS},
    {"index verify", "NAME", "compare an index with its entries", "repair", 1, 1, cli_index_verify,
     "Beside all other work. Exit status 0 when the index is right or was mended, 4\nwhen it is not.", ASKS},
    {"index pause", "NAME", "let the build of an index rest", "", 1, 1, cli_index_pause, NULL, ASKS},
    {"index resume", "NAME", "let the build of an index go on", "", 1, 1, cli_index_resume, NULL, ASKS},
    {"index throttle", "NAME N", "let the build of an index read N entries a second", "", 2, 2, cli_index_throttle, "N is null for no limit.", ASKS},
    {"index rm", "NAME", "drop an index", "", 1, 1, cli_index_rm, NULL, ASKS},
    {"import", "[FILE]", "store entries, one a line (NDJSON)", "import-prefix overwrite dry-run from-key state deno batch jobs file", 0, 1, cli_import,
     "The lines are those of export and of GET /list. Entries that are there stay,\nunless --overwrite is given; so of lines with one key the first wins, or else\nthe last. With --state an import that broke off goes on.", ASKS},
    {"export", "[PREFIX]", "print entries, one a line (NDJSON)", "prefix start end from-key reverse limit deno all out", 0, 1, cli_export,
     "Entries of declared indexes are left out: the declarations bring them back. A\nfile has its name when it is whole; what came before a break is in FILE.part, and\n--from-key goes on there, in another file.", ASKS},
    {"backup", "[FILE]", "write a backup of the running server", "out", 0, 1, cli_backup,
     "The file is there only when it is complete and its checksums are right. Without\na name it goes to standard output, which must not be a terminal.", ASKS},
    {"restore", "[FILE]", "make a data directory from a backup or an archive", "data archive to", 0, 1, cli_restore,
     "Every checksum and every index is looked at. --to, with --archive, restores what\nwas there at a versionstamp or a time; nothing later is in it. FILE may be - for\nstandard input. What root restores belongs to the owner of the directory, if\nit was there.", ALONE},
    {"token create", "NAME GRANT...", "make an access token and print it, this once", "ttl", 2, -1, cli_token_create,
     "A grant is SCOPES:PREFIX, such as read,list:users or all: (for all keys). Scopes:\nread, write, list, watch, index, admin, monitor. The first must be all.", ASKS},
    {"token ls", "", "list the access tokens", "", 0, 0, cli_token_ls, NULL, ASKS},
    {"token show", "ID", "show one access token", "", 1, 1, cli_token_show, NULL, ASKS},
    {"token revoke", "ID", "make an access token worthless, at once", "", 1, 1, cli_token_revoke, NULL, ASKS},
    {"token generate", "", "print a new token for the file of serve --token-file", "", 0, 0, cli_token_generate, NULL, ALONE},
    {"doctor", "", "look whether the server and its indexes are well", "", 0, 0, cli_doctor, NULL, ASKS},
    {"ready", "", "ask whether the server takes requests", "", 0, 0, cli_ready, "For health checks: exit status 0 when it does, 5 when it does not.", ASKS},
    {"bench", "[PREFIX]", "measure how fast the server answers", "clients seconds requests reads size", 0, 1, cli_bench,
     "Reads and writes 1000 entries under the prefix (kindex-bench), where nothing may\nbe before, and removes them. Times in milliseconds.", ASKS},
    {"top", "", "show what the server is doing", "once every", 0, 0, cli_top,
     "Requests, latencies, batches of the writer, caches, indexes; on a terminal\ndrawn again and again. Otherwise, or with --once: all since the server's start.", ASKS},
    {"completion", "bash|zsh", "print a script that completes commands and options", "", 1, 1, cli_completion, "For bash: source <(kindex completion bash)", ALONE},
    {"man", "", "print the manual page kindex(1)", "", 0, 0, cli_man, NULL, ALONE},
    {"version", "", "print the version", "", 0, 0, cli_version, NULL, ALONE},
    {"help", "[COMMAND]", "tell more of a command", "", 0, 2, cli_help, NULL, ALONE},
};
/* clang-format on */

const struct cli_table *cli_commands(void)
{
    static const struct cli_table table = {
        .commands = COMMANDS, .count = sizeof COMMANDS / sizeof *COMMANDS};
    return &table;
}
