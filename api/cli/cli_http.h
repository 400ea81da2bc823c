/* Requests to the server, with libcurl: one at a time on one connection. The
 * reply is kept whole or received as a stream. For concurrent requests see
 * bulk/cli_pipeline.h. */
#ifndef API_CLI_HTTP_H
#define API_CLI_HTTP_H

#include <curl/curl.h>

#include "cli/cli.h"
#include "kindex.h"

/* Receives a line without its end, or bytes as they arrive. Return false to
 * stop the stream. */
typedef bool cli_line_fn(void *target, struct kx_slice line);
/* Called about once per second. Returns false to stop the stream. */
typedef bool cli_tick_fn(void *target);

struct cli_call {
    const char *method;
    struct kx_slice path; /* with the query, as it is sent */
    struct kx_slice body; /* data NULL: none */
    const char *type;     /* of the body; NULL: JSON */
    const char *accept;   /* NULL: any type */
    const char *header;   /* an additional header line; NULL: none */
    cli_line_fn *line;    /* NULL: the reply is kept whole */
    cli_line_fn *bytes;   /* instead of line: receives the bytes unsplit */
    cli_tick_fn *tick;    /* for a stream that may pause; NULL: none */
    void *target;         /* for line, bytes and tick */
    bool any;             /* the reply need not be JSON */
    bool quiet;           /* prints nothing if no reply arrives */
    bool may_pause;       /* the stream may be silent for longer than --timeout
                           */
};

struct cli_reply {
    long status;           /* 0: no reply */
    struct kx_buffer body; /* for a stream only a problem document */
    char etag[64];
    char type[128];
    char size[32]; /* Kindex-Backup-Size */
};

/* Sends a request. Returns CLI_OK for a reply with any status; the caller frees
 * reply->body. If no reply arrived, prints the error to standard error and
 * returns the exit status. */
int cli_send(struct cli *cli, const struct cli_call *call,
             struct cli_reply *reply);

/* The largest reply that is kept whole, and the longest line of a stream. */
enum { CLI_REPLY_BYTES_MAX = 256 << 20 };

/* Prints why the request of the handle got no reply, or only part of one.
 * Returns the exit status. */
int cli_unreachable(const struct cli *cli, CURL *curl, CURLcode code);

/* True if the body of the reply is valid JSON; only then may it be read. */
bool cli_is_json(const struct cli_reply *reply);

/* Sends a request. Returns CLI_OK for a 2xx status whose body is JSON or empty,
 * or is anything if call->any is set. Otherwise prints the error to standard
 * error and returns the exit status. The caller frees reply->body in both
 * cases. */
int cli_ask(struct cli *cli, const struct cli_call *call,
            struct cli_reply *reply);
/* Sends GET path with cli_ask; the reply is kept whole and is JSON. */
int cli_fetch(struct cli *cli, const char *path, struct cli_reply *reply);

/* The speed of a request and its reply, which --timeout limits. */
struct cli_pace {
    uint64_t timeout_ns; /* 0: none */
    uint64_t begun_ns;   /* when the current measurement began */
    curl_off_t bytes;    /* transferred before begun_ns */
    uint64_t busy_ns;    /* time in which this program did not read, not counted
                          */
};

/* Returns a handle with the URL, headers and method of the call, or NULL if
 * memory ran out. *headers_out is the list of headers; the caller frees it
 * after the handle. *pace must stay valid until the request has ended. */
CURL *cli_handle(struct cli *cli, const struct cli_call *call,
                 struct cli_pace *pace, struct curl_slist **headers_out);

/* Closes the connection. Does nothing if no request was sent. */
void cli_http_end(struct cli *cli);

/* Appends the encoded parts of a key given as a path. Returns false after
 * printing why the key is not valid. */
bool cli_read_key(const struct cli *cli, const char *text,
                  struct kx_buffer *out);

/* As cli_read_key, for a prefix, which may end with a '/'. */
bool cli_read_prefix(const struct cli *cli, const char *text,
                     struct kx_buffer *out);

/* Sets *path to the path of the entry with the key, allocated in cli->memory.
 */
void cli_entry_path(const struct cli *cli, const char *key,
                    struct kx_buffer *path);

/* Returns the path that was built, or an empty slice if memory ran out.
 * Requests with an empty path are not sent: a truncated path could name another
 * entry. */
struct kx_slice cli_whole(const struct kx_buffer *path);

/* Append to a path: a key in path syntax, escaped where a URL needs it; a
 * parameter (? or &, then name=value) whose value is such a key, or any text.
 * If the value is NULL, nothing is appended. */
void cli_add_key(struct kx_buffer *path, const char *key);
void cli_add_key_parameter(struct kx_buffer *path, const char *name,
                           const char *key);
void cli_add_parameter(struct kx_buffer *path, const char *name,
                       const char *text);

/* The exit status for an HTTP status. */
int cli_exit_of(long status);

/* Prints a problem document to standard error and returns the exit status. A
 * status such as 404 or 412 without a problem document is not from Kindex:
 * returns CLI_ERROR. */
int cli_problem(const struct cli *cli, const struct cli_reply *reply);

/* Whether a key has an entry or only entries under it, for a hint when the user
 * gave a prefix as a key. */
enum cli_presence {
    PRESENCE_UNKNOWN, /* the token may not read the entry */
    PRESENCE_ENTRY,
    PRESENCE_NOTHING,
    PRESENCE_BELOW /* no entry, but entries under it */
};

/* The presence that a reply to GET of the entry shows. */
enum cli_presence cli_presence_of(const struct cli_reply *reply);

/* Sends GET for the entry and sets *presence_out. Returns CLI_OK, or the exit
 * status after printing why no reply arrived. */
int cli_presence_ask(struct cli *cli, const char *key,
                     enum cli_presence *presence_out);

/* Prints to standard error that the key has no entry but entries under it, and
 * names a command that is followed by the key. `does` says what the command
 * does with the entries, such as "lists them". */
void cli_presence_tell(const char *key, const char *command, const char *does);

#endif
