/* kindex watch: shows entries whenever they have changed, by the events of GET
 * /watch, or copies the changes of an index to a file. */
#include "cli/cli_http.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"

enum watch_event { OTHER, CHANGE, FAILURE };

enum {
    ID_SIZE = 64, /* two versionstamps and a comma have 41 */
    NOTE_MS = 500 /* between two writes of the state file, at least */
};

/* A place in the changes of an index, and the size of the file with all changes
 * up to there. */
struct copy_place {
    char id[ID_SIZE]; /* "": the beginning */
    uint64_t bytes;
};

struct watching {
    struct cli *cli;
    struct copy_place place;
    uint64_t noted_ns; /* when the state file was written */
    bool moved;        /* the state file has an older place */
    uint64_t count;    /* lines shown */
    uint64_t resets;
    enum watch_event event; /* the current one */
    int status; /* exit status for a failure that the server has sent */
};

/* True if the limit of lines is reached or the output has failed. */
static bool enough(const struct watching *watching)
{
    uint64_t limit = watching->cli->limit;
    return ferror(stdout) || (limit > 0 && watching->count >= limit);
}

/* ---- The copy ----------------------------------------------------------- */

/* With --file that file becomes standard output. The state file records the
 * place after the last commit that has reached the disk. A copy that was killed
 * is cut back to that place, so it neither lacks nor repeats a change. */

static bool copies(const struct watching *watching)
{
    return watching->cli->state != NULL;
}

static bool fail_file(const char *path)
{
    cli_fail("%s: %s", path, strerror(errno));
    return false;
}

static void add_text(struct kx_buffer *out, const char *name, const char *text)
{
    kx_add_text(out, name);
    if (text != NULL)
        kx_json_escape(kx_text(text), out);
    else
        kx_add_text(out, "null");
}

/* Syncs the file with the changes, then writes the state file. */
static bool note_place(struct watching *watching)
{
    const struct cli *cli = watching->cli;
    const struct copy_place *place = &watching->place;
    struct kx_buffer text;
    char bytes[32];
    if (fflush(stdout) != 0 || fdatasync(STDOUT_FILENO) != 0)
        return fail_file(cli->file);
    snprintf(bytes, sizeof bytes, "%" PRIu64, place->bytes);
    kx_buffer_init(&text, cli->memory);
    add_text(&text, "{\"index\":", cli->index);
    add_text(&text, ",\"prefix\":", cli->prefix);
    add_text(&text, ",\"id\":", place->id);
    kx_add_text(&text, ",\"bytes\":");
    kx_add_text(&text, bytes);
    kx_add_text(&text, "}\n");
    bool noted =
        !text.failed && cli_file_replace(cli->state, kx_buffer_slice(&text));
    kx_buffer_free(&text);
    watching->noted_ns = kx_monotonic_ns();
    watching->moved = false;
    return noted;
}

/* Notes the place if it has moved since the last time. False after an error. */
static bool note_moved(struct watching *watching)
{
    if (!watching->moved || note_place(watching))
        return true;
    watching->status = CLI_ERROR;
    return false;
}

static bool take_tick(void *target)
{
    struct watching *watching = target;
    uint64_t since_ns = kx_monotonic_ns() - watching->noted_ns;
    return since_ns < NOTE_MS * KX_MS_NS || note_moved(watching);
}

/* True if both are absent or the same. */
static bool same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* True if the state is that of this watch. */
static bool is_of_watch(const struct cli *cli, struct kx_slice state)
{
    return same(cli_text(cli, state, "index"), cli->index) &&
           same(cli_text(cli, state, "prefix"), cli->prefix);
}

static bool read_place(const struct cli *cli, struct kx_slice state,
                       struct copy_place *place)
{
    struct kx_fault fault;
    bool json = kx_json_check_document(state, &fault) == KX_OK;
    const char *id = json ? cli_text(cli, state, "id") : NULL;
    if (id == NULL || strlen(id) >= ID_SIZE) {
        cli_fail("%s is not the state file of a watch", cli->state);
        return false;
    }
    if (!is_of_watch(cli, state)) {
        cli_fail("%s is the state file of another watch: --index or --prefix "
                 "differs",
                 cli->state);
        return false;
    }
    snprintf(place->id, sizeof place->id, "%s", id);
    place->bytes = cli_number(state, "bytes");
    return true;
}

/* Reads the place from the state file. Without one it is the beginning. */
static bool find_place(const struct cli *cli, struct copy_place *place)
{
    struct kx_buffer state;
    *place = (struct copy_place){.bytes = 0};
    if (access(cli->state, F_OK) != 0 && errno == ENOENT)
        return true;
    kx_buffer_init(&state, cli->memory);
    bool read = cli_input(cli->state, &state) &&
                read_place(cli, kx_buffer_slice(&state), place);
    kx_buffer_free(&state);
    return read;
}

/* True if the file can be cut to the place. A new copy needs an empty file. */
static bool fits_place(const struct watching *watching, uint64_t size)
{
    const struct cli *cli = watching->cli;
    if (size < watching->place.bytes)
        cli_fail("%s is shorter than %s says: remove both to begin again",
                 cli->file, cli->state);
    else if (size > 0 && access(cli->state, F_OK) != 0)
        cli_fail("%s is not empty, but there is no %s", cli->file, cli->state);
    else
        return true;
    return false;
}

static bool cut_back(const struct watching *watching, int fd)
{
    off_t place = (off_t)watching->place.bytes;
    struct stat about;
    if (fstat(fd, &about) != 0)
        return fail_file(watching->cli->file);
    if (!fits_place(watching, (uint64_t)about.st_size))
        return false;
    return (ftruncate(fd, place) == 0 && lseek(fd, place, SEEK_SET) >= 0) ||
           fail_file(watching->cli->file);
}

/* Locks the file, cuts it back to the place and makes it standard output. */
static bool take_file(struct watching *watching, int fd)
{
    const struct cli *cli = watching->cli;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        cli_fail("%s is in use by another program", cli->file);
        return false;
    }
    if (!find_place(cli, &watching->place) || !cut_back(watching, fd))
        return false;
    return dup2(fd, STDOUT_FILENO) >= 0 || fail_file(cli->file);
}

/* Opens the file and continues at the place of the state file. */
static bool begin_copy(struct watching *watching)
{
    const struct cli *cli = watching->cli;
    int fd = open(cli->file, O_WRONLY | O_CREAT, 0666);
    if (fd < 0)
        return fail_file(cli->file);
    bool taken = take_file(watching, fd);
    close(fd); /* standard output keeps the lock */
    return taken && note_place(watching);
}

/* Call when all changes up to this id have been printed. */
static void move_place(struct watching *watching, struct kx_slice id)
{
    off_t bytes = fflush(stdout) == 0 ? ftello(stdout) : -1;
    if (id.size >= ID_SIZE || bytes < 0)
        return;
    snprintf(watching->place.id, ID_SIZE, "%.*s", (int)id.size,
             (const char *)id.data);
    watching->place.bytes = (uint64_t)bytes;
    watching->moved = true;
}

/* ---- Events ------------------------------------------------------------- */

/* Changes of an index are shown to the end of their commit, whose id --since
 * takes to continue. */
static bool show_changes(struct watching *watching, struct kx_slice data)
{
    bool whole = watching->cli->index != NULL;
    struct kx_json_iter iter;
    struct kx_slice entries, name, entry;
    if (!cli_json_member(data, "entries", &entries) ||
        !kx_json_iterate(entries, &iter))
        return false;
    while ((whole || !enough(watching)) && kx_json_next(&iter, &name, &entry)) {
        cli_show_entry(watching->cli, entry);
        watching->count++;
    }
    fflush(stdout);
    return whole ? !ferror(stdout) : !enough(watching);
}

/* The first reset event only says that the watch of a prefix has begun. */
static void take_reset(struct watching *watching)
{
    if (watching->resets++ > 0)
        fputs("kindex: more entries may have changed than are shown; kindex ls "
              "lists the current ones\n",
              stderr);
}

static void take_event(struct watching *watching, struct kx_slice event)
{
    watching->event = kx_equal(event, kx_text("change"))  ? CHANGE
                      : kx_equal(event, kx_text("error")) ? FAILURE
                                                          : OTHER;
    if (kx_equal(event, kx_text("reset")))
        take_reset(watching);
}

/* Prints the problem document that ends a watch, and ends the stream. */
static bool show_failure(struct watching *watching, struct kx_slice document)
{
    struct cli_reply reply = {.status = (long)cli_number(document, "status")};
    kx_buffer_init(&reply.body, watching->cli->memory);
    kx_add_slice(&reply.body, document);
    watching->status = cli_problem(watching->cli, &reply);
    return false;
}

static bool take_line(void *target, struct kx_slice line)
{
    struct watching *watching = target;
    struct kx_fault fault;
    if (kx_starts_with(line, kx_text("event: ")))
        take_event(watching, kx_slice(line.data + 7, line.size - 7));
    if (kx_starts_with(line, kx_text("id: "))) {
        if (copies(watching))
            move_place(watching, kx_slice(line.data + 4, line.size - 4));
        return !enough(watching);
    }
    if (watching->event == OTHER || !kx_starts_with(line, kx_text("data: ")))
        return true;
    struct kx_slice data = kx_slice(line.data + 6, line.size - 6);
    if (kx_json_check_document(data, &fault) != KX_OK)
        return false;
    return watching->event == CHANGE ? show_changes(watching, data)
                                     : show_failure(watching, data);
}

/* ---- The request -------------------------------------------------------- */

/* Appends the parameters for the keys. False: one is not valid, and the message
 * has been printed. */
static bool add_keys(struct cli *cli, struct kx_buffer *path)
{
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    for (int i = 0; i < cli->count; i++) {
        key.size = 0;
        if (!cli_read_key(cli, cli->words[i], &key))
            return false;
        cli_add_key_parameter(path, "key", cli->words[i]);
    }
    return true;
}

/* Prints a hint for each key that may have been taken for a prefix. */
static int tell_below(struct cli *cli)
{
    enum cli_presence presence;
    int status = CLI_OK;
    for (int i = 0; status == CLI_OK && i < cli->count; i++) {
        status = cli_presence_ask(cli, cli->words[i], &presence);
        if (status == CLI_OK && presence == PRESENCE_BELOW)
            cli_presence_tell(cli->words[i], "watch --prefix",
                              "prints those that change");
    }
    return status;
}

/* Shows the changes until there are enough. Returns the exit status:
 * CLI_UNAVAILABLE, after the message, if the server ends the watch before. */
static int watch(struct watching *watching, struct kx_slice path)
{
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = path,
                            .accept = "text/event-stream",
                            .may_pause = true,
                            .line = take_line,
                            .tick = copies(watching) ? take_tick : NULL,
                            .target = watching};
    cli_show_heading(watching->cli);
    int status = cli_ask(watching->cli, &call, &reply);
    if (!note_moved(watching) || watching->status != CLI_OK)
        return watching->status;
    if (status != CLI_OK || enough(watching))
        return status;
    cli_fail("the server ended the watch");
    return CLI_UNAVAILABLE;
}

/* Returns whether storing the state would write over the copy: it is first
 * written beside its file (cli_file_replace). */
static bool is_overwritten(const struct cli *cli)
{
    size_t size = strlen(cli->state);
    return strncmp(cli->file, cli->state, size) == 0 &&
           (cli->file[size] == '\0' || strcmp(cli->file + size, ".part") == 0);
}

/* Returns what is wrong with the options of a copy, or NULL. */
static const char *copy_contradiction(const struct cli *cli)
{
    if ((cli->file == NULL) != (cli->state == NULL))
        return "--file and --state need each other";
    if (cli->file != NULL && (cli->index == NULL || cli->since != NULL))
        return "--file needs --index, and excludes --since";
    if (cli->file != NULL && cli->form != CLI_DEFAULT && cli->form != CLI_JSON)
        return "--file has lines of JSON, and excludes --output";
    if (cli->file != NULL && is_overwritten(cli))
        return "--file is where --state is written";
    return NULL;
}

/* Returns why the words and options contradict each other, or NULL if they do
 * not. */
static const char *contradiction(const struct cli *cli)
{
    bool several = cli->prefix != NULL || cli->index != NULL;
    if (cli->since != NULL && cli->index == NULL)
        return "--since needs --index";
    if (several && cli->count > 0)
        return cli->index != NULL ? "--index excludes keys"
                                  : "--prefix excludes keys";
    if (!several && cli->count == 0)
        return "a key, --prefix or --index is missing";
    return copy_contradiction(cli);
}

int cli_watch(struct cli *cli)
{
    struct kx_buffer path;
    struct watching watching = {.cli = cli};
    const char *wrong = contradiction(cli);
    if (wrong != NULL)
        return cli_misuse(cli, "%s", wrong);
    if (cli->form == CLI_DEFAULT)
        cli->form = CLI_JSON;
    if (cli->file != NULL && !begin_copy(&watching))
        return CLI_ERROR;
    const char *id = watching.place.id;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/watch");
    cli_add_parameter(&path, "index", cli->index);
    cli_add_parameter(&path, "since", *id != '\0' ? id : cli->since);
    cli_add_key_parameter(&path, "prefix", cli->prefix);
    if (!add_keys(cli, &path))
        return CLI_MISUSE;
    int status = tell_below(cli);
    return status == CLI_OK ? watch(&watching, cli_whole(&path)) : status;
}
