/* From options to a running server, and back down in the opposite order:
 * signals, framing, sockets, store, loops. The main thread only waits for a
 * signal; everything else is done by the loops and by the store's own
 * threads. */
#include "server/server.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "admin/backup.h"
#include "admin/history.h"
#include "admin/metrics_history.h"
#include "exchange/exchange_call.h"
#include "exchange/workers.h"
#include "forward/forward.h"
#include "identity/identity.h"
#include "kindex/backup.h"
#include "s3/s3.h"
#include "server/heap.h"
#include "http1/mhd_socket.h"
#include "server/limits.h"
#include "server/listen_sockets.h"
#include "server/routes.h"
#include "server/loop.h"
#include "server/sd_notify.h"
#include "server/token_file.h"
#include "server/greeting.h"
#include "server/standby.h"
#include "server/store_options.h"
#include "net/connection.h"

enum {
    LOOK_AT_STORE_MS = 500,
    ARCHIVE_MAX = 4096,            /* bytes of its path, with the NUL */
    EPHEMERAL_PATH_MAX = 1024,     /* bytes, with the NUL */
    EPHEMERAL_DESCRIPTORS_MAX = 16 /* open at the same time to remove it */
};

struct server {
    struct options options; /* connections_max, or less if the system does not
                             * allow that many */
    struct service service;
    struct backup_tickets tickets;
    struct metrics_history history;
    struct listen_sockets sockets;
    struct loop *loops[LOOPS_MAX];
    size_t loop_count;
    struct standby standby;
    char ephemeral[EPHEMERAL_PATH_MAX];   /* directory to remove; empty: none */
    const struct kx_object_store *bucket; /* of the archive; NULL: none */
    bool again;                           /* SERVER_AGAIN */
    bool fenced; /* again, because another node has the lease */
    int signal_fd;
};

/* Prints a message for the user at the terminal. Returns false, so that a step
 * can return its result. */
static bool report(const char *what, const char *which, const char *why)
{
    fprintf(stderr, "kindex: %s %s: %s\n", what, which, why);
    return false;
}

/* ---- Signals ------------------------------------------------------------ */

/* Called before the first thread is created, because threads inherit the mask.
 * SIGUSR1, which log rotation sends to daemons, must not end this one, whose
 * log is its standard error. */
static bool catch_signals(struct server *server)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0)
        return report("cannot", "block signals", strerror(errno));
    server->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    return server->signal_fd >= 0 ||
           report("cannot", "watch signals", strerror(errno));
}

/* Which route a body is for is not known here: the largest limit counts, and
 * the route's own is admission.c's. */
static bool start_framing(const struct options *options)
{
    uint64_t body_max = options->value_max > options->body_max
                            ? options->value_max
                            : options->body_max;
    if (options->bulk_max > body_max)
        body_max = options->bulk_max;
    struct mhd_socket_limits limits = {
        .framing = {.body_max = body_max + REQUEST_DROP_MAX,
                    .target_max = REQUEST_TARGET_MAX,
                    .headers_max = (uint32_t)options->headers_max,
                    .header_count_max = (uint32_t)options->header_count_max},
        .header_timeout_ms = options->header_timeout_ms,
        .body_timeout_ms = options->body_timeout_ms};
    return mhd_socket_start(&limits) ||
           report("cannot", "start", "memory ran out");
}

/* Of several nodes in front of a database one answers for all. */
static bool start_forwarding(struct server *server)
{
    const char *peer_ca = server->options.peer_ca;
    if (peer_ca != NULL && access(peer_ca, R_OK) != 0)
        return report("cannot read", peer_ca, strerror(errno));
    server->service.forward = forward_handle;
    return forward_start() || report("cannot", "start", "memory ran out");
}

/* Opens what identifies a caller without an access token. */
static bool start_identities(struct server *server)
{
    const struct options *options = &server->options;
    struct service *service = &server->service;
    char why[300];
    service->identities = identities_open(options, why, sizeof why);
    if (service->identities == NULL)
        return report("cannot use --grants", options->grants, why);
    if (options->jwt_keys == NULL)
        return true;
    service->issuer = issuer_open(options, why, sizeof why);
    return service->issuer != NULL ||
           report("cannot use --jwt-keys", options->jwt_keys, why);
}

/* Opens the parts that connections need. TLS starts with the first certificate,
 * or not at all. */
static bool start_visits(struct server *server)
{
    const struct options *options = &server->options;
    struct service *service = &server->service;
    char why[200];
    service->tenants =
        tenants_open(options->connections_per_address, options->loops);
    if (service->tenants == NULL)
        return report("cannot", "start", "memory ran out");
    if (service->role.shared && !start_forwarding(server))
        return false;
    if (options->grants != NULL && !start_identities(server))
        return false;
    if (options->tls_cert == NULL)
        return true;
    service->keyring = tls_keyring_open(options, why, sizeof why);
    return service->keyring != NULL || report("cannot", "start TLS", why);
}

/* ---- The directory of --ephemeral ---------------------------------------- */

/* Creates a new directory, which only this user can enter, and makes it that of
 * the data. Signals are blocked since catch_signals, so none ends the process
 * before remove_ephemeral. */
static bool create_ephemeral(struct server *server)
{
    char path[EPHEMERAL_PATH_MAX];
    const char *parent = getenv("TMPDIR");
    if (!server->options.ephemeral)
        return true;
    if (parent == NULL || *parent == '\0')
        parent = "/tmp";
    if (snprintf(path, sizeof path, "%s/kindex-ephemeral-XXXXXX", parent) >=
        (int)sizeof path)
        return report("cannot use", "TMPDIR", strerror(ENAMETOOLONG));
    if (mkdtemp(path) == NULL)
        return report("cannot create a directory in", parent, strerror(errno));
    memcpy(server->ephemeral, path, sizeof path);
    server->options.data = server->ephemeral;
    return true;
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* Called after the store is closed, and also if it could not be opened. Links
 * are removed, not followed. */
static bool remove_ephemeral(const struct server *server)
{
    const char *path = server->ephemeral;
    return *path == '\0' ||
           nftw(path, remove_one, EPHEMERAL_DESCRIPTORS_MAX,
                FTW_DEPTH | FTW_PHYS) == 0 ||
           report("cannot remove", path, strerror(errno));
}

/* ---- Sockets, store and loops ------------------------------------------- */

static bool open_sockets(struct server *server)
{
    const struct options *options = &server->options;
    char where[ADDRESS_TEXT_MAX];
    return listen_sockets_open(&server->sockets, &options->listen,
                               options->loops, where) ||
           report("cannot listen on", where, strerror(errno));
}

/* `option` names the archive, or NULL. */
static bool open_bucket(struct server *server, const char *option,
                        const char *archive, struct kx_options *store)
{
    struct kx_fault fault = {.status = KX_OK};
    if (archive == NULL || !s3_is_named(archive))
        return true;
    server->bucket = s3_open(archive, &fault);
    store->objects = server->bucket;
    return server->bucket != NULL || report("cannot use", option, fault.detail);
}

/* Recovers what a crash may have left, which can take a while. */
static bool open_directory(struct server *server, struct kx_options *store)
{
    struct kx_fault fault = {.status = KX_OK};
    const char *beside[STORE_OPTIONS_BESIDE_MAX];
    store_options_beside(&server->options, beside);
    if (!open_bucket(server, "--archive", store->archive, store))
        return false;
    store->beside = beside; /* NOLINT: kx_open reads it before it returns */
    enum kx_status status = kx_open(store, &server->service.store, &fault);
    return status == KX_OK ||
           report("cannot open", server->options.data,
                  fault.detail[0] != '\0' ? fault.detail
                                          : kx_status_title(status));
}

/* With a database the server may be a standby, and open the store later. With
 * --follow it stays one. */
static bool open_store(struct server *server)
{
    struct kx_options store;
    store_options_set(&server->options, &store);
    store.node = server->service.role.node;
    if (store.engine == NULL && store.follow == NULL)
        return open_directory(server, &store);
    if (!open_bucket(server, "--follow", store.follow, &store))
        return false;
    return standby_begin(&server->standby, &server->service, &store) !=
           STANDBY_FAILED;
}

static bool is_standby(const struct server *server)
{
    return server->service.store == NULL;
}

/* True if there are addresses where clients need a token. */
static bool is_closed(const struct options *options)
{
    return addresses_open(&options->listen) != NULL && !options->insecure;
}

static bool needs_token(const struct options *options)
{
    return is_closed(options) && options->token_file == NULL &&
           options->grants == NULL;
}

/* False if there is no store yet: a new one has no tokens. */
static bool may_have_tokens(const struct options *options)
{
    return options->engine != NULL ||
           (!options->ephemeral && access(options->data, F_OK) == 0);
}

static bool refuse_open(const struct options *options)
{
    char open[ADDRESS_TEXT_MAX];
    address_print(addresses_open(&options->listen), open);
    fprintf(
        stderr,
        "kindex: --listen: other machines can reach %s and there is no access "
        "token; add --token-file FILE (a missing file is created with a new "
        "token), or --insecure to serve requests without a token\n",
        open);
    return false;
}

/* Decides, when the store is open, how clients are admitted: with tokens, or
 * without if there are loopback addresses only or --insecure. */
static bool decide_access(const struct server *server)
{
    const struct options *options = &server->options;
    struct kx_store *store = server->service.store;
    if (options->token_file != NULL)
        return token_file_use(options->token_file, store);
    return !needs_token(options) || kx_tokens_any(store) ||
           refuse_open(options);
}

/* The token in the file is valid on a standby, too. If the file is missing, the
 * active node creates it; until this node has the file, it leaves all requests
 * to the active node. */
static bool follow_token_file(struct server *server)
{
    const char *path = server->options.token_file;
    server->service.lacks_token_file = path != NULL && access(path, F_OK) != 0;
    return path == NULL || server->service.lacks_token_file ||
           token_file_use(path, server->service.follower_store);
}

/* The loops may use the store. */
static bool offer_store(struct server *server)
{
    if (!decide_access(server))
        return false;
    atomic_store(&server->service.opened, true);
    return true;
}

/* The loops do not wait for a database, but can for a disk. */
static bool start_workers(struct server *server)
{
    struct service *service = &server->service;
    size_t count = server->options.read_workers;
    if (server->options.engine == NULL && count > DISK_READERS_MAX)
        count = DISK_READERS_MAX;
    service->workers = workers_open(service, server->options.loops, count,
                                    exchange_call_serve);
    return service->workers != NULL ||
           report("cannot", "start", "threads or memory ran out");
}

/* The sockets belong to their loop from here on, also when it does not
 * start. */
static bool start_loops(struct server *server)
{
    for (size_t i = 0; i < server->options.loops; i++) {
        struct socket_set set = listen_sockets_take(&server->sockets, i);
        server->loops[i] = loop_start(&server->service, (unsigned)i, &set);
        if (server->loops[i] == NULL)
            return report("cannot", "start an event loop", strerror(errno));
        server->loop_count++;
    }
    return true;
}

/* Tells all loops to stop before it waits for any, so that they end at the same
 * time. */
static void stop_loops(struct server *server)
{
    server->service.stopping = true;
    for (size_t i = 0; i < server->loop_count; i++)
        loop_stop(server->loops[i]);
    for (size_t i = 0; i < server->loop_count; i++)
        loop_join(server->loops[i]);
}

/* ---- Serving ------------------------------------------------------------ */

/* Writes the number to another file and renames that, so that a reader never
 * sees part of the number. */
static bool write_port_file(const struct server *server)
{
    const char *path = server->options.port_file;
    char part[4096];
    if (path == NULL)
        return true;
    int size = snprintf(part, sizeof part, "%s.part", path);
    FILE *file = size < (int)sizeof part ? fopen(part, "we") : NULL;
    if (file == NULL)
        return report("cannot write", path, strerror(errno));
    unsigned port = address_port(&server->sockets.bound.all[0]);
    bool done = fprintf(file, "%u\n", port) > 0;
    done = fclose(file) == 0 && done;
    return (done && rename(part, path) == 0) ||
           report("cannot write", path, strerror(errno));
}

/* Reads the files again that may change while the server runs. False if there
 * is no such file. */
static bool reload(const struct service *service)
{
    if (service->keyring != NULL)
        tls_keyring_reload(service->keyring);
    if (service->identities != NULL)
        identities_reload(service->identities);
    if (service->issuer != NULL)
        issuer_reload(service->issuer);
    return service->keyring != NULL || service->identities != NULL;
}

/* Returns true if the signal means shut down. SIGHUP does not if there are
 * files to be read again, or if it comes from a supervisor and not from a
 * terminal that was closed. */
static bool take_signal(const struct server *server)
{
    struct signalfd_siginfo info;
    if (read(server->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    if (info.ssi_signo == SIGHUP && reload(&server->service))
        return false;
    if (info.ssi_signo == SIGHUP && getenv("NOTIFY_SOCKET") != NULL)
        return false;
    kx_log(KX_LOG_INFO, "stopping", "signal=%u", info.ssi_signo);
    return true;
}

/* Checks whether this standby can become active. False: the server must end. */
static bool look_at_lease(struct server *server)
{
    enum standby_state state = standby_look(&server->standby);
    server->again = state == STANDBY_PROMOTED;
    if (server->again)
        kx_log(KX_LOG_INFO, "restarting", "reason=promoted");
    return state != STANDBY_PROMOTED && state != STANDBY_FAILED &&
           (state != STANDBY_ACTIVE || offer_store(server));
}

/* Of a data directory only a new start, which recovers it, can help then. */
static bool must_begin_again(struct server *server)
{
    bool shared = server->service.role.shared;
    bool failed = kx_store_failed(server->service.store);
    if (!failed && !standby_steps_down(&server->service))
        return false;
    server->again = shared;
    server->fenced = shared && failed;
    kx_log(failed ? KX_LOG_ERROR : KX_LOG_INFO,
           shared ? "restarting" : "stopping", "reason=%s",
           !failed                                    ? "step-down"
           : shared                                   ? "lease-lost"
           : kx_store_replaced(server->service.store) ? "replaced"
                                                      : "storage-failed");
    return true;
}

/* Waits for a signal to stop, or until the server has to end. True: a signal.
 */
static bool wait_for_end(struct server *server)
{
    struct pollfd signals = {.fd = server->signal_fd, .events = POLLIN};
    for (;;) {
        int pause_ms = is_standby(server) ? STANDBY_LOOK_MS : LOOK_AT_STORE_MS;
        if (poll(&signals, 1, pause_ms) > 0 && take_signal(server))
            return true;
        heap_trim_after_peak(&server->service.counters);
        history_tend(&server->service);
        if (is_standby(server) ? !look_at_lease(server)
                               : must_begin_again(server))
            return false;
    }
}

/* A supervisor must not take a new start for the end. */
static void say_end(const struct server *server)
{
    if (!server->again)
        sd_notify_send("STOPPING=1");
}

/* The port file is written after the loops have started, so its reader can
 * connect. The store is closed last, as the loops' exchanges wait for its
 * answers. */
static bool serve(struct server *server)
{
    bool good = (is_standby(server) ? follow_token_file(server)
                                    : offer_store(server)) &&
                start_workers(server) && start_loops(server) &&
                write_port_file(server);
    if (good) {
        greeting_print(&server->service, &server->sockets.bound);
        sd_notify_send("READY=1");
        good = wait_for_end(server);
    }
    say_end(server);
    if (!is_standby(server))
        kx_close_begin(server->service.store);
    stop_loops(server);
    workers_close(server->service.workers);
    standby_end(&server->standby);
    if (!is_standby(server)) {
        good = good && !kx_store_failed(server->service.store);
        kx_close(server->service.store);
    }
    s3_close(server->bucket);
    return good;
}

static bool serve_store(struct server *server)
{
    bool served =
        create_ephemeral(server) && open_store(server) && serve(server);
    return remove_ephemeral(server) && served;
}

/* Identifiers of requests begin anywhere; without the system's help, with the
 * time. */
static void init_service(struct server *server)
{
    struct service *service = &server->service;
    uint64_t first = (uint64_t)kx_now_ms() << 20;
    if (getrandom(&first, sizeof first, GRND_NONBLOCK) < 0)
        kx_log(KX_LOG_DEBUG, "no-random", "error=\"%s\"", strerror(errno));
    service->options = &server->options;
    service->routes = &ROUTES;
    service->started_at_ms = kx_now_ms();
    service->closed = is_closed(&server->options);
    service->counters.next_request_id = first;
    role_init(&service->role,
              server->options.engine != NULL || server->options.follow != NULL,
              server->options.node);
    pthread_mutex_init(&service->slow.lock, NULL);
    pthread_mutex_init(&server->tickets.lock, NULL);
    pthread_mutex_init(&server->history.lock, NULL);
    service->tickets = &server->tickets;
    service->history = &server->history;
    history_open(service);
}

/* After a promotion, --follow names the archive that this server continues. */
static bool follow_or_serve(struct options *options)
{
    static char archive[ARCHIVE_MAX];
    struct kx_fault fault = {.detail = ""};
    if (options->follow == NULL)
        return true;
    enum kx_status status = kx_promoted(options->data, &fault);
    if (status == KX_ABSENT)
        return true;
    if (status != KX_OK)
        return report("cannot open", options->data, fault.detail);
    snprintf(archive, sizeof archive, "%.*s",
             (int)kx_archive_size(options->follow), options->follow);
    options->archive = archive;
    options->followed = true;
    options->follow = NULL;
    return true;
}

int server_run(const struct options *options)
{
    static struct server server;
    heap_configure(options->engine != NULL);
    server.options = *options;
    if (!follow_or_serve(&server.options))
        return 1;
    init_service(&server);
    kx_log_level((enum kx_log_level)options->log_level);
    /* If there is no data directory, creates nothing, not even a token. */
    if (needs_token(options) && !may_have_tokens(options)) {
        refuse_open(options);
        return 1;
    }
    limits_fit(&server.options);
    limits_warn();
    store_options_warn(options);
    if (!catch_signals(&server) || !start_framing(options) ||
        !start_visits(&server))
        return 1;
    /* The port is bound first: if it is in use the data stay untouched. */
    bool served = open_sockets(&server) && serve_store(&server);
    listen_sockets_close(&server.sockets);
    mhd_socket_stop();
    tls_keyring_close(server.service.keyring);
    issuer_close(server.service.issuer);
    identities_close(server.service.identities);
    tenants_close(server.service.tenants);
    forward_stop();
    close(server.signal_fd);
    if (server.fenced)
        role_pass_on_fenced(&server.service.role);
    return server.again ? SERVER_AGAIN : served ? 0 : 1;
}
