/* The command line: what a person types, spoken to a server over HTTP. Each
 * command has a row in cli_commands.c, each option one in cli_options.c; help,
 * completion and the manual page are made of these two tables.
 *
 * A command returns its exit status. One thread; what is allocated lives under
 * cli->memory and ends with the program. */
#ifndef API_CLI_H
#define API_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit statuses, which scripts rely on. */
enum cli_exit {
    CLI_OK,
    CLI_ERROR,
    CLI_MISUSE,
    CLI_ABSENT,
    CLI_CONFLICT, /* or a precondition that does not hold */
    CLI_UNAVAILABLE
};

enum cli_output { CLI_DEFAULT, CLI_JSON, CLI_TABLE, CLI_RAW };

/* One command line, read. The texts are those of argv and the environment. */
struct cli {
    const struct cli_command *command;
    int count;    /* of words, the arguments that are no options */
    char **words; /* count of them */
    void *memory; /* talloc context */
    void *curl;   /* made by the first request */
    bool colour;  /* standard output is a terminal */
    enum cli_output form;
    const char *url;
    const char *token;
    const char *cacert; /* files for https; NULL: none */
    const char *client_cert;
    const char *client_key;
    const char *output;
    const char *prefix;
    const char *start;
    const char *end;
    const char *index;
    const char *fields;
    const char *type;
    const char *ttl;
    const char *if_match;
    const char *file;
    const char *store;
    const char *missing;
    const char *where;
    const char *fold;
    const char *each;
    const char *from_key;
    const char *state;
    const char *data;
    const char *archive;
    const char *to;
    uint64_t limit;
    uint64_t depth;
    uint64_t jobs;
    uint64_t batch;
    uint64_t every_ms;
    uint64_t clients;
    uint64_t seconds;
    uint64_t requests;
    uint64_t reads;
    uint64_t size;
    bool absent;
    bool all;
    bool adopt;
    bool deno;
    bool dry_run;
    bool help;
    bool keys;
    bool merge;
    bool once;
    bool overwrite;
    bool paused;
    bool repair;
    bool reverse;
    bool undo;
    bool unique;
    bool not_unique;
    bool wait;
};

struct cli_command {
    const char *name;      /* one or two words */
    const char *arguments; /* as help shows them */
    const char *summary;
    const char *takes; /* keys of its options, besides those of all */
    int least, most;   /* how many arguments; most -1: any */
    int (*run)(struct cli *cli);
    const char *more; /* sentences for help; NULL: none */
    bool asks;        /* a server: it takes the options that are for one */
};

/* The commands, *count_out of them. */
const struct cli_command *cli_commands(size_t *count_out);
/* The command that the first words of argv (argc of them) name, and how many
 * words that is; NULL when there is none. */
const struct cli_command *cli_find(int argc, char **argv, int *words_out);

/* Says to standard error that the words (one or more) begin with no command,
 * and which one may be meant. Returns CLI_MISUSE. */
int cli_unknown(int argc, char **argv);

/* Is this the first word of a command that has two? */
bool cli_in_group(const struct cli_command *command, const char *word);
bool cli_is_group(const char *word);

/* Does the line argv[0..argc-1] begin with the name of a command? Then runs it,
 * with *exit_out the exit status of the program. */
bool cli_main(int argc, char **argv, int *exit_out);

/* The exit status of a program that would end with this one, once what it has
 * printed is written: CLI_ERROR, with a line that says why, if that fails. */
int cli_finish(int status);

/* Says to standard error what is wrong with the command line. Returns
 * CLI_MISUSE. */
int cli_misuse(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says to standard error what went wrong. Returns CLI_ERROR. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The commands, by file. */
int cli_get(struct cli *cli);
int cli_set(struct cli *cli);
int cli_del(struct cli *cli);
int cli_ls(struct cli *cli);
int cli_tree(struct cli *cli);
int cli_count(struct cli *cli);
int cli_watch(struct cli *cli);
int cli_watch_prefix(struct cli *cli);
int cli_atomic(struct cli *cli);
int cli_explain(struct cli *cli);
int cli_index_add(struct cli *cli);
int cli_index_ls(struct cli *cli);
int cli_index_show(struct cli *cli);
int cli_index_get(struct cli *cli);
int cli_index_watch(struct cli *cli);
int cli_index_verify(struct cli *cli);
int cli_index_migrate(struct cli *cli);
int cli_index_pause(struct cli *cli);
int cli_index_resume(struct cli *cli);
int cli_index_throttle(struct cli *cli);
int cli_index_conflicts(struct cli *cli);
int cli_index_rm(struct cli *cli);
int cli_token_create(struct cli *cli);
int cli_token_ls(struct cli *cli);
int cli_token_show(struct cli *cli);
int cli_token_revoke(struct cli *cli);
int cli_token_generate(struct cli *cli);
int cli_import(struct cli *cli);
int cli_export(struct cli *cli);
int cli_backup(struct cli *cli);
int cli_restore(struct cli *cli);
int cli_doctor(struct cli *cli);
int cli_ready(struct cli *cli);
int cli_top(struct cli *cli);
int cli_bench(struct cli *cli);
int cli_completion(struct cli *cli);
int cli_man(struct cli *cli);
int cli_help(struct cli *cli);
int cli_version(struct cli *cli);

#endif
