/* The command line: an HTTP client of the server. Each command has a row in
 * commands/cli_commands.c and each option a row in cli_options.c; help,
 * completion and the manual page are generated from these two tables. The main
 * function passes the table of commands in, because the table names functions
 * of rooms above this one.
 *
 * A command runs on the main thread and returns its exit status; when that is
 * not CLI_OK, its message has been printed. Memory is allocated in cli->memory
 * and freed when the program ends. */
#ifndef API_CLI_H
#define API_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit statuses. Scripts rely on the numbers. */
enum cli_exit {
    CLI_OK,
    CLI_ERROR,
    CLI_MISUSE,
    CLI_ABSENT,
    CLI_CONFLICT, /* also for a failed precondition */
    CLI_UNAVAILABLE,
    CLI_INTERRUPTED = 128 + 2 /* as a shell shows SIGINT */
};

enum cli_output {
    CLI_DEFAULT,
    CLI_JSON,
    CLI_TABLE,
    CLI_RAW,
    CLI_DECLARATIONS /* index ls and index discover only */
};

/* A parsed command line. The texts lie in argv and the environment. */
struct cli {
    const struct cli_table *table; /* all commands */
    const struct cli_command *command;
    int count;    /* number of words */
    char **words; /* the arguments that are not options */
    void *memory; /* talloc context */
    void *curl;   /* made by the first request */
    bool colour;  /* if standard output is a terminal */
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
    const char *since;
    const char *in;
    const char *order;
    const char *fields;
    const char *share;
    const char *step;
    const char *preview;
    const char *type;
    const char *ttl;
    const char *ttl_of;
    const char *min;
    const char *max;
    const char *out;
    const char *if_match;
    const char *delay;
    const char *error;
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
    const char *encrypt_to;
    const char *decrypt_with;
    const char *to;
    const char *from;
    const char *token_file;
    const char *queue_to;
    const char *copy_to;
    const char *engine;
    const char *engine_password_file;
    uint64_t timeout_ms;
    uint64_t limit;
    uint64_t depth;
    uint64_t jobs;
    uint64_t workers;
    uint64_t wait_seconds;
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
    bool leases;
    bool engine_insecure;
    bool link;
    bool estimate;
    bool finish;
    bool discovers;   /* import for index discover --from: entries that are left
                       * out are no failure, and no next command is named */
    bool counts;      /* declare an index of totals */
    const char *sums; /* the members that it adds up */
    bool changes;     /* declare an index of changes */
    const char *tombstones;
    bool merge;
    bool now;
    bool ops;
    bool once;
    bool overwrite;
    bool paused;
    bool prune;
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
    const char *takes; /* keys of its options, without the common ones */
    int least, most;   /* number of arguments; most -1: any */
    int (*run)(struct cli *cli);
    const char *more; /* sentences for help; NULL: none */
    bool asks;        /* sends requests, so takes the options for the server */
};

/* The table of the commands, which is constant. */
struct cli_table {
    const struct cli_command *commands;
    size_t count;
};

/* Prints to standard error that the words (argc is at least 1) do not begin
 * with a command, and suggests one. Returns CLI_MISUSE. */
int cli_unknown(const struct cli_table *table, int argc, char **argv);

/* True if word is the first of the two words that name the command, or any
 * command of the table. */
bool cli_is_group(const struct cli_table *table, const char *word);

/* If argv[0..argc-1] begins with the name of a command, runs the command, sets
 * *exit_out to the exit status of the program and returns true. Otherwise
 * returns false. */
bool cli_main(const struct cli_table *table, int argc, char **argv,
              int *exit_out);

/* Flushes standard output. Returns the exit status of the program: `status`, or
 * CLI_ERROR if status is CLI_OK but the output could not be written. */
int cli_finish(int status);

/* Prints an error in the command line to standard error. Returns CLI_MISUSE. */
int cli_misuse(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints an error to standard error. Returns CLI_ERROR. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line to standard error, without the name of the program. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The commands, by file. */
int cli_get(struct cli *cli);
int cli_set(struct cli *cli);
int cli_patch(struct cli *cli);
int cli_touch(struct cli *cli);
int cli_sum(struct cli *cli);
int cli_del(struct cli *cli);
int cli_ls(struct cli *cli);
int cli_tree(struct cli *cli);
int cli_count(struct cli *cli);
int cli_aggregate(struct cli *cli);
int cli_watch(struct cli *cli);
int cli_atomic(struct cli *cli);
int cli_explain(struct cli *cli);
int cli_index_add(struct cli *cli);
int cli_index_apply(struct cli *cli);
int cli_index_ls(struct cli *cli);
int cli_index_show(struct cli *cli);
int cli_index_get(struct cli *cli);
int cli_index_watch(struct cli *cli);
int cli_index_verify(struct cli *cli);
int cli_index_discover(struct cli *cli);
int cli_index_migrate(struct cli *cli);
int cli_index_pause(struct cli *cli);
int cli_index_throttle(struct cli *cli);
int cli_index_conflicts(struct cli *cli);
int cli_index_rm(struct cli *cli);
int cli_queue_show(struct cli *cli);
int cli_queue_claim(struct cli *cli);
int cli_queue_change(struct cli *cli);
int cli_queue_work(struct cli *cli);
int cli_rule_ls(struct cli *cli);
int cli_rule_show(struct cli *cli);
int cli_rule_put(struct cli *cli);
int cli_rule_violations(struct cli *cli);
int cli_rule_rm(struct cli *cli);
int cli_usage(struct cli *cli);
int cli_token_create(struct cli *cli);
int cli_token_ls(struct cli *cli);
int cli_token_show(struct cli *cli);
int cli_history(struct cli *cli);
int cli_token_revoke(struct cli *cli);
int cli_token_generate(struct cli *cli);
int cli_import(struct cli *cli);
int cli_export(struct cli *cli);
int cli_backup(struct cli *cli);
int cli_restore(struct cli *cli);
int cli_promote(struct cli *cli);
int cli_keygen(struct cli *cli);
int cli_engine_copy(struct cli *cli);
int cli_cluster_status(struct cli *cli);
int cli_cluster_step_down(struct cli *cli);
int cli_cluster_accept_loss(struct cli *cli);
int cli_cluster_upgrade(struct cli *cli);
int cli_doctor(struct cli *cli);
int cli_ready(struct cli *cli);
int cli_top(struct cli *cli);
int cli_bench(struct cli *cli);
int cli_completion(struct cli *cli);
int cli_man(struct cli *cli);
int cli_help(struct cli *cli);
int cli_version(struct cli *cli);

#endif
