/* curl for the stories of tests/http: it loads thirty libraries, which takes
 * more time than a short request. Sends one request over HTTP/1.1 to
 * 127.0.0.1 with the bytes that curl sends, and writes the reply where curl
 * writes it. An option, a header or an address that it does not know is left to
 * curl: it becomes curl before anything is sent. tests/http/00-self-test.sh
 * compares both.
 *
 *   mini_curl --globoff --path-as-is --silent --max-time N --dump-header FILE
 *       --output FILE --write-out '%{http_code}' --request METHOD [--head]
 *       [--data-binary TEXT | @FILE] [--header LINE | -H LINE]... URL */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* curl asks before it sends more (Expect: 100-continue). */
enum { BODY_MAX = 1 << 20, PATH_AS_IS = 1, GLOBOFF = 2 };
/* As curl's. */
enum {
    NO_CONNECTION = 7,
    CUT_SHORT = 18,
    WRITE_FAILED = 23,
    TIMED_OUT = 28,
    NO_REPLY = 52
};

struct request {
    const char *method, *url, *target, *data, *head_file, *output_file;
    const char *headers[64];
    size_t header_count, size;
    int port;
    unsigned most_seconds, flags;
    bool head, code, has_type, has_accept, has_agent;
    char body[BODY_MAX + 1];
};

static struct request request;

/* ---- The command line ------------------------------------------------------
 */

static bool is_named(const char *header, const char *name)
{
    size_t size = strlen(name);
    return strncasecmp(header, name, size) == 0 && header[size] == ':';
}

/* False: curl gives the header a meaning of its own. */
static bool read_header(const char *line)
{
    static const char *const special[] = {
        "Host", "Content-Length", "Transfer-Encoding", "Expect", "Connection"};
    const char *value = strchr(line, ':');
    if (value == NULL || value[1] != ' ' || line[0] == '@' ||
        value[1 + strspn(value + 1, " ")] == '\0' ||
        request.header_count ==
            sizeof request.headers / sizeof *request.headers)
        return false;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (is_named(line, special[i]))
            return false;
    for (const char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            return false;
    request.has_type |= is_named(line, "Content-Type");
    request.has_accept |= is_named(line, "Accept");
    request.has_agent |= is_named(line, "User-Agent");
    request.headers[request.header_count++] = line;
    return true;
}

static bool read_seconds(const char *text)
{
    char *end;
    bool first = request.most_seconds == 0;
    request.most_seconds = (unsigned)strtoul(text, &end, 10);
    return first && request.most_seconds > 0 && *end == '\0';
}

/* The options with a value. */
static bool read_option(const char *option, const char *value)
{
    static const struct {
        const char *name;
        const char **to;
    } texts[] = {{"--request", &request.method},
                 {"--dump-header", &request.head_file},
                 {"--output", &request.output_file},
                 {"--data-binary", &request.data}};
    if (strcmp(option, "--header") == 0 || strcmp(option, "-H") == 0)
        return read_header(value);
    if (strcmp(option, "--max-time") == 0)
        return read_seconds(value);
    if (strcmp(option, "--write-out") == 0) {
        request.code = true;
        return strcmp(value, "%{http_code}") == 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(option, texts[i].name) == 0) {
            bool again = texts[i].to == &request.data && request.data != NULL;
            *texts[i].to = value;
            return !again;
        }
    return false;
}

/* The options without one. */
static bool read_flag(const char *option)
{
    if (strcmp(option, "--globoff") == 0)
        request.flags |= GLOBOFF;
    else if (strcmp(option, "--path-as-is") == 0)
        request.flags |= PATH_AS_IS;
    else if (strcmp(option, "--head") == 0)
        request.head = true;
    else
        return strcmp(option, "--silent") == 0 ||
               strcmp(option, "--show-error") == 0 ||
               strcmp(option, "--http1.1") == 0;
    return true;
}

/* http://127.0.0.1:PORT/TARGET; curl rewrites or refuses other characters. */
static bool read_url(const char *url)
{
    static const char start[] = "http://127.0.0.1:";
    char *end;
    if (request.url != NULL || strncmp(url, start, strlen(start)) != 0)
        return false;
    request.url = url;
    request.port = (int)strtol(url + strlen(start), &end, 10);
    request.target = end;
    for (const char *at = end; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == '#')
            return false;
    return *end == '/' && request.port > 0 && request.port < 65536;
}

static bool read_body(void)
{
    FILE *file;
    if (request.data == NULL)
        return true;
    if (request.data[0] != '@') {
        request.size = strlen(request.data);
        if (request.size <= BODY_MAX)
            memcpy(request.body, request.data, request.size);
        return request.size <= BODY_MAX;
    }
    file = fopen(request.data + 1, "r");
    if (file == NULL)
        return false;
    request.size = fread(request.body, 1, sizeof request.body, file);
    fclose(file);
    return request.size <= BODY_MAX;
}

static bool read_arguments(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (arguments[i][0] != '-') {
            if (!read_url(arguments[i]))
                return false;
        } else if (!read_flag(arguments[i])) {
            if (i + 1 == count || !read_option(arguments[i], arguments[i + 1]))
                return false;
            i++;
        }
    }
    if (request.method == NULL)
        request.method = request.head ? "HEAD" : "GET";
    return request.url != NULL && request.head_file != NULL &&
           request.output_file != NULL && request.code &&
           request.flags == (PATH_AS_IS | GLOBOFF) && read_body();
}

/* ---- The exchange
 * ------------------------------------------------------------ */

static int http_status; /* of the last head */

__attribute__((noreturn)) static void end(int status, const char *what)
{
    fprintf(stderr, "mini_curl: %s\n", what);
    printf("%03d", http_status);
    exit(status);
}

static void stop(int signal)
{
    (void)signal;
    _exit(TIMED_OUT);
}

static FILE *connected(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)request.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        end(NO_CONNECTION, strerror(errno));
    FILE *stream = fdopen(fd, "r+");
    if (stream == NULL)
        end(NO_CONNECTION, strerror(errno));
    return stream;
}

static void send_request(int fd)
{
    char *head;
    size_t size;
    FILE *out = open_memstream(&head, &size);
    if (out == NULL)
        end(WRITE_FAILED, "no memory");
    fprintf(out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", request.method,
            request.target, request.port);
    if (!request.has_agent)
        fprintf(out, "User-Agent: curl\r\n");
    if (!request.has_accept)
        fprintf(out, "Accept: */*\r\n");
    for (size_t i = 0; i < request.header_count; i++)
        fprintf(out, "%s\r\n", request.headers[i]);
    if (request.data != NULL)
        fprintf(out, "Content-Length: %zu\r\n", request.size);
    if (request.data != NULL && !request.has_type)
        fprintf(out, "Content-Type: application/x-www-form-urlencoded\r\n");
    fprintf(out, "\r\n");
    fwrite(request.body, 1, request.size, out);
    fclose(out);
    /* A server that refuses the body may not take all of it. */
    for (size_t done = 0; done < size;) {
        ssize_t sent = send(fd, head + done, size - done, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        done += (size_t)sent;
    }
    free(head);
}

struct reply {
    FILE *in;
    bool chunked;
    long long length; /* -1: to the end of the connection */
};

/* One line with its end; the connection may not end in it. */
static const char *next_line(struct reply *reply)
{
    static char *line;
    static size_t room;
    if (getline(&line, &room, reply->in) <= 0)
        end(http_status == 0 ? NO_REPLY : CUT_SHORT, "the reply ends early");
    return line;
}

static void read_head(struct reply *reply, FILE *to)
{
    const char *line = next_line(reply);
    reply->length = -1;
    if (sscanf(line, "HTTP/1.%*d %d", &http_status) != 1)
        end(CUT_SHORT, line);
    for (; line[strspn(line, "\r\n")] != '\0'; line = next_line(reply)) {
        fputs(line, to);
        if (is_named(line, "Content-Length"))
            reply->length = strtoll(strchr(line, ':') + 1, NULL, 10);
        if (is_named(line, "Transfer-Encoding"))
            reply->chunked = strstr(line, "chunked") != NULL;
    }
    fputs(line, to);
}

/* Less than that only when the connection has ended and -1 was asked for. */
static void copy(struct reply *reply, long long size, FILE *to)
{
    char block[65536];
    while (size != 0) {
        size_t most = size < 0 || size > (long long)sizeof block ? sizeof block
                                                                 : (size_t)size;
        size_t got = fread(block, 1, most, reply->in);
        if (got == 0 && size > 0)
            end(CUT_SHORT, "the body ends early");
        if (got == 0)
            return;
        if (fwrite(block, 1, got, to) != got)
            end(WRITE_FAILED, strerror(errno));
        size -= size > 0 ? (long long)got : 0;
    }
}

static void copy_chunks(struct reply *reply, FILE *to)
{
    long long size;
    while ((size = strtoll(next_line(reply), NULL, 16)) > 0) {
        copy(reply, size, to);
        next_line(reply);
    }
    while (next_line(reply)[0] != '\r') {
    }
}

static void receive(struct reply *reply)
{
    FILE *head = fopen(request.head_file, "w");
    FILE *body = NULL;
    if (head == NULL)
        end(WRITE_FAILED, request.head_file);
    do
        read_head(reply, head);
    while (http_status < 200);
    fclose(head);
    bool none = request.head || http_status == 204 || http_status == 304 ||
                reply->length == 0;
    if (none)
        return;
    body = fopen(request.output_file, "w");
    if (body == NULL)
        end(WRITE_FAILED, request.output_file);
    if (reply->chunked)
        copy_chunks(reply, body);
    else
        copy(reply, reply->length, body);
    if (fclose(body) != 0)
        end(WRITE_FAILED, strerror(errno));
}

int main(int count, char **arguments)
{
    if (!read_arguments(count, arguments)) {
        arguments[0] = "curl";
        execvp("curl", arguments);
        perror("curl");
        return 127;
    }
    struct reply reply = {.in = connected()};
    signal(SIGALRM, stop);
    alarm(request.most_seconds);
    send_request(fileno(reply.in));
    receive(&reply);
    printf("%03d", http_status);
    return 0;
}
