/* Defaults come before the address, which can override them; the password file
 * comes after the address. */
#include "postgres/pg_target.h"

#include <arpa/inet.h>
#include <postgresql/libpq-fe.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
    PASSWORD_MAX = 1024,
    CONNECT_MS = 3000, /* unless the address has a connect_timeout */
    CONNECT_SECONDS_MAX = 3600
};

static void add(struct pg_target *target, const char *name, const char *value)
{
    target->names[target->count] = name;
    target->values[target->count++] = value;
}

static void add_defaults(struct pg_target *target)
{
    add(target, "fallback_application_name", "kindex");
    add(target, "keepalives_idle", "2");
    add(target, "keepalives_interval", "1");
    add(target, "keepalives_count", "3");
    add(target, "tcp_user_timeout", "5000"); /* milliseconds */
    add(target, "target_session_attrs", "read-write");
}

/* The value of a parameter in the address, or of its variable, or NULL. */
static const char *value_of(const PQconninfoOption *list, const char *name)
{
    for (; list->keyword != NULL; list++)
        if (strcmp(list->keyword, name) == 0)
            return list->val != NULL      ? list->val
                   : list->envvar != NULL ? getenv(list->envvar)
                                          : NULL;
    return NULL;
}

/* Returns whether a host is the directory of a socket, or on this machine. A
 * name that only looks like an address, such as 127.example.org, is not. */
static bool is_local(const char *host, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr four;
    struct in6_addr six;
    if (size == 0 || *host == '/' || *host == '@')
        return true;
    if (size >= sizeof text)
        return false;
    memcpy(text, host, size);
    text[size] = '\0';
    if (inet_pton(AF_INET, text, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, text, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return strcmp(text, "localhost") == 0;
}

/* Checks every host in a comma-separated list; an empty list is this machine.
 */
static bool are_local(const char *hosts)
{
    while (hosts != NULL) {
        size_t size = strcspn(hosts, ",");
        if (!is_local(hosts, size))
            return false;
        hosts = hosts[size] == ',' ? hosts + size + 1 : NULL;
    }
    return true;
}

static enum kx_status check(const PQconninfoOption *list, bool insecure,
                            struct pg_target *target, struct kx_fault *fault)
{
    const char *mode = value_of(list, "sslmode");
    const char *service = value_of(list, "service");
    target->local = are_local(value_of(list, "host")) &&
                    are_local(value_of(list, "hostaddr")) && service == NULL;
    for (const PQconninfoOption *each = list; each->keyword != NULL; each++)
        if (strcmp(each->keyword, "password") == 0 && each->val != NULL)
            return kx_fail(
                fault, KX_BAD_DIRECTORY,
                "--engine has a password, which every user of this machine "
                "could read; put it into a file for --engine-password-file");
    if (target->local || insecure)
        return KX_OK;
    if (mode != NULL && strcmp(mode, "verify-full") != 0)
        return kx_fail(
            fault, KX_BAD_DIRECTORY,
            "--engine has sslmode=%s, with which another server could take "
            "the database's place; use sslmode=verify-full, or "
            "--engine-insecure in a network that you trust",
            mode);
    if (mode == NULL)
        add(target, "sslmode", "verify-full");
    return KX_OK;
}

/* ---- Hosts -------------------------------------------------------------- */

/* Returns the n-th element of a list with commas, NULL if it is empty or
 * missing; the only element if `shared`. */
static const char *element(void *mem, const char *list, size_t n, bool shared)
{
    if (list == NULL)
        return NULL;
    bool single = strchr(list, ',') == NULL;
    for (; n > 0 && !(single && shared); n--) {
        list = strchr(list, ',');
        if (list == NULL)
            return NULL;
        list++;
    }
    size_t size = strcspn(list, ",");
    return size > 0 ? talloc_strndup(mem, list, size) : NULL;
}

static size_t elements(const char *list)
{
    size_t count = 1;
    for (; list != NULL && *list != '\0'; list++)
        count += *list == ',';
    return count;
}

static bool is_given(const char *list)
{
    return list != NULL && *list != '\0';
}

/* Sets the number of hosts. libpq counts the addresses, or the names if no
 * address is given. */
static enum kx_status count_hosts(const PQconninfoOption *list,
                                  struct pg_target *target,
                                  struct kx_fault *fault)
{
    const char *names = value_of(list, "host");
    const char *addresses = value_of(list, "hostaddr");
    size_t ports = elements(value_of(list, "port"));
    size_t count = elements(is_given(addresses) ? addresses : names);
    if (count > PG_HOSTS_MAX)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "--engine has %zu hosts; at most %d are possible", count,
                       (int)PG_HOSTS_MAX);
    if ((is_given(names) && elements(names) != count) ||
        (ports != 1 && ports != count))
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "--engine does not have as many ports, or addresses, "
                       "as hosts");
    target->host_count = count;
    return KX_OK;
}

static enum kx_status list_hosts(void *mem, const PQconninfoOption *list,
                                 struct pg_target *target,
                                 struct kx_fault *fault)
{
    const char *names = value_of(list, "host");
    const char *addresses = value_of(list, "hostaddr");
    const char *ports = value_of(list, "port");
    const char *timeout = value_of(list, "connect_timeout");
    enum kx_status status = count_hosts(list, target, fault);
    if (status != KX_OK)
        return status;
    for (size_t i = 0; i < target->host_count; i++)
        target->hosts[i] =
            (struct pg_host){.name = element(mem, names, i, false),
                             .address = element(mem, addresses, i, false),
                             .port = element(mem, ports, i, true)};
    int seconds = timeout != NULL ? atoi(timeout) : 0;
    target->connect_ms = seconds > 0 && seconds < CONNECT_SECONDS_MAX
                             ? seconds * 1000
                             : CONNECT_MS;
    return KX_OK;
}

static int finish_servers(struct pg_servers *servers)
{
    pthread_mutex_destroy(&servers->lock);
    return 0;
}

static struct pg_servers *create_servers(void *mem)
{
    struct pg_servers *servers = talloc_zero(mem, struct pg_servers);
    if (servers == NULL)
        return NULL;
    pthread_mutex_init(&servers->lock, NULL);
    talloc_set_destructor(servers, finish_servers);
    return servers;
}

/* Reads the first line of the file. */
static enum kx_status read_password(void *mem, const char *path,
                                    struct pg_target *target,
                                    struct kx_fault *fault)
{
    char line[PASSWORD_MAX];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return kx_fail(fault, KX_BAD_DIRECTORY, "--engine-password-file %s: %s",
                       path, strerror(errno));
    char *got = fgets(line, sizeof line, file);
    fclose(file);
    if (got == NULL)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "--engine-password-file %s: there is no password in it",
                       path);
    line[strcspn(line, "\r\n")] = '\0';
    char *password = talloc_strdup(mem, line);
    if (password == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    add(target, "password", password);
    return KX_OK;
}

enum kx_status pg_target_read(void *mem, const struct kx_options *options,
                              struct pg_target *target_out,
                              struct kx_fault *fault)
{
    char *why = NULL;
    *target_out = (struct pg_target){.count = 0};
    PQconninfoOption *list = PQconninfoParse(options->engine, &why);
    if (list == NULL) {
        kx_fail(fault, KX_BAD_DIRECTORY, "%s", why == NULL ? "no memory" : why);
        fault->detail[strcspn(fault->detail, "\n")] = '\0';
        PQfreemem(why);
        return KX_BAD_DIRECTORY;
    }
    add_defaults(target_out);
    enum kx_status status =
        check(list, options->engine_insecure, target_out, fault);
    if (status == KX_OK)
        status = list_hosts(mem, list, target_out, fault);
    PQconninfoFree(list);
    target_out->servers = create_servers(mem);
    if (target_out->servers == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    add(target_out, "dbname", options->engine);
    if (status == KX_OK && options->engine_password_file != NULL)
        status = read_password(mem, options->engine_password_file, target_out,
                               fault);
    return status;
}
