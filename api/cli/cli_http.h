/* Requests to the server, with libcurl: one at a time on one connection, whole
 * or as a stream of lines. cli_pipeline.h has many at a time. */
#ifndef API_CLI_HTTP_H
#define API_CLI_HTTP_H

#include <curl/curl.h>

#include "cli/cli.h"
#include "kindex.h"

/* Takes a line without its end, or bytes as they come; false stops the
 * stream. */
typedef bool cli_line_fn(void *target, struct kx_slice line);

struct cli_call {
    const char *method;
    struct kx_slice path; /* with the query, as it is sent */
    struct kx_slice body; /* data NULL: none */
    const char *type;     /* of the body; NULL: JSON */
    const char *accept;   /* NULL: whatever comes */
    const char *header;   /* one more; NULL: none */
    cli_line_fn *line;    /* NULL: the reply is kept whole */
    cli_line_fn *bytes;   /* instead of line: no lines are looked for */
    void *target;         /* for line and bytes */
    bool any;             /* the reply need not be JSON */
};

struct cli_reply {
    long status;           /* 0: there was none */
    struct kx_buffer body; /* whole; of a stream only what is a problem */
    char etag[64];
    char type[128];
    char size[32]; /* Kindex-Backup-Size */
};

/* Sends a request. CLI_OK for a status of 2xx, with JSON or nothing unless the
 * call takes something else; else what was wrong has been
 * said to standard error, and the exit status for it is returned. */
int cli_ask(struct cli *cli, const struct cli_call *call,
            struct cli_reply *reply);

/* The same without saying what a reply that is no 2xx means. */
int cli_send(struct cli *cli, const struct cli_call *call,
             struct cli_reply *reply);

/* Is the body of the reply JSON? No other can be looked into. */
bool cli_is_json(const struct cli_reply *reply);
/* GET path, whole; JSON. */
int cli_fetch(struct cli *cli, const char *path, struct cli_reply *reply);

/* A handle with address, headers and method of the call set, and the list of
 * headers, which is to be freed after the handle; NULL without memory. */
CURL *cli_handle(struct cli *cli, const struct cli_call *call,
                 struct curl_slist **headers_out);

/* Frees what the requests have kept. */
void cli_http_end(struct cli *cli);

/* Appends the encoded parts of a key that was typed as a path. False when it is
 * none, which has been said as misuse. */
bool cli_read_key(const struct cli *cli, const char *text,
                  struct kx_buffer *out);

/* Makes path that of the entry with the key, under cli->memory. */
void cli_entry_path(const struct cli *cli, const char *key,
                    struct kx_buffer *path);

/* A path that was built; empty when memory ran out on the way, which no request
 * is made with: one that is cut off could name another entry. */
struct kx_slice cli_whole(const struct kx_buffer *path);

/* Append to a path: a key in path syntax, with what may not stand in a URL
 * escaped; a parameter (name=value behind ? or &) that is such a key, or any
 * text. NULL as value appends nothing. */
void cli_add_key(struct kx_buffer *path, const char *key);
void cli_add_key_parameter(struct kx_buffer *path, const char *name,
                           const char *key);
void cli_add_parameter(struct kx_buffer *path, const char *name,
                       const char *text);

#endif
