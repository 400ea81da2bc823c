/* The shortest way from a new server to an entry, an index and a look-up, with
 * curl and with Deno. */
#include "server/greeting.h"

#include <stdio.h>
#include <unistd.h>

/* The declaration waits until the index is ready, so that the look-up works. */
static void print_commands(const char *url, const char *bearer)
{
    printf("curl%s -X PUT %s/kv/people/1 --json "
           "'{\"name\":\"Ada\",\"email\":\"ada@example.org\"}'\n",
           bearer, url);
    printf("curl%s %s/kv/people/1\n", bearer, url);
    printf("curl%s %s/indexes -H 'Prefer: wait=10' --json "
           "'{\"name\":\"people_by_email\",\"prefix\":[\"people\"],"
           "\"fields\":[\"/email\"],\"unique\":true}'\n",
           bearer, url);
    printf("curl%s %s/indexes/people_by_email/get/ada@example.org\n", bearer,
           url);
    printf("curl%s '%s/list?prefix=people'\n\n", bearer, url);
}

static const char *scheme_of(const struct service *service)
{
    return service->keyring != NULL ? "https" : "http";
}

/* For programs: one line of JSON. */
static void print_json(const struct service *service,
                       const struct addresses *bound)
{
    char url[ADDRESS_URL_MAX];
    address_url(&bound->all[0], scheme_of(service), url);
    printf("{\"url\":\"%s\",\"pid\":%ld}\n", url, (long)getpid());
    fflush(stdout);
}

/* For people. */
static void print_text(const struct service *service,
                       const struct addresses *bound)
{
    const char *scheme = scheme_of(service);
    char url[ADDRESS_URL_MAX];
    const char *file = service->options->token_file;
    bool standby = service->store == NULL;
    bool tokens = !standby && (service->identities != NULL ||
                               kx_tokens_any(service->store));
    const char *engine = service->options->engine;
    printf("Kindex " KX_VERSION " %s %s on",
           standby ? "is a standby for" : "serves",
           engine != NULL ? engine
           : standby      ? service->options->follow
                          : service->options->data);
    for (size_t i = 0; i < bound->count; i++) {
        address_url(&bound->all[i], scheme, url);
        printf("%s %s", i > 0 ? "," : "", url);
    }
    fputs("\n\n", stdout);
    if (standby) {
        fflush(stdout);
        return;
    }
    address_url(&bound->all[0], scheme, url);
    if (file != NULL)
        printf("export KINDEX_TOKEN=$(cat %s)\n", file);
    print_commands(url, tokens ? " --oauth2-bearer $KINDEX_TOKEN" : "");
    /* Without a token Deno does not connect; the server accepts any. */
    printf("Deno.openKv(\"%s\") // DENO_KV_ACCESS_TOKEN=%s\n\n", url,
           tokens ? "$KINDEX_TOKEN" : "any");
    fflush(stdout);
}

void greeting_print(const struct service *service,
                    const struct addresses *bound)
{
    if (service->options->ephemeral)
        print_json(service, bound);
    else
        print_text(service, bound);
}
