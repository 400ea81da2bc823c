/* kindex index discover: indexes that an application keeps by hand. */
#include "cli/commands/cli_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <talloc.h>
#include <unistd.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

static const char *const DAMAGES[] = {"dangling", "missing", "stale",
                                      "duplicate"};
enum { DAMAGE_COUNT = sizeof DAMAGES / sizeof DAMAGES[0] };

static void show_key(const struct cli *cli, struct kx_slice key)
{
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    if (cli_key_path(cli, key, &path))
        cli_put(stdout, kx_buffer_slice(&path));
    kx_buffer_free(&path);
}

static void show_sample(const struct cli *cli, struct kx_slice sample)
{
    struct kx_slice key;
    const char *damage = cli_text(cli, sample, "damage");
    printf("  %-10s", damage != NULL ? damage : "?");
    if (cli_json_member(sample, "indexKey", &key))
        show_key(cli, key);
    if (cli_json_member(sample, "key", &key)) {
        fputs(" of ", stdout);
        show_key(cli, key);
    }
    putchar('\n');
}

static void show_samples(const struct cli *cli, struct kx_slice found)
{
    struct kx_slice samples;
    struct kx_slice none;
    struct kx_slice sample;
    struct kx_json_iter iter;
    if (!cli_json_member(found, "samples", &samples) ||
        !kx_json_iterate(samples, &iter))
        return;
    while (kx_json_next(&iter, &none, &sample))
        show_sample(cli, sample);
}

/* What the index is, beside its name and its numbers. */
static void show_form(const struct cli *cli, struct kx_slice found,
                      struct kx_slice declaration)
{
    struct kx_slice part;
    const char *holds = cli_text(cli, found, "holds");
    bool unique = cli_json_member(declaration, "unique", &part);
    printf(" %-7s %-7s ", unique ? "unique" : "", holds != NULL ? holds : "?");
    if (cli_json_member(declaration, "prefix", &part))
        cli_put(stdout, part);
    putchar(' ');
    if (cli_json_member(declaration, "fields", &part))
        cli_put(stdout, part);
    if (cli_json_member(declaration, "where", &part)) {
        fputs(" where ", stdout);
        cli_put(stdout, part);
    }
    putchar('\n');
}

static void show_found(const struct cli *cli, struct kx_slice found)
{
    struct kx_slice declaration = {0};
    struct kx_slice part;
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    if (!cli_json_member(found, "declaration", &declaration) ||
        !cli_json_member(found, "prefix", &part) ||
        !cli_key_path(cli, part, &path))
        return;
    fputs(cli_tint(cli), stdout);
    cli_put_column(stdout, kx_buffer_slice(&path), 28);
    printf("%s %9" PRIu64 " %9" PRIu64, cli_plain(cli),
           cli_number(found, "entries"), cli_number(found, "agree"));
    for (size_t i = 0; i < DAMAGE_COUNT; i++)
        printf(" %9" PRIu64, cli_number(found, DAMAGES[i]));
    show_form(cli, found, declaration);
    kx_buffer_free(&path);
    show_samples(cli, found);
}

/* Returns how many entries are wrong or missing. */
static uint64_t count_damage(struct kx_slice found)
{
    uint64_t count = 0;
    for (size_t i = 0; i < DAMAGE_COUNT; i++)
        count += cli_number(found, DAMAGES[i]);
    return count;
}

/* Appends the member of the file that index apply takes. */
static void add_declaration(struct kx_slice found, struct kx_buffer *out)
{
    struct kx_slice declaration;
    struct kx_slice name;
    if (!cli_json_member(found, "declaration", &declaration) ||
        !cli_json_member(declaration, "name", &name))
        return;
    kx_add(out, ",", out->size > 1);
    kx_add_slice(out, name);
    kx_add_byte(out, ':');
    kx_json_merge(declaration, kx_text("{\"name\":null}"), out);
}

static void show_all(const struct cli *cli, struct kx_json_iter iter)
{
    struct kx_slice none;
    struct kx_slice found;
    printf("%s%-28s %9s %9s", cli_bold(cli), "KEPT BY HAND", "ENTRIES",
           "AGREE");
    for (size_t i = 0; i < DAMAGE_COUNT; i++)
        printf(" %9s", DAMAGES[i]);
    printf("         HOLDS   PREFIX FIELDS%s\n", cli_plain(cli));
    while (kx_json_next(&iter, &none, &found))
        show_found(cli, found);
}

static void show_declarations(struct cli *cli, struct kx_json_iter iter)
{
    struct kx_buffer out;
    struct kx_slice none;
    struct kx_slice found;
    kx_buffer_init(&out, cli->memory);
    kx_add_byte(&out, '{');
    while (kx_json_next(&iter, &none, &found))
        add_declaration(found, &out);
    kx_add_byte(&out, '}');
    cli_show_document(cli, kx_buffer_slice(&out));
    kx_buffer_free(&out);
}

/* Prints the answer, in the form that was asked for, and returns the exit
 * status. */
static int show_answer(struct cli *cli, struct kx_slice document,
                       struct kx_json_iter iter)
{
    struct kx_slice none;
    struct kx_slice found;
    uint64_t damage = 0;
    if (cli->form == CLI_DECLARATIONS)
        show_declarations(cli, iter);
    else if (cli->form == CLI_JSON)
        cli_show_document(cli, document);
    else
        show_all(cli, iter);
    while (kx_json_next(&iter, &none, &found))
        damage += count_damage(found);
    return damage == 0 ? CLI_OK : CLI_CONFLICT;
}

/* Asks the server, and prints its answer. */
static int discover(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice indexes;
    struct kx_json_iter iter;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/indexes/discover");
    if (cli->count > 0)
        cli_add_key_parameter(&path, "prefix", cli->words[0]);
    struct cli_call call = {
        .method = "POST", .path = cli_whole(&path), .may_pause = true};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    struct kx_slice document = kx_buffer_slice(&reply.body);
    if (!cli_json_member(document, "indexes", &indexes) ||
        !kx_json_iterate(indexes, &iter))
        return cli_fail("the server's answer is not a list of indexes");
    return show_answer(cli, document, iter);
}

/* ---- Stores elsewhere --------------------------------------------------- */

/* --from copies the store to a new server, so that discovery is the same for
 * every store. The server's directory is removed when it ends. */

enum { NOT_RUN = 127, VARIABLE_MAX = 256 };

/* Removes the variables with which a user sets options of another server. */
static void clear_variables(void)
{
    static const char PREFIX[] = "KINDEX_";
    char name[VARIABLE_MAX];
    char **at = environ;
    while (*at != NULL) {
        size_t size = strcspn(*at, "=");
        snprintf(name, sizeof name, "%.*s", (int)size, *at);
        if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 ||
            size >= sizeof name || unsetenv(name) != 0)
            at++; /* otherwise the next variable has moved here */
    }
}

/* In the new process. Its own process group keeps the terminal's signals away:
 * it ends with this process. */
static void run_server(int output)
{
    char *const words[] = {"kindex",      "serve", "--ephemeral",
                           "--log-level", "error", NULL};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    clear_variables();
    if (dup2(output, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", words);
    _exit(NOT_RUN);
}

/* Reads the line in which the server prints its URL; NULL after printing that
 * it has not started. */
static char *read_url(const struct cli *cli, int pipe)
{
    char *line = NULL;
    char *url = NULL;
    size_t capacity = 0;
    FILE *said = fdopen(pipe, "r");
    ssize_t size = said == NULL ? -1 : getline(&line, &capacity, said);
    struct kx_fault fault;
    if (size > 0 &&
        kx_json_check_document(kx_slice(line, (size_t)size), &fault) == KX_OK)
        url = cli_text(cli, kx_slice(line, (size_t)size), "url");
    if (url == NULL)
        cli_fail("the server for the copy of the store has not started");
    free(line);
    if (said != NULL)
        fclose(said);
    return url;
}

/* Starts the server. Returns its process and its URL, or -1 after printing why.
 */
static pid_t start_server(const struct cli *cli, char **url_out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        cli_fail("cannot start a server: %s", strerror(errno));
        return -1;
    }
    pid_t process = fork();
    if (process == 0)
        run_server(ends[1]);
    close(ends[1]);
    if (process < 0) {
        cli_fail("cannot start a server: %s", strerror(errno));
        close(ends[0]);
        return -1;
    }
    *url_out = read_url(cli, ends[0]);
    return process;
}

/* Imports the store to the server at cli->url, and discovers there. */
static int copy_and_discover(struct cli *cli)
{
    int count = cli->count;
    cli->count = 0;
    cli->discovers = true;
    int status = cli_import(cli);
    cli->count = count;
    return status == CLI_OK ? discover(cli) : status;
}

static int discover_elsewhere(struct cli *cli)
{
    char *url = NULL;
    int status = CLI_ERROR;
    pid_t server = start_server(cli, &url);
    if (server < 0)
        return CLI_ERROR;
    cli_http_end(cli);
    cli->url = url;
    cli->token = NULL;
    if (url != NULL)
        status = copy_and_discover(cli);
    kill(server, SIGTERM);
    while (waitpid(server, NULL, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int cli_index_discover(struct cli *cli)
{
    if (cli->from != NULL)
        return discover_elsewhere(cli);
    return cli->token_file != NULL
               ? cli_misuse(cli, "--token-file needs --from ADDRESS")
               : discover(cli);
}
