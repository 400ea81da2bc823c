/* Names and lifetimes of log files. The library could remove log files itself,
 * but knows nothing of backups and archives. */
#include "storage/log_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/env_state.h"
#include "base/file.h"

void log_files_name(uint32_t number, char *out)
{
    snprintf(out, LOG_NAME, "log.%010u", number);
}

/* Returns the number of the log file with this name; 0 if it is another file.
 */
static uint32_t number_of(const char *name)
{
    char same[LOG_NAME];
    uint32_t number = 0;
    if (sscanf(name, "log.%10u", &number) != 1)
        return 0;
    log_files_name(number, same);
    return strcmp(name, same) == 0 ? number : 0;
}

struct number_span {
    uint32_t first;
    uint32_t last;
};

static bool widen(void *target, const char *name)
{
    struct number_span *span = target;
    uint32_t number = number_of(name);
    if (number != 0 && (number < span->first || span->first == 0))
        span->first = number;
    if (number > span->last)
        span->last = number;
    return true;
}

bool log_files_span(const char *directory, uint32_t *first_out,
                    uint32_t *last_out)
{
    struct number_span span = {0};
    bool whole = file_each(directory, widen, &span);
    *first_out = span.first;
    *last_out = span.last;
    return whole;
}

enum kx_status log_files_end(struct env *env, struct log_place *end_out)
{
    DB_LOG_STAT *stat = NULL;
    int error = env->db->log_stat(env->db, &stat, 0);
    if (error != 0)
        return bdb_status(env, error, "log_stat");
    *end_out = (struct log_place){.file = stat->st_disk_file,
                                  .offset = stat->st_disk_offset};
    free(stat);
    return KX_OK;
}

void log_files_hold(struct env *env)
{
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    state->logs_held++;
    pthread_mutex_unlock(&state->logs_lock);
}

void log_files_release(struct env *env)
{
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    state->logs_held--;
    pthread_mutex_unlock(&state->logs_lock);
}

void log_files_keep_from(struct env *env, uint32_t number)
{
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    state->logs_kept_from = number;
    pthread_mutex_unlock(&state->logs_lock);
}

/* A file that cannot be removed is tried again next time. */
static void remove_listed(const struct env_state *state, const char *home,
                          char *const *names)
{
    char path[4096];
    for (; *names != NULL; names++) {
        snprintf(path, sizeof path, "%s/%s", home, *names);
        if (number_of(*names) != 0 && number_of(*names) < state->logs_kept_from)
            unlink(path);
    }
}

void log_files_trim(struct env *env)
{
    const char *home = NULL;
    char **list = NULL;
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    if (state->logs_held == 0 && env->db->get_home(env->db, &home) == 0 &&
        env->db->log_archive(env->db, &list, 0) == 0 && list != NULL)
        remove_listed(state, home, list);
    pthread_mutex_unlock(&state->logs_lock);
    free(list);
}
