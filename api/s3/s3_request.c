/* libcurl signs requests (AWS Signature Version 4) and keeps the connection.
 * The signature covers the body's SHA-256, so the server refuses a body that
 * was changed on its way. */
#include "s3/s3_request.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "s3/s3_xml.h"

enum {
    HASH_TEXT = 2 * SHA256_DIGEST_SIZE + 1,
    CHUNK = 1 << 16,
    STATUS_PARTIAL = 206,
    STATUS_ABSENT = 404,
    STATUS_TIMEOUT = 408,
    STATUS_CONFLICT = 409, /* another creation of the object is running */
    STATUS_PRECONDITION = 412,
    STATUS_MANY = 429,
    STATUS_ERRORS = 500,
    BACKOFF_STEP_MS = 50
};

/* ---- Faults ------------------------------------------------------------- */

/* Replaces control characters, quotes and backslashes in text by spaces. */
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            *text = ' ';
}

/* True if a retry may succeed: the status says too many requests or an error of
 * the server. */
static bool may_pass(const struct s3_request *request)
{
    return request->status >= STATUS_ERRORS ||
           request->status == STATUS_TIMEOUT ||
           request->status == STATUS_MANY ||
           (request->creates && request->status == STATUS_CONFLICT);
}

/* Returns the name of the object for sentences. */
static const char *name_of(const struct s3_request *request)
{
    return request->about != NULL ? request->about : request->key;
}

/* Describes a request that got no complete answer. Returns KX_UNREACHABLE. */
static enum kx_status describe_unreachable(const struct s3 *s3,
                                           const struct s3_request *request,
                                           const char *why,
                                           struct kx_fault *fault)
{
    char text[CURL_ERROR_SIZE];
    snprintf(text, sizeof text, "%s", why);
    clean(text);
    return kx_fail(fault, KX_UNREACHABLE, "s3://%s/%s: %s: %s",
                   s3->settings.bucket, name_of(request), s3->settings.endpoint,
                   text);
}

/* Advice for errors that wrong settings cause. */
static const char *advice(const char *code)
{
    static const char *const KEYS[] = {"InvalidAccessKeyId",
                                       "SignatureDoesNotMatch", "ExpiredToken",
                                       "InvalidToken"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(code, KEYS[i]) == 0)
            return "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                   "AWS_SESSION_TOKEN";
    if (strcmp(code, "AccessDenied") == 0)
        return "; the access key must be allowed to list the bucket, and to "
               "get, put and delete its objects";
    if (strcmp(code, "NoSuchBucket") == 0)
        return "; create the bucket first";
    return "";
}

/* True if the object is missing, which is not an error unless the request was a
 * PUT. */
static bool is_absent(const struct s3_request *request, const char *code)
{
    return request->status == STATUS_ABSENT &&
           strcmp(request->method, "PUT") != 0 &&
           strcmp(code, "NoSuchBucket") != 0;
}

/* Describes an answer whose status is an error. Returns KX_ABSENT if only the
 * object is missing, KX_CHECK_FAILED if it exists already, KX_UNREACHABLE if a
 * retry may succeed, otherwise KX_FAILED. */
static enum kx_status describe_refusal(const struct s3 *s3,
                                       const struct s3_request *request,
                                       struct kx_fault *fault)
{
    struct kx_slice xml = kx_slice(request->reply.data, request->reply.size);
    char code[64], message[200];
    (void)s3_xml_text(xml, "Code", code, sizeof code);
    (void)s3_xml_text(xml, "Message", message, sizeof message);
    clean(code);
    clean(message);
    if (is_absent(request, code))
        return KX_ABSENT;
    if (request->creates && request->status == STATUS_PRECONDITION)
        return KX_CHECK_FAILED;
    return kx_fail(fault, may_pass(request) ? KX_UNREACHABLE : KX_FAILED,
                   "s3://%s/%s: %s answers %ld %s%s%s%s", s3->settings.bucket,
                   name_of(request), s3->settings.endpoint, request->status,
                   code, message[0] != '\0' ? ": " : "", message, advice(code));
}

/* The state of one attempt of a request, for libcurl's callbacks. */
struct s3_attempt {
    struct s3 *s3;
    struct s3_request *request;
    uint64_t sent;
    uint64_t skip; /* bytes to skip, because an earlier attempt received them */
    int error;     /* errno of a file that cannot be read */
    char hash[HASH_TEXT];
    char why[CURL_ERROR_SIZE];
    struct curl_slist *headers;
};

/* True once the store has begun to close. */
static bool is_closing(struct s3 *s3)
{
    return atomic_load(&s3->hurry_ns) != 0;
}

/* ---- The body ------------------------------------------------------------ */

static uint64_t body_size(const struct s3_request *request)
{
    return request->fd >= 0 ? request->range[1] - request->range[0]
                            : request->body.size;
}

/* Reads a part of the body. Returns 0 at its end, or with errno after an error.
 */
static size_t read_body(const struct s3_request *request, uint64_t at,
                        void *out, size_t size)
{
    uint64_t left = body_size(request) - at;
    if (size > left)
        size = (size_t)left;
    if (request->fd < 0) {
        memcpy(out, request->body.data + at, size);
        return size;
    }
    ssize_t got =
        pread(request->fd, out, size, (off_t)(request->range[0] + at));
    if (got == 0 && size > 0)
        errno = ENODATA; /* the file has become shorter */
    return got <= 0 ? 0 : (size_t)got;
}

static bool hash_body(struct s3_attempt *attempt)
{
    struct sha256_ctx hash;
    uint8_t bytes[CHUNK], digest[SHA256_DIGEST_SIZE];
    uint64_t size = body_size(attempt->request);
    size_t got;
    sha256_init(&hash);
    for (uint64_t at = 0; at < size; at += got) {
        got = read_body(attempt->request, at, bytes, sizeof bytes);
        if (got == 0)
            return false;
        sha256_update(&hash, got, bytes);
    }
    sha256_digest(&hash, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(attempt->hash + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static size_t give_body(char *out, size_t one, size_t size, void *context)
{
    struct s3_attempt *attempt = context;
    size *= one;
    if (attempt->sent == body_size(attempt->request))
        return 0;
    size_t got = read_body(attempt->request, attempt->sent, out, size);
    if (got == 0)
        attempt->error = errno;
    attempt->sent += got;
    return got == 0 ? CURL_READFUNC_ABORT : got;
}

static int seek_body(void *context, curl_off_t offset, int origin)
{
    struct s3_attempt *attempt = context;
    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    attempt->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* ---- The reply ----------------------------------------------------------- */

static bool is_success(long status)
{
    return status >= 200 && status < 300;
}

/* Receives bytes of the object. If the server does not support Range, it sends
 * all bytes again. */
static bool take_object(struct s3_attempt *attempt, struct kx_slice bytes)
{
    struct s3_request *request = attempt->request;
    size_t skip =
        attempt->skip < bytes.size ? (size_t)attempt->skip : bytes.size;
    attempt->skip -= skip;
    bytes = kx_slice(bytes.data + skip, bytes.size - skip);
    request->stopped =
        bytes.size > 0 && !request->bytes(request->target, bytes);
    request->done += bytes.size;
    return !request->stopped;
}

static bool keep_reply(struct kx_buffer *reply, struct kx_slice bytes)
{
    if (reply->size + bytes.size > S3_REPLY_MAX)
        return false;
    kx_add_slice(reply, bytes);
    return !reply->failed;
}

static size_t take_body(char *bytes, size_t one, size_t size, void *context)
{
    struct s3_attempt *attempt = context;
    struct s3_request *request = attempt->request;
    long status = 0;
    size *= one;
    curl_easy_getinfo(attempt->s3->curl, CURLINFO_RESPONSE_CODE, &status);
    if (request->bytes == NULL || !is_success(status))
        return keep_reply(&request->reply, kx_slice(bytes, size)) ? size : 0;
    if (status == STATUS_PARTIAL)
        attempt->skip = 0;
    return take_object(attempt, kx_slice(bytes, size)) ? size : 0;
}

/* Copies the value of a header line without the whitespace around it. */
static void copy_value(const char *line, size_t from, size_t to, char *out)
{
    while (from < to && line[from] == ' ')
        from++;
    while (to > from && (line[to - 1] == '\r' || line[to - 1] == '\n'))
        to--;
    snprintf(out, S3_ETAG_MAX, "%.*s", (int)(to - from), line + from);
}

static size_t take_header(char *line, size_t one, size_t size, void *context)
{
    struct s3_attempt *attempt = context;
    struct s3_request *request = attempt->request;
    size *= one;
    if (size > 5 && strncasecmp(line, "etag:", 5) == 0)
        copy_value(line, 5, size, request->etag);
    return size;
}

/* A nonzero result aborts the transfer, because the store is closing. */
static int look_at_time(void *context, curl_off_t a, curl_off_t b, curl_off_t c,
                        curl_off_t d)
{
    struct s3_attempt *attempt = context;
    uint64_t hurry_ns = atomic_load(&attempt->s3->hurry_ns);
    (void)a, (void)b, (void)c, (void)d;
    return hurry_ns != 0 && (attempt->request->gives_way ||
                             kx_monotonic_ns() - hurry_ns >
                                 (uint64_t)S3_HURRY_MS * UINT64_C(1000000));
}

/* ---- One try ---------------------------------------------------------------
 */

static bool add_header(struct s3_attempt *attempt, const char *name,
                       const char *value)
{
    char line[4096];
    if (snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line)
        return false;
    struct curl_slist *list = curl_slist_append(attempt->headers, line);
    if (list != NULL)
        attempt->headers = list;
    return list != NULL;
}

/* Requests only the bytes that have not arrived. */
static bool add_range(struct s3_attempt *attempt)
{
    const struct s3_request *request = attempt->request;
    char range[48];
    snprintf(range, sizeof range, "bytes=%llu-",
             (unsigned long long)request->done);
    return request->done == 0 ||
           ((request->etag[0] == '\0' ||
             add_header(attempt, "If-Match", request->etag)) &&
            add_header(attempt, "Range", range));
}

/* Do not add a header without a value, such as "Expect:": libcurl 7.88 would
 * sign it. */
static bool add_headers(struct s3_attempt *attempt)
{
    const char *token = attempt->s3->settings.session_token;
    return add_header(attempt, "x-amz-content-sha256", attempt->hash) &&
           (token == NULL ||
            add_header(attempt, "x-amz-security-token", token)) &&
           (!attempt->request->creates ||
            add_header(attempt, "If-None-Match", "*")) &&
           add_range(attempt);
}

static void set_method(struct s3_attempt *attempt)
{
    const struct s3_request *request = attempt->request;
    CURL *curl = attempt->s3->curl;
    if (strcmp(request->method, "PUT") == 0) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE,
                         (curl_off_t)body_size(request));
    } else if (strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(
            curl, CURLOPT_POSTFIELDS,
            request->body.size > 0 ? (const char *)request->body.data : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)request->body.size);
    } else if (strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (strcmp(request->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
}

static void set_limits(struct s3_attempt *attempt)
{
    const struct s3_request *request = attempt->request;
    CURL *curl = attempt->s3->curl;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)S3_CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)S3_STALL_BYTES);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)S3_STALL_S);
    if (request->bytes == NULL)
        curl_easy_setopt(curl, CURLOPT_TIMEOUT,
                         (long)S3_REQUEST_S +
                             (long)(body_size(request) / S3_RATE_BYTES));
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_at_time);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, attempt);
}

static void set_functions(struct s3_attempt *attempt)
{
    CURL *curl = attempt->s3->curl;
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(curl, CURLOPT_READDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, attempt->why);
}

/* False: memory ran out. */
static bool set_address(struct s3_attempt *attempt)
{
    const struct s3_settings *settings = &attempt->s3->settings;
    const struct s3_request *request = attempt->request;
    CURL *curl = attempt->s3->curl;
    char address[4096], signature[128];
    int size =
        snprintf(address, sizeof address, "%s/%s%s%s%s%s", settings->endpoint,
                 settings->bucket, request->key[0] != '\0' ? "/" : "",
                 request->key, request->query != NULL ? "?" : "",
                 request->query != NULL ? request->query : "");
    snprintf(signature, sizeof signature, "aws:amz:%s:s3", settings->region);
    if (size >= (int)sizeof address ||
        (settings->ca_file != NULL &&
         curl_easy_setopt(curl, CURLOPT_CAINFO, settings->ca_file) != CURLE_OK))
        return false;
    return curl_easy_setopt(curl, CURLOPT_URL, address) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, signature) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_USERNAME, settings->access_key) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PASSWORD, settings->secret_key) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, attempt->headers) ==
               CURLE_OK;
}

static CURLcode try_once(struct s3_attempt *attempt)
{
    struct s3_request *request = attempt->request;
    CURL *curl = attempt->s3->curl;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    curl_off_t size = -1;
    attempt->sent = 0;
    attempt->skip = request->done;
    attempt->why[0] = '\0';
    request->reply.size = 0;
    request->status = 0;
    curl_easy_reset(curl); /* keeps the connection */
    set_method(attempt);
    set_limits(attempt);
    set_functions(attempt);
    if (add_headers(attempt) && set_address(attempt))
        code = curl_easy_perform(curl);
    curl_slist_free_all(attempt->headers);
    attempt->headers = NULL;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &request->status);
    curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &size);
    request->size = size > 0 ? (uint64_t)size : 0;
    return code;
}

/* ---- All tries ----------------------------------------------------------- */

/* Waits before the next attempt; returns at once if the store closes. */
static void back_off(struct s3 *s3, int tries)
{
    long ms = (long)S3_BACKOFF_MS << tries;
    struct timespec step = {.tv_nsec = BACKOFF_STEP_MS * 1000000L};
    for (; ms > 0 && !is_closing(s3); ms -= BACKOFF_STEP_MS)
        nanosleep(&step, NULL);
}

/* True if another attempt would have the same result, or no caller waits for
 * it.
 */
static bool is_over(const struct s3_attempt *attempt)
{
    return attempt->request->stopped || attempt->request->reply.failed ||
           attempt->error != 0 || is_closing(attempt->s3);
}

static bool may_help(const struct s3_attempt *attempt, CURLcode code)
{
    if (is_over(attempt))
        return false;
    if (code == CURLE_OK)
        return may_pass(attempt->request);
    return code != CURLE_OUT_OF_MEMORY &&
           code != CURLE_PEER_FAILED_VERIFICATION;
}

static const char *reason(const struct s3_attempt *attempt, CURLcode code)
{
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return "the server is stopping";
    return attempt->why[0] != '\0' ? attempt->why : curl_easy_strerror(code);
}

static enum kx_status no_reply(const struct s3_attempt *attempt, CURLcode code,
                               struct kx_fault *fault)
{
    const struct s3_request *request = attempt->request;
    if (code == CURLE_OUT_OF_MEMORY || request->reply.failed)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (attempt->error != 0)
        return kx_fail(fault, KX_FAILED, "a file for s3://%s/%s: %s",
                       attempt->s3->settings.bucket, name_of(request),
                       strerror(attempt->error));
    if (request->stopped)
        return KX_FAILED;
    return describe_unreachable(attempt->s3, request, reason(attempt, code),
                                fault);
}

enum kx_status s3_send(struct s3 *s3, struct s3_request *request,
                       struct kx_fault *fault)
{
    struct s3_attempt attempt = {.s3 = s3, .request = request};
    CURLcode code;
    int tries = 0;
    kx_buffer_init(&request->reply, s3);
    if (!hash_body(&attempt))
        return kx_fail(fault, KX_FAILED, "a file for s3://%s/%s: %s",
                       s3->settings.bucket, name_of(request), strerror(errno));
    code = try_once(&attempt);
    while (++tries < S3_TRIES && may_help(&attempt, code)) {
        back_off(s3, tries - 1);
        code = try_once(&attempt);
    }
    if (code != CURLE_OK)
        return no_reply(&attempt, code, fault);
    return is_success(request->status) ? KX_OK
                                       : describe_refusal(s3, request, fault);
}

void s3_request_end(struct s3_request *request)
{
    kx_buffer_free(&request->reply);
}
