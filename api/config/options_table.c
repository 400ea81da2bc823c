/* The table of options. */
#include "config/options.h"

enum {
    KI = 1024,
    MI = 1024 * 1024,
    SECOND_MS = 1000,
    DAY_MS = 24 * 3600 * 1000
};

static const struct option_row TABLE[] = {
    {"data", OPTION_TEXT, offsetof(struct options, data), "./kindex-data", 0, 0,
     "data directory; created if missing, with its parents"},
    {"ephemeral", OPTION_FLAG, offsetof(struct options, ephemeral), "0", 0, 0,
     "for tests: serve an empty store from a new directory in TMPDIR or /tmp, "
     "which is removed when the server stops, on a free port of 127.0.0.1 "
     "unless --listen is given; when ready, print one line of JSON: "
     "{\"url\":..,\"pid\":..}"},
    {"engine", OPTION_TEXT, offsetof(struct options, engine), NULL, 0, 0,
     "keep the rows in a PostgreSQL database (14 to 18), "
     "postgresql://USER@HOST/DATABASE, instead of the data directory"},
    {"engine-password-file", OPTION_TEXT,
     offsetof(struct options, engine_password_file), NULL, 0, 0,
     "file with the password for the database"},
    {"engine-insecure", OPTION_FLAG, offsetof(struct options, engine_insecure),
     "0", 0, 0, "accept a database on another machine without verified TLS"},
    {"node", OPTION_NODE, offsetof(struct options, node), NULL, 0, 0,
     "name of this process among those that serve the same database; by "
     "default "
     "the name of the host"},
    {"advertise", OPTION_URL, offsetof(struct options, advertise), NULL, 0, 0,
     "address at which clients of the other nodes reach this node, such as "
     "https://one.example.org:4512"},
    {"forward", OPTION_FORWARD, offsetof(struct options, forward), "proxy", 0,
     0,
     "what a standby does with requests for the active node: proxy (forward "
     "them "
     "and return its answers), redirect (307) or off (503)"},
    {"read-workers", OPTION_NUMBER, offsetof(struct options, read_workers),
     "16", 1, 256,
     "threads that read from a database, each with its own connection, or from "
     "a "
     "slow disk (at most 4)"},
    {"peer-ca", OPTION_TEXT, offsetof(struct options, peer_ca), NULL, 0, 0,
     "file with the authorities that certify the other nodes (PEM); by default "
     "those of the system"},
    {"listen", OPTION_ADDRESSES, offsetof(struct options, listen),
     "localhost:4512", 0, 0,
     "address and port, repeated or separated by commas for several; a port "
     "alone means each loopback address that the machine has; "
     "port 0 means any free port"},
    {"insecure", OPTION_FLAG, offsetof(struct options, insecure), "0", 0, 0,
     "serve requests without a token, also from other machines, as long as "
     "there are no access tokens"},
    {"token-file", OPTION_TEXT, offsetof(struct options, token_file), NULL, 0,
     0,
     "file with an access token that has all rights; created with a new "
     "token if missing"},
    {"jwt-keys", OPTION_TEXT, offsetof(struct options, jwt_keys), NULL, 0, 0,
     "accept JSON Web Tokens (RS256, ES256, EdDSA) signed with a key of this "
     "JWK set: a file, or an https:// address that is fetched again every 10 "
     "minutes"},
    {"jwt-issuer", OPTION_TEXT, offsetof(struct options, jwt_issuer), NULL, 0,
     0, "claim iss that JSON Web Tokens must have"},
    {"jwt-audience", OPTION_TEXT, offsetof(struct options, jwt_audience), NULL,
     0, 0, "claim aud that JSON Web Tokens must have"},
    {"jwt-ca", OPTION_TEXT, offsetof(struct options, jwt_ca), NULL, 0, 0,
     "authorities (PEM) to trust for --jwt-keys https://.. instead of the "
     "system's"},
    {"grants", OPTION_TEXT, offsetof(struct options, grants), NULL, 0, 0,
     "file that says what the holders of JSON Web Tokens and client "
     "certificates may do: an array of objects with scopes, a prefix, and the "
     "claims or names that they are for"},
    {"token-rate", OPTION_NUMBER, offsetof(struct options, token_rate),
     "600000", 1, 1000000000, "requests per minute with one access token"},
    {"token-streams", OPTION_NUMBER, offsetof(struct options, token_streams),
     "1000", 1, 1000000,
     "concurrent watches and other streams with one access token"},
    {"host-names", OPTION_LIST, offsetof(struct options, host_names), NULL, 0,
     0,
     "host names, separated by commas, that requests may use besides localhost "
     "and IP addresses; by default none if all addresses are loopback, "
     "otherwise any"},
    {"cors-origin", OPTION_ORIGINS, offsetof(struct options, cors_origin), NULL,
     0, 0,
     "sites, separated by commas, whose pages may use the service, such as "
     "https://app.example.org"},
    {"console", OPTION_SWITCH, offsetof(struct options, console), "on", 0, 0,
     "the console, pages for a browser at /console: on or off"},
    {"compress", OPTION_SWITCH, offsetof(struct options, compress), "off", 0, 0,
     "compress replies of 1 KiB and more for clients that send Accept-Encoding "
     "with zstd or gzip: on or off"},
    {"tls-cert", OPTION_TEXT, offsetof(struct options, tls_cert), NULL, 0, 0,
     "serve HTTPS: file with the certificate and its chain (PEM)"},
    {"tls-key", OPTION_TEXT, offsetof(struct options, tls_key), NULL, 0, 0,
     "file with the certificate's private key (PEM)"},
    {"tls-client-ca", OPTION_TEXT, offsetof(struct options, tls_client_ca),
     NULL, 0, 0,
     "accept only clients with a certificate of the authorities in this file "
     "(PEM)"},
    {"tls-client-crl", OPTION_TEXT, offsetof(struct options, tls_client_crl),
     NULL, 0, 0,
     "certificates that the authorities of --tls-client-ca have revoked (PEM)"},
    {"loops", OPTION_NUMBER, offsetof(struct options, loops), "1", 1, 64,
     "event-loop threads"},
    {"connections-max", OPTION_NUMBER,
     offsetof(struct options, connections_max), "4096", 1, 1000000,
     "open connections; further connections get 503"},
    {"connections-per-address", OPTION_NUMBER,
     offsetof(struct options, connections_per_address), "1024", 1, 1000000,
     "open connections from one address"},
    {"streams-max", OPTION_NUMBER, offsetof(struct options, streams_max),
     "1000", 1, 100000, "concurrent requests on one HTTP/2 connection"},
    {"requests-max", OPTION_NUMBER, offsetof(struct options, requests_max),
     "16384", 1, 10000000,
     "concurrent requests on all connections; further HTTP/2 streams are "
     "refused"},
    {"idle-timeout", OPTION_DURATION, offsetof(struct options, idle_timeout_ms),
     "60s", SECOND_MS, DAY_MS, "close an idle connection after this time"},
    {"header-timeout", OPTION_DURATION,
     offsetof(struct options, header_timeout_ms), "10s", 100, DAY_MS,
     "time limit for a TLS handshake, and for the headers of a "
     "request"},
    {"body-timeout", OPTION_DURATION, offsetof(struct options, body_timeout_ms),
     "60s", 100, DAY_MS, "time limit for the body of a request"},
    {"headers-max", OPTION_SIZE, offsetof(struct options, headers_max), "11KiB",
     2 * KI, 60 * KI, "largest request line and headers"},
    {"header-count-max", OPTION_NUMBER,
     offsetof(struct options, header_count_max), "64", 8, 1000,
     "most headers of a request"},
    {"cache", OPTION_SIZE, offsetof(struct options, cache), "256MiB", MI,
     1ull << 42,
     "memory for pages of the tree and for single records, half each"},
    {"value-max", OPTION_SIZE, offsetof(struct options, value_max), "1MiB", 1,
     64 * MI, "largest value"},
    {"body-max", OPTION_SIZE, offsetof(struct options, body_max), "8MiB", KI,
     1024 * MI, "largest body of the other requests, such as POST /atomic"},
    {"bulk-max", OPTION_SIZE, offsetof(struct options, bulk_max), "64MiB", KI,
     1024 * MI, "largest body of POST /bulk"},
    {"bodies-max", OPTION_SIZE, offsetof(struct options, bodies_max), "256MiB",
     MI, 1024 * 1024 * (uint64_t)MI,
     "memory for the bodies of all requests and replies; while it is used up, "
     "large bodies are refused and lists wait"},
    {"queue-max", OPTION_NUMBER, offsetof(struct options, queue_max), "4096", 1,
     1000000,
     "commits that may wait, half of them of one client; further commits get "
     "503"},
    {"idempotency-ttl", OPTION_DURATION,
     offsetof(struct options, idempotency_ttl_ms), "24h", 1, 30ull * DAY_MS,
     "how long the result of a write with an Idempotency-Key is kept for "
     "retries"},
    {"idempotency-quota", OPTION_SIZE,
     offsetof(struct options, idempotency_quota), "1GiB", 4 * KI,
     1024 * 1024 * (uint64_t)MI,
     "disk space for the results of one access token's writes with an "
     "Idempotency-Key"},
    {"checkpoint-interval", OPTION_DURATION,
     offsetof(struct options, checkpoint_interval_ms), "30s", SECOND_MS, DAY_MS,
     "longest time between checkpoints"},
    {"checkpoint-log", OPTION_SIZE, offsetof(struct options, checkpoint_log),
     "128MiB", MI, 2048ull * MI, "also write a checkpoint after this much log"},
    {"disk-floor", OPTION_SIZE, offsetof(struct options, disk_floor), "128MiB",
     0, 1ull << 42, "refuse writes while less disk space than this is free"},
    {"build-memory", OPTION_SIZE, offsetof(struct options, build_memory),
     "64MiB", MI, 64ull << 30,
     "memory for sorting the entries of indexes that are built; beyond that "
     "they "
     "are sorted in temporary files"},
    {"archive", OPTION_TEXT, offsetof(struct options, archive), NULL, 0, 0,
     "directory or s3://BUCKET/PREFIX to which the log is copied continuously, "
     "with backups, for restoring a damaged data directory"},
    {"followed", OPTION_FLAG, offsetof(struct options, followed), "0", 0, 0,
     "write the rows of each commit into the archive's log as well, so that "
     "other servers can follow it with --follow"},
    {"fence-lease", OPTION_DURATION, offsetof(struct options, fence_lease_ms),
     "10s", 2 * SECOND_MS, DAY_MS,
     "with --followed: refuse writes and strong reads when the archive has had "
     "nothing from this server for this long; kindex promote waits as long"},
    {"archive-sync", OPTION_FLAG, offsetof(struct options, archive_sync), "0",
     0, 0,
     "with --followed: answer a write only when the archive has it, so that a "
     "promoted standby lacks nothing that was acknowledged"},
    {"follow", OPTION_TEXT, offsetof(struct options, follow), NULL, 0, 0,
     "be a standby: keep a copy of the server that runs with --followed and "
     "this --archive"},
    {"primary", OPTION_URL, offsetof(struct options, primary), NULL, 0, 0,
     "address of the server that --follow follows, for what a standby does not "
     "answer itself"},
    {"archive-interval", OPTION_DURATION,
     offsetof(struct options, archive_interval_ms), "24h", SECOND_MS,
     366ull * DAY_MS, "time between the archive's backups"},
    {"archive-keep", OPTION_NUMBER, offsetof(struct options, archive_keep), "7",
     1, 1000, "backups to keep in the archive"},
    {"log-level", OPTION_LEVEL, offsetof(struct options, log_level), "info", 0,
     0, "error, warning, info or debug"},
    {"access-log", OPTION_FLAG, offsetof(struct options, access_log), "0", 0, 0,
     "log a line for every request"},
    {"scan-max", OPTION_NUMBER, offsetof(struct options, scan_max), "10000", 1,
     10000000,
     "entries that one page of a list with a where reads; a stream reads all"},
    {"slow-ms", OPTION_NUMBER, offsetof(struct options, slow_ms), "500", 0,
     DAY_MS,
     "log requests that take at least this many milliseconds, and show them "
     "in GET /slow; 0: all"},
    {"port-file", OPTION_TEXT, offsetof(struct options, port_file), NULL, 0, 0,
     "file to which the port is written when the server is ready"},
    {"help", OPTION_ACTION, offsetof(struct options, help), NULL, 0, 0,
     "print this help"},
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
