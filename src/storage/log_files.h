/* The log files of the environment: which exist, and when they are removed. A
 * file is removed when no recovery needs it, no backup is being made, and it is
 * in the archive if there is one.
 */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include "storage/env.h"

enum { LOG_NAME = 32 };
/* The name of the n-th file, to out, which holds LOG_NAME bytes. */
void log_files_name(uint32_t number, char *out);

/* A place in the log. */
struct log_place {
    uint32_t file;
    uint32_t offset;
};

/* The lowest and highest number of the log files in a directory; 0 when it
 * has none. False with errno: it cannot be read, and there may be others. */
bool log_files_span(const char *directory, uint32_t *first_out,
                    uint32_t *last_out);

/* Up to where the log is on disk: KX_OK, KX_FAILED. Any thread. */
enum kx_status log_files_end(struct env *env, struct log_place *end_out);

/* Between the two no log file is removed. Any thread, any number of times. */
void log_files_hold(struct env *env);
void log_files_release(struct env *env);

/* Files from this number on are not in the archive yet; UINT32_MAX, the initial
 * value: there is no such file. Any thread. */
void log_files_keep_from(struct env *env, uint32_t number);

/* Removes the files that may be removed. */
void log_files_trim(struct env *env);

#endif
