/* From one struct of options to the other. */
#include "server/store_options.h"

#include "server/loop.h"

void store_options_beside(const struct options *options,
                          const char *files[STORE_OPTIONS_BESIDE_MAX])
{
    const char *const all[] = {options->token_file, options->port_file,
                               options->tls_cert, options->tls_key,
                               options->tls_client_ca};
    _Static_assert(sizeof all / sizeof *all < STORE_OPTIONS_BESIDE_MAX,
                   "there is room for the NULL at the end");
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NULL)
            files[count++] = all[i];
    files[count] = NULL;
}

void store_options_set(const struct options *options,
                       struct kx_options *store_out)
{
    kx_options_default(store_out);
    store_out->directory = options->data;
    store_out->cache_bytes = options->cache;
    store_out->value_max = options->value_max;
    store_out->outcome_quota = options->idempotency_quota;
    store_out->queue_max = (uint32_t)options->queue_max;
    store_out->checkpoint_seconds =
        (uint32_t)(options->checkpoint_interval_ms / 1000);
    store_out->checkpoint_bytes = (uint32_t)options->checkpoint_log;
    store_out->engine = options->engine;
    store_out->engine_password_file = options->engine_password_file;
    store_out->engine_insecure = options->engine_insecure;
    store_out->advertise = options->advertise;
    store_out->archive = options->archive;
    store_out->followed = options->followed;
    store_out->fence_lease_ms = options->fence_lease_ms;
    store_out->archive_sync = options->archive_sync;
    store_out->follow = options->follow;
    store_out->primary = options->primary;
    store_out->archive_interval_ms = (int64_t)options->archive_interval_ms;
    store_out->archive_keep = (uint32_t)options->archive_keep;
    store_out->disk_floor = options->disk_floor;
    store_out->build_memory = options->build_memory;
    store_out->answer = loops_answer;
}

/* A start must repeat all writes since the last checkpoint. */
static void look_at_floor(const struct options *options)
{
    if (options->engine == NULL &&
        options->disk_floor < options->checkpoint_log)
        kx_log(KX_LOG_WARNING, "disk-floor",
               "detail=\"--disk-floor is below --checkpoint-log: after a crash "
               "on a full disk there may be too little space to start\"");
}

/* Warns if the limits on bodies exclude the largest values, either always or in
 * POST /atomic, imports and KV Connect. */
static void look_at_sizes(const struct options *options)
{
    if (options->value_max > options->bodies_max)
        kx_log(KX_LOG_WARNING, "value-max",
               "detail=\"--value-max is above --bodies-max: the largest values "
               "are always refused\"");
    else if (options->value_max > options->body_max)
        kx_log(KX_LOG_WARNING, "value-max",
               "detail=\"--value-max is above --body-max: the largest values "
               "are taken by PUT, and refused in commits of several "
               "mutations, imports and KV Connect\"");
}

void store_options_warn(const struct options *options)
{
    look_at_floor(options);
    look_at_sizes(options);
}
