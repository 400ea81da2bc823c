/* The log files of the environment. A file is removed when recovery does not
 * need it, no backup is in progress, and, if there is an archive, the file is
 * in the archive. */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include "storage/env.h"

enum { LOG_NAME = 32 };
/* Writes the name of the n-th file to out, which holds LOG_NAME bytes. */
void log_files_name(uint32_t number, char *out);

/* A place in the log. */
struct log_place {
    uint32_t file;
    uint32_t offset;
};

/* Sets the lowest and highest number of the log files in a directory; 0 if it
 * has none. Returns false with errno if the directory cannot be read: there may
 * be more files. */
bool log_files_span(const char *directory, uint32_t *first_out,
                    uint32_t *last_out);

/* Sets *end_out to the place up to which the log is on disk. KX_OK, KX_FAILED.
 * Any thread. */
enum kx_status log_files_end(struct env *env, struct log_place *end_out);

/* No log file is removed between hold and release. Calls may nest. Any thread.
 */
void log_files_hold(struct env *env);
void log_files_release(struct env *env);

/* Keeps the files from this number on, because they are not in the archive yet.
 * UINT32_MAX, the initial value, keeps no file. Any thread. */
void log_files_keep_from(struct env *env, uint32_t number);

/* Removes the files that are no longer needed. A file that cannot be removed is
 * tried again next time. Any thread. */
void log_files_trim(struct env *env);

#endif
