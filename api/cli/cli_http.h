/* Requests to the server, with libcurl: one at a time on one connection. The
 * reply is kept whole or taken as a stream. For many at a time see
 * bulk/cli_pipeline.h. */
#ifndef API_CLI_HTTP_H
#define API_CLI_HTTP_H

#include <curl/curl.h>

#include "cli/cli.h"
#include "kindex.h"

/* Takes a line without its end, or bytes as they arrive. False stops the
 * stream. */
typedef bool cli_line_fn(void *target, struct kx_slice line);

struct cli_call {
    const char *method;
    struct kx_slice path; /* with the query, as it is sent */
    struct kx_slice body; /* data NULL: none */
    const char *type;     /* of the body; NULL: JSON */
    const char *accept;   /* NULL: any type */
    const char *header;   /* an additional header line; NULL: none */
    cli_line_fn *line;    /* NULL: the reply is kept whole */
    cli_line_fn *bytes;   /* instead of line: the stream is not split */
    void *target;         /* for line and bytes */
    bool any;             /* the reply need not be JSON */
    bool may_pause;       /* it may be silent for longer than --timeout */
};

struct cli_reply {
    long status;           /* 0: no reply */
    struct kx_buffer body; /* of a stream only a problem document */
    char etag[64];
    char type[128];
    char size[32]; /* Kindex-Backup-Size */
};

/* Sends a request. CLI_OK for a reply with any status. Otherwise prints the
 * error to standard error and returns the exit status. */
int cli_send(struct cli *cli, const struct cli_call *call,
             struct cli_reply *reply);

/* The largest reply that is kept whole, and the longest line of a stream. */
enum { CLI_REPLY_BYTES_MAX = 256 << 20 };

/* Prints why no reply came to the request of the handle, or only a part.
 * Returns the exit status. */
int cli_unreachable(const struct cli *cli, CURL *curl, CURLcode code);

/* True if the body of the reply is valid JSON; only then may it be read. */
bool cli_is_json(const struct cli_reply *reply);

/* Sends a request. CLI_OK for a status of 2xx, with a body that is JSON or
 * empty, unless call->any. Otherwise prints the error to standard error and
 * returns the exit status. */
int cli_ask(struct cli *cli, const struct cli_call *call,
            struct cli_reply *reply);
/* The same for GET path; the reply is kept whole and is JSON. */
int cli_fetch(struct cli *cli, const char *path, struct cli_reply *reply);

/* How fast a request and its reply go, measured against --timeout. */
struct cli_pace {
    uint64_t timeout_ns; /* 0: none */
    uint64_t begun_ns;   /* of the present measurement ... */
    curl_off_t bytes;    /* ... and the bytes before it */
    uint64_t busy_ns;    /* not counted: this program did not read */
};

/* A handle with the address, headers and method of the call, and the list of
 * headers, which the caller frees after the handle. The pace is the caller's
 * until the request has ended. NULL without memory. */
CURL *cli_handle(struct cli *cli, const struct cli_call *call,
                 struct cli_pace *pace, struct curl_slist **headers_out);

/* Frees the connection. */
void cli_http_end(struct cli *cli);

/* Appends the encoded parts of a key given as a path. False: it is not valid,
 * and the message has been printed. */
bool cli_read_key(const struct cli *cli, const char *text,
                  struct kx_buffer *out);

/* Sets path to the address of the entry with the key, in cli->memory. */
void cli_entry_path(const struct cli *cli, const char *key,
                    struct kx_buffer *path);

/* A path that was built; empty when memory ran out. No request is sent with an
 * empty path: one that was cut off could name another entry. */
struct kx_slice cli_whole(const struct kx_buffer *path);

/* Append to a path: a key in path syntax, with escapes where a URL needs them;
 * a parameter (name=value after ? or &) whose value is such a key, or any text.
 * A NULL value appends nothing. */
void cli_add_key(struct kx_buffer *path, const char *key);
void cli_add_key_parameter(struct kx_buffer *path, const char *name,
                           const char *key);
void cli_add_parameter(struct kx_buffer *path, const char *name,
                       const char *text);

#endif
