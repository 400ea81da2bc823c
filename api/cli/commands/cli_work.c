/* kindex queue work: runs a command for each job of a queue. Each worker is a
 * process that claims one job at a time, so that a claim that waits holds up no
 * heartbeat of another job. The parent process only passes signals on. */
#include "cli/cli_http.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <talloc.h>
#include <unistd.h>

#include "cli/cli_json.h"

enum {
    CLAIM_SECONDS = 5, /* a claim waits; a stop may last as long */
    HEARTBEATS = 3,    /* in each lease */
    PAUSE_MS = 1000,   /* before a request is repeated, at first */
    PAUSE_MAX_MS = 30 * 1000,
    ERROR_BYTES = 1000,  /* of standard error that a failure reports */
    STATUS_NOT_RUN = 127 /* of a command that could not be started */
};

enum work_end { JOB_DONE, JOB_FAILED, JOB_RELEASED, JOB_LOST };

struct work_slot {
    struct cli *cli;
    char **command; /* ends with NULL */
    int signals;    /* signalfd of SIGTERM */
    unsigned stops; /* signals so far */
    sigset_t inherited;
};

struct work_job {
    struct kx_slice text; /* a line of JSON */
    const char *receipt;
    uint64_t lease_ms;
    uint64_t renewed_ns; /* when the lease began, by the monotonic clock */
    char error[ERROR_BYTES];
    size_t error_size;
};

/* ---- Requests ------------------------------------------------------------ */

static void add_path(const struct cli *cli, const char *action,
                     struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/queues/");
    cli_add_key(path, cli->words[0]);
    kx_add_text(path, action);
}

static bool first_job(struct kx_slice answer, struct kx_slice *job_out)
{
    struct kx_json_iter iter;
    struct kx_slice jobs;
    struct kx_slice none;
    return cli_json_member(answer, "jobs", &jobs) &&
           kx_json_iterate(jobs, &iter) && kx_json_next(&iter, &none, job_out);
}

/* Claims one job. CLI_ABSENT: none is due. */
static int claim(struct work_slot *worker, struct work_job *job)
{
    struct cli *cli = worker->cli;
    struct cli_reply reply;
    struct kx_buffer path;
    char wait[8];
    snprintf(wait, sizeof wait, "%d", CLAIM_SECONDS);
    add_path(cli, "/claim", &path);
    cli_add_parameter(&path, "wait", cli->once ? NULL : wait);
    cli_add_key_parameter(&path, "prefix", cli->prefix);
    struct cli_call call = {.method = "POST", .path = cli_whole(&path)};
    *job = (struct work_job){.renewed_ns = kx_monotonic_ns()};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (!first_job(kx_buffer_slice(&reply.body), &job->text))
        return CLI_ABSENT;
    job->receipt = cli_text(cli, job->text, "receipt");
    job->lease_ms = cli_number(job->text, "leaseMs");
    job->renewed_ns = kx_monotonic_ns();
    return job->receipt != NULL ? CLI_OK : cli_fail("a job has no receipt");
}

static int change(struct work_slot *worker, const struct work_job *job,
                  const char *action, struct kx_slice error)
{
    struct cli *cli = worker->cli;
    struct cli_reply reply;
    struct kx_buffer path;
    struct kx_buffer document;
    add_path(cli, action, &path);
    kx_buffer_init(&document, cli->memory);
    kx_add_text(&document, "{\"receipts\":[");
    kx_json_escape(kx_text(job->receipt), &document);
    kx_add_byte(&document, ']');
    if (error.size > 0) {
        kx_add_text(&document, ",\"error\":");
        kx_json_escape(error, &document);
    }
    kx_add_byte(&document, '}');
    struct cli_call call = {.method = "POST",
                            .path = cli_whole(&path),
                            .body = cli_whole(&document)};
    return document.failed ? cli_fail("out of memory")
                           : cli_ask(cli, &call, &reply);
}

static uint64_t lease_end_ns(const struct work_job *job)
{
    return job->renewed_ns + job->lease_ms * KX_MS_NS;
}

/* Repeats the request while the server is not available and the lease lasts. */
static int change_surely(struct work_slot *worker, const struct work_job *job,
                         const char *action, struct kx_slice error)
{
    int status = change(worker, job, action, error);
    while (status == CLI_UNAVAILABLE && kx_monotonic_ns() < lease_end_ns(job)) {
        poll(NULL, 0, PAUSE_MS);
        status = change(worker, job, action, error);
    }
    return status;
}

/* ---- The command --------------------------------------------------------- */

/* Counts the signals that have arrived, after at most this time. */
static void take_signals(struct work_slot *worker, int wait_ms)
{
    struct signalfd_siginfo info;
    struct pollfd poller = {.fd = worker->signals, .events = POLLIN};
    if (poll(&poller, 1, wait_ms) == 1 &&
        read(worker->signals, &info, sizeof info) == (ssize_t)sizeof info)
        worker->stops++;
}

/* Returns a file with the job, to be read from its start, or -1. */
static int make_input(const struct work_job *job)
{
    int file = memfd_create("job", MFD_CLOEXEC);
    if (dprintf(file, "%.*s\n", (int)job->text.size,
                (const char *)job->text.data) > 0 &&
        lseek(file, 0, SEEK_SET) == 0)
        return file;
    close(file);
    return -1;
}

/* In the new process. Its own process group keeps the terminal's signals
 * away. */
static void run(const struct work_slot *worker, int input, int error)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &worker->inherited, NULL);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(error, STDERR_FILENO) < 0)
        _exit(STATUS_NOT_RUN);
    execvp(worker->command[0], worker->command);
    dprintf(STDERR_FILENO, "kindex: %s: %s\n", worker->command[0],
            strerror(errno));
    _exit(STATUS_NOT_RUN);
}

/* Starts the command. Returns its process, and the end of a pipe that has its
 * standard error; -1 on a failure, which is printed. */
static pid_t start(const struct work_slot *worker, const struct work_job *job,
                   int *error_out)
{
    int ends[2];
    int input = make_input(job);
    if (input < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        cli_fail("cannot start a command: %s", strerror(errno));
        if (input >= 0)
            close(input);
        return -1;
    }
    fcntl(ends[1], F_SETFL, 0);
    pid_t process = fork();
    if (process == 0)
        run(worker, input, ends[1]);
    if (process < 0)
        cli_fail("cannot start a command: %s", strerror(errno));
    close(input);
    close(ends[1]);
    if (process < 0)
        close(ends[0]);
    *error_out = ends[0];
    return process;
}

/* Keeps the last ERROR_BYTES of what the command wrote. */
static void keep_end(struct work_job *job, const char *bytes, size_t size)
{
    size_t keep = size < ERROR_BYTES ? size : ERROR_BYTES;
    size_t room = ERROR_BYTES - keep;
    size_t old = job->error_size < room ? job->error_size : room;
    memmove(job->error, job->error + job->error_size - old, old);
    memcpy(job->error + old, bytes + size - keep, keep);
    job->error_size = old + keep;
}

/* Copies what the command wrote to standard error. False at the end of the
 * pipe, or if it is empty. */
static bool copy_error(struct work_job *job, int pipe)
{
    char bytes[4096];
    ssize_t size = read(pipe, bytes, sizeof bytes);
    if (size <= 0)
        return false;
    fwrite(bytes, 1, (size_t)size, stderr);
    keep_end(job, bytes, (size_t)size);
    return true;
}

static int until_heartbeat_ms(const struct work_job *job)
{
    uint64_t now_ns = kx_monotonic_ns();
    uint64_t next_ns = job->renewed_ns + job->lease_ms * KX_MS_NS / HEARTBEATS;
    return next_ns > now_ns ? (int)((next_ns - now_ns) / KX_MS_NS) + 1 : 0;
}

/* Extends the lease when it is time. False if the lease is lost. */
static bool keep_lease(struct work_slot *worker, struct work_job *job)
{
    if (until_heartbeat_ms(job) > 0)
        return true;
    uint64_t now_ns = kx_monotonic_ns();
    int status = change(worker, job, "/extend", kx_slice(NULL, 0));
    if (status == CLI_OK)
        job->renewed_ns = now_ns;
    else if (status == CLI_UNAVAILABLE && now_ns < lease_end_ns(job))
        take_signals(worker, PAUSE_MS);
    else
        return false;
    return true;
}

/* Decides if the command must end: after a second signal, or if the lease is
 * lost. */
static enum work_end check_end(struct work_slot *worker, struct work_job *job)
{
    if (worker->stops > 1)
        return JOB_RELEASED;
    return keep_lease(worker, job) ? JOB_DONE : JOB_LOST;
}

/* Waits until the command has ended, and keeps the lease meanwhile. */
static enum work_end attend(struct work_slot *worker, struct work_job *job,
                            pid_t process, int ended, int pipe)
{
    enum work_end end = JOB_DONE;
    if (ended < 0) {
        cli_fail("pidfd_open: %s", strerror(errno));
        kill(-process, SIGKILL);
        return JOB_RELEASED;
    }
    struct pollfd pollers[] = {{.fd = ended, .events = POLLIN},
                               {.fd = worker->signals, .events = POLLIN},
                               {.fd = pipe, .events = POLLIN}};
    while (pollers[0].revents == 0) {
        poll(pollers, 3, end == JOB_DONE ? until_heartbeat_ms(job) : -1);
        take_signals(worker, 0);
        if (pollers[2].revents != 0 && !copy_error(job, pipe))
            pollers[2].fd = -1;
        if (end != JOB_DONE)
            continue;
        end = check_end(worker, job);
        if (end != JOB_DONE)
            kill(-process, SIGTERM);
    }
    return end;
}

/* Appends why the command has failed if it wrote nothing about it. */
static void describe(struct work_job *job, int status)
{
    if (job->error_size > 0)
        return;
    int size =
        snprintf(job->error, sizeof job->error, "%s %d",
                 WIFEXITED(status) ? "exit status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    job->error_size = (size_t)size;
}

static enum work_end run_command(struct work_slot *worker, struct work_job *job)
{
    int pipe;
    int status = 0;
    pid_t process = start(worker, job, &pipe);
    if (process < 0)
        return JOB_RELEASED;
    setpgid(process, process);
    int ended = pidfd_open(process, 0);
    enum work_end end = attend(worker, job, process, ended, pipe);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    while (copy_error(job, pipe))
        ;
    close(ended);
    close(pipe);
    if (end != JOB_DONE || status == 0)
        return end;
    describe(job, status);
    return JOB_FAILED;
}

/* The bytes that the command wrote may be no UTF-8, or begin within a
 * character. */
static struct kx_slice error_text(struct work_job *job)
{
    while (job->error_size > 0 && job->error[job->error_size - 1] == '\n')
        job->error_size--;
    struct kx_slice text = kx_slice((uint8_t *)job->error, job->error_size);
    bool valid = kx_utf8_valid(text);
    for (size_t i = 0; !valid && i < text.size; i++)
        job->error[i] &= 0x7f;
    return text;
}

/* ---- Workers ------------------------------------------------------------- */

static int work_on(struct work_slot *worker, struct work_job *job)
{
    const struct kx_slice none = kx_slice(NULL, 0);
    switch (run_command(worker, job)) {
    case JOB_DONE:
        return change_surely(worker, job, "/ack", none);
    case JOB_FAILED:
        return change_surely(worker, job, "/fail", error_text(job));
    case JOB_RELEASED:
        change_surely(worker, job, "/release", none);
        return worker->stops > 1 ? CLI_OK : CLI_ERROR;
    case JOB_LOST:
        break;
    }
    cli_note("the lease of a job was lost; its command was ended");
    return CLI_OK;
}

/* A stale receipt concerns one job only: the command may have acknowledged it
 * itself. A server that is not available may be so again. */
static bool is_passing(int status)
{
    return status == CLI_OK || status == CLI_CONFLICT ||
           status == CLI_UNAVAILABLE;
}

static int next_pause_ms(int pause_ms)
{
    if (pause_ms == 0)
        return PAUSE_MS;
    return pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : pause_ms;
}

/* Claims a job, and works on it. CLI_ABSENT: there was none. */
static int work_once(struct work_slot *worker)
{
    struct work_job job;
    int status = claim(worker, &job);
    return status == CLI_OK ? work_on(worker, &job) : status;
}

static int work(struct work_slot *worker)
{
    struct cli *cli = worker->cli;
    void *memory = cli->memory;
    int status = CLI_OK;
    int pause_ms = 0;
    while (worker->stops == 0 && is_passing(status)) {
        cli->memory = talloc_new(memory);
        status = work_once(worker);
        talloc_free(cli->memory);
        if (status == CLI_ABSENT && !cli->once)
            status = CLI_OK;
        pause_ms = status == CLI_UNAVAILABLE ? next_pause_ms(pause_ms) : 0;
        take_signals(worker, pause_ms);
    }
    cli->memory = memory;
    return is_passing(status) || status == CLI_ABSENT ? CLI_OK : status;
}

/* In a new process. It stops like the parent if that is killed. */
static void become_worker(struct work_slot *worker)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    worker->signals = signalfd(-1, &stop, SFD_CLOEXEC);
    int status = worker->signals < 0 ? cli_fail("signalfd: %s", strerror(errno))
                                     : work(worker);
    cli_http_end(worker->cli);
    _exit(cli_finish(status));
}

/* Takes a worker that has ended. Returns its exit status, or -1: none has. */
static int reap(pid_t *workers, size_t count)
{
    int status;
    pid_t ended = waitpid(-1, &status, WNOHANG);
    for (size_t i = 0; ended > 0 && i < count; i++)
        if (workers[i] == ended)
            workers[i] = 0;
    if (ended <= 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_ERROR;
}

static void stop_all(const pid_t *workers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (workers[i] > 0)
            kill(workers[i], SIGTERM);
}

/* Waits for the workers, and passes signals on to them. If one ends with an
 * error, the others stop. Returns the first error. */
static int attend_workers(pid_t *workers, size_t count, const sigset_t *signals)
{
    int result = CLI_OK;
    for (size_t left = count; left > 0;) {
        int number = 0;
        int status;
        sigwait(signals, &number);
        if (number != SIGCHLD)
            stop_all(workers, count);
        while ((status = reap(workers, count)) >= 0) {
            left--;
            if (status != CLI_OK && result == CLI_OK)
                stop_all(workers, count);
            result = result == CLI_OK ? status : result;
        }
    }
    return result;
}

/* Returns the number of workers that have started. */
static size_t start_workers(struct work_slot *worker, pid_t *workers)
{
    fflush(NULL);
    for (size_t n = 0; n < worker->cli->workers; n++) {
        workers[n] = fork();
        if (workers[n] == 0)
            become_worker(worker);
        if (workers[n] < 0) {
            cli_fail("cannot start a worker: %s", strerror(errno));
            return n;
        }
    }
    return worker->cli->workers;
}

int cli_queue_work(struct cli *cli)
{
    struct work_slot worker = {.cli = cli};
    sigset_t signals;
    char **command =
        talloc_zero_array(cli->memory, char *, (unsigned)cli->count);
    pid_t *workers =
        talloc_zero_array(cli->memory, pid_t, (unsigned)cli->workers);
    if (command == NULL || workers == NULL)
        return cli_fail("out of memory");
    memcpy(command, cli->words + 1, (size_t)(cli->count - 1) * sizeof *command);
    worker.command = command;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &worker.inherited);
    size_t count = start_workers(&worker, workers);
    if (count < cli->workers)
        stop_all(workers, count);
    int status = attend_workers(workers, count, &signals);
    return count < cli->workers ? CLI_ERROR : status;
}
