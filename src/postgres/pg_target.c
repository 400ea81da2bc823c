/* Defaults come before the address, which can override them; the password file
 * comes after the address. */
#include "postgres/pg_target.h"

#include <postgresql/libpq-fe.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { PASSWORD_MAX = 1024 };

static void add(struct pg_target *target, const char *name, const char *value)
{
    target->names[target->count] = name;
    target->values[target->count++] = value;
}

/* libpq gives up a server that does not answer within seconds. */
static void add_defaults(struct pg_target *target)
{
    add(target, "fallback_application_name", "kindex");
    add(target, "connect_timeout", "3");
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

/* Returns whether a host is the directory of a socket, or on this machine. */
static bool is_local(const char *host, size_t size)
{
    return size == 0 || *host == '/' || *host == '@' ||
           (size == 9 && memcmp(host, "localhost", 9) == 0) ||
           (size > 4 && memcmp(host, "127.", 4) == 0) ||
           (size == 3 && memcmp(host, "::1", 3) == 0);
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
    PQconninfoFree(list);
    add(target_out, "dbname", options->engine);
    if (status == KX_OK && options->engine_password_file != NULL)
        status = read_password(mem, options->engine_password_file, target_out,
                               fault);
    return status;
}
