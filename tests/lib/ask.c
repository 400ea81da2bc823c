/* curl for the stories of tests/http, most of which ask for so little that half
 * of their time goes into curl's start. Knows the options in `take_option`,
 * plain HTTP/1.1 and 127.0.0.1; with any other, and for whatever curl would
 * treat in a way of its own, it becomes curl before anything is sent. What it
 * shows and writes is what curl does. tests/http/00-self-test.sh compares both.
 *
 *   ask [OPTION...] URL */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* A larger body, which may be answered before it is sent, is curl's. */
enum { BODY_MAX = 1 << 16, HEADERS_MAX = 32 };

static struct {
    const char *method, *url, *data, *limit, *bearer, *head, *output, *show;
    bool is_literal, is_as_it_is;
    const char *headers[HEADERS_MAX];
    int header_count;
} asked;

static const char start[] = "http://127.0.0.1:";
static char **arguments;

__attribute__((noreturn)) static void become_curl(void)
{
    arguments[0] = "curl";
    execvp("curl", arguments);
    perror("curl");
    exit(127);
}

__attribute__((noreturn)) static void fail(const char *what)
{
    perror(what);
    exit(56);
}

/* ---- What is asked ------------------------------------------------------ */

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

/* A header that curl would not just send after its own. */
static bool is_curls(const char *header)
{
    static const char *const names[] = {"host",
                                        "user-agent",
                                        "content-length",
                                        "transfer-encoding",
                                        "expect",
                                        "accept-encoding",
                                        "connection",
                                        "cookie",
                                        "keep-alive",
                                        "te",
                                        NULL};
    size_t size = strcspn(header, ":");
    char name[32] = "";
    if (size >= sizeof name)
        return false;
    for (size_t i = 0; i < size; i++)
        name[i] = (char)(header[i] | ((header[i] & 0x40) >> 1));
    return is_one_of(name, names);
}

static void take_header(const char *header)
{
    size_t size = strcspn(header, ":");
    if (header[size] == '\0' ||
        header[size + 1 + strspn(header + size + 1, " ")] == '\0' ||
        strpbrk(header, "\r\n") != NULL || *header == '@' || is_curls(header) ||
        asked.header_count == HEADERS_MAX)
        become_curl();
    asked.headers[asked.header_count++] = header;
}

static void take_once(const char **place, const char *value)
{
    if (*place != NULL)
        become_curl();
    *place = value;
}

static bool take_flag(const char *option)
{
    if (strcmp(option, "--globoff") == 0)
        asked.is_literal = true;
    else if (strcmp(option, "--path-as-is") == 0)
        asked.is_as_it_is = true;
    else
        return strcmp(option, "-s") == 0 || strcmp(option, "--silent") == 0 ||
               strcmp(option, "--show-error") == 0;
    return true;
}

static void take_option(const char *option, const char *value)
{
    static const struct {
        const char *name, *brief;
        const char **place;
    } options[] = {
        {"--request", "-X", &asked.method},
        {"--data-binary", "--data-binary", &asked.data},
        {"--max-time", "-m", &asked.limit},
        {"--oauth2-bearer", "--oauth2-bearer", &asked.bearer},
        {"--dump-header", "-D", &asked.head},
        {"--output", "-o", &asked.output},
        {"--write-out", "-w", &asked.show},
    };
    if (strcmp(option, "-H") == 0 || strcmp(option, "--header") == 0) {
        take_header(value);
        return;
    }
    if (strcmp(option, "-d") == 0 && *value != '@') {
        take_once(&asked.data, value);
        return;
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(option, options[i].name) == 0 ||
            strcmp(option, options[i].brief) == 0) {
            take_once(options[i].place, value);
            return;
        }
    become_curl();
}

/* Whether curl sends the target as it is here. */
static bool is_plain(const char *target)
{
    size_t size = strspn(target, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
                                 "TUVWXYZ0123456789/_=&?%.,:@~+!*'();$-[]{}");
    return *target == '/' && target[size] == '\0' &&
           (asked.is_literal || strpbrk(target, "[]{}") == NULL) &&
           (asked.is_as_it_is || strstr(target, "/.") == NULL);
}

static const char *target_of(const char *url)
{
    if (url == NULL || strncmp(url, start, strlen(start)) != 0)
        become_curl();
    const char *port = url + strlen(start);
    const char *target = port + strspn(port, "0123456789");
    if (target == port || target - port > 5 || !is_plain(target))
        become_curl();
    return target;
}

static void read_arguments(void)
{
    if (getenv("CURL_HOME") != NULL)
        become_curl();
    for (char **next = arguments + 1; *next != NULL; next++) {
        if (take_flag(*next))
            continue;
        if (**next != '-')
            take_once(&asked.url, *next);
        else if (next[1] == NULL)
            become_curl();
        else {
            take_option(*next, next[1]);
            next++;
        }
    }
    if ((asked.method != NULL && strcasecmp(asked.method, "HEAD") == 0) ||
        (asked.show != NULL && strcmp(asked.show, "%{http_code}") != 0))
        become_curl();
}

/* The bytes of a body, which may be in a file: NULL is none. */
static char *body_of(const char *data, size_t *size)
{
    *size = 0;
    if (data == NULL)
        return NULL;
    char *body = calloc(1, BODY_MAX);
    if (body == NULL)
        fail("memory");
    if (*data != '@') {
        *size = strnlen(data, BODY_MAX);
        memcpy(body, data, *size);
    } else {
        FILE *file = strcmp(data, "@-") == 0 ? NULL : fopen(data + 1, "r");
        if (file == NULL)
            become_curl();
        *size = fread(body, 1, BODY_MAX, file);
        fclose(file);
    }
    if (*size == BODY_MAX)
        become_curl();
    return body;
}

/* ---- The exchange ------------------------------------------------------- */

static FILE *reached(const char *url)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((in_port_t)atoi(url + strlen(start))),
        .sin_addr = {htonl(INADDR_LOOPBACK)},
    };
    int one = 1, number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0 ||
        connect(number, (struct sockaddr *)&address, sizeof address) != 0)
        become_curl(); /* it says what is wrong */
    setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    FILE *server = fdopen(number, "r+");
    return server != NULL ? server : (fail("stream"), NULL);
}

static bool has_header(const char *name)
{
    for (int i = 0; i < asked.header_count; i++)
        if (strncasecmp(asked.headers[i], name, strlen(name)) == 0)
            return true;
    return false;
}

static void send_request(FILE *server, const char *target, const char *body,
                         size_t size)
{
    const char *method = asked.method != NULL ? asked.method
                         : body != NULL       ? "POST"
                                              : "GET";
    const char *host = asked.url + strlen("http://");
    fprintf(server, "%s %s HTTP/1.1\r\nHost: %.*s\r\n", method, target,
            (int)strcspn(host, "/"), host);
    if (asked.bearer != NULL)
        fprintf(server, "Authorization: Bearer %s\r\n", asked.bearer);
    fprintf(server, "User-Agent: curl\r\n");
    if (!has_header("Accept:"))
        fprintf(server, "Accept: */*\r\n");
    for (int i = 0; i < asked.header_count; i++)
        fprintf(server, "%s\r\n", asked.headers[i]);
    if (body != NULL)
        fprintf(server, "Content-Length: %zu\r\n", size);
    if (body != NULL && !has_header("Content-Type:"))
        fprintf(server, "Content-Type: application/x-www-form-urlencoded\r\n");
    fprintf(server, "\r\n");
    if (body != NULL)
        fwrite(body, 1, size, server);
    /* One that has refused closes: its answer is there to be read. */
    fflush(server);
    clearerr(server);
}

struct answer {
    char status[4];
    bool is_chunked, has_length;
    size_t length;
};

static FILE *opened(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return stdout;
    FILE *file = fopen(path, "w");
    return file != NULL ? file : (fail(path), NULL);
}

/* Copies a head to HEAD, which may be NULL; of more than one, the last counts.
 */
static struct answer read_head(FILE *server, FILE *head)
{
    struct answer answer = {.status = "000"};
    char *line = NULL;
    size_t room = 0;
    do {
        answer = (struct answer){.status = "000"};
        while (getline(&line, &room, server) > 0) {
            if (head != NULL)
                fputs(line, head);
            if (strncmp(line, "HTTP/1.", 7) == 0 && strlen(line) > 12)
                memcpy(answer.status, line + 9, 3);
            if (strncasecmp(line, "Transfer-Encoding: chunked", 26) == 0)
                answer.is_chunked = true;
            if (strncasecmp(line, "Content-Length:", 15) == 0) {
                answer.has_length = true;
                answer.length = strtoul(line + 15, NULL, 10);
            }
            if (strcmp(line, "\r\n") == 0)
                break;
        }
    } while (answer.status[0] == '1');
    if (line == NULL || strcmp(line, "\r\n") != 0)
        fail("the head of the answer");
    free(line);
    return answer;
}

/* Without a length: until the end. False when it ends before its length. */
static bool copy(FILE *server, FILE *output, size_t size, bool has_length)
{
    char block[65536];
    while (!has_length || size > 0) {
        size_t some = !has_length || size > sizeof block ? sizeof block : size;
        some = fread(block, 1, some, server);
        if (some == 0)
            return !has_length;
        fwrite(block, 1, some, output);
        size -= some;
    }
    return true;
}

static bool copy_chunks(FILE *server, FILE *output, FILE *head)
{
    char *line = NULL;
    size_t room = 0, size;
    while (getline(&line, &room, server) > 0 &&
           (size = strtoul(line, NULL, 16)) > 0)
        if (!copy(server, output, size, true) ||
            getline(&line, &room, server) != 2)
            return false;
    if (line == NULL || *line != '0')
        return false;
    while (getline(&line, &room, server) > 0 && strcmp(line, "\r\n") != 0)
        if (head != NULL)
            fputs(line, head);
    free(line);
    return true;
}

int main(int count, char **words)
{
    size_t size;
    if (count < 2)
        return 2;
    arguments = words;
    signal(SIGPIPE, SIG_IGN);
    read_arguments();
    const char *target = target_of(asked.url);
    char *body = body_of(asked.data, &size);
    FILE *server = reached(asked.url);
    if (asked.limit != NULL)
        alarm((unsigned)atoi(asked.limit));
    FILE *head = asked.head != NULL ? opened(asked.head) : NULL;
    FILE *output = opened(asked.output);
    send_request(server, target, body, size);
    struct answer answer = read_head(server, head);
    bool is_whole = true;
    if (strcmp(answer.status, "204") != 0 && strcmp(answer.status, "304") != 0)
        is_whole = answer.is_chunked
                       ? copy_chunks(server, output, head)
                       : copy(server, output, answer.length, answer.has_length);
    fflush(output);
    if (asked.show != NULL)
        printf("%s", answer.status);
    return is_whole ? 0 : 18;
}
