/* The console: its page, and the headers that protect it. A script runs only
 * with the nonce of the page, because stored values are served from the same
 * origin; the policy for Trusted Types ('none') keeps text from becoming
 * markup. */
#include "console/console_handlers.h"

#include <string.h>
#include <sys/random.h>
#include <talloc.h>

#include "admin/admin_handlers.h"
#include "console/console_files.h"
#include "http/accept.h"
#include "http/coding.h"
#include "http/problem.h"
#include "http/service.h"
#include "rest/query_params.h"

enum { NONCE_BYTES = 16 };

#define POLICY                                                                 \
    "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "        \
    "img-src 'self' blob:; connect-src 'self'; form-action 'none'; base-uri "  \
    "'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "     \
    "trusted-types 'none'"

static bool is_off(const struct request *request)
{
    return !request->service->options->console;
}

static void not_found(struct request *request, struct reply *reply)
{
    const char *why = is_off(request)
                          ? "The console is not served (--console off)."
                          : "The console has no such file.";
    problem(request, reply, PROBLEM_NOT_FOUND, "%s", why);
}

static void add_common(struct reply *reply)
{
    reply_header(reply, "X-Content-Type-Options", "nosniff");
    reply_header(reply, "Referrer-Policy", "no-referrer");
}

/* ---- The page ------------------------------------------------------------ */

/* Returns NULL without memory. */
static const char *make_nonce(struct request *request)
{
    uint8_t bytes[NONCE_BYTES];
    char *text = talloc_array(request->memory, char, 2 * NONCE_BYTES + 1);
    if (text == NULL ||
        getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return NULL;
    kx_hex_write(kx_slice(bytes, sizeof bytes), text);
    return text;
}

/* Adds a page with its variables replaced. */
static void fill(struct kx_buffer *out, struct kx_slice text, const char *nonce)
{
    const char *at = (const char *)text.data;
    const char *end = at + text.size;
    const char *next;
    while ((next = memmem(at, (size_t)(end - at), "{{", 2)) != NULL) {
        kx_add(out, at, (size_t)(next - at));
        if (strncmp(next, "{{nonce}}", 9) == 0) {
            kx_add_text(out, nonce);
        } else {
            kx_add_text(out, "console/");
            kx_add_text(out, console_version());
            kx_add_text(out, "/");
        }
        at = strstr(next, "}}") + 2;
    }
    kx_add(out, at, (size_t)(end - at));
}

static void add_page_headers(struct request *request, struct reply *reply,
                             const char *nonce)
{
    add_common(reply);
    reply_header(reply, "Cache-Control", "no-store");
    reply_header(reply, "Cross-Origin-Opener-Policy", "same-origin");
    reply_header(reply, "Permissions-Policy",
                 "camera=(), geolocation=(), microphone=(), payment=(), "
                 "usb=()");
    reply_headerf(request, reply, "Content-Security-Policy", POLICY, nonce,
                  nonce);
}

void console_page(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (is_off(request)) {
        not_found(request, reply);
        return;
    }
    const char *nonce = make_nonce(request);
    reply->status = 200;
    reply->content_type = "text/html; charset=utf-8";
    reply->body.failed |= nonce == NULL;
    if (nonce == NULL)
        return;
    bool docs = kx_equal(request->path, kx_text("/docs"));
    fill(&reply->body, console_page_text(docs ? PAGE_DOCS : PAGE_CONSOLE),
         nonce);
    add_page_headers(request, reply, nonce);
}

/* ---- Redirects to the page ----------------------------------------------- */

/* The address is relative, so that a proxy may put a path before it. */
static void lead(struct reply *reply)
{
    reply->status = 303;
    reply_header(reply, "Location", "console");
    reply_header(reply, "Cache-Control", "no-store");
    reply_header(reply, "Vary", "Accept");
}

void console_or_service(struct request *request, struct reply *reply)
{
    const char *accept = request_header(request, "Accept");
    if (accept_names(accept, "text/html") && !is_off(request) &&
        request->query.size == 0) {
        lead(reply);
        return;
    }
    ops_service(request, reply);
}

/* ---- Files --------------------------------------------------------------- */

/* True if the path, /console/{version}/{file}, has the version of this program.
 */
static bool is_this_version(const struct request *request)
{
    struct kx_slice path = request->path;
    size_t before = strlen("/console/");
    size_t size = path.size - before - 1 - request->argument.size;
    return kx_equal(kx_slice(path.data + before, size),
                    kx_text(console_version()));
}

void console_file(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    const struct console_file *file = console_file_find(request->argument);
    if (is_off(request) || file == NULL || !is_this_version(request)) {
        not_found(request, reply);
        return;
    }
    reply->status = 200;
    reply->content_type = file->type;
    reply->constant = file->bytes;
    enum coding coding =
        coding_accepted(request_header(request, "Accept-Encoding"));
    struct kx_slice packed = coding == CODING_ZSTD ? file->zstd : file->gzip;
    if (coding != CODING_IDENTITY && packed.size > 0) {
        reply->constant = packed;
        reply_header(reply, "Content-Encoding", coding_name(coding));
    }
    add_common(reply);
    reply_header(reply, "Vary", "Accept-Encoding");
    reply_header(reply, "Cache-Control", "public, max-age=31536000, immutable");
}
