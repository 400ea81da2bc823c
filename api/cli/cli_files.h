/* Files of a command: input that is read whole, and output that gets its final
 * name when it is complete. */
#ifndef API_CLI_FILES_H
#define API_CLI_FILES_H

#include <stdio.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "cli/cli_http.h"
#include "kindex.h"

/* The largest document or value, in bytes. */
#define CLI_INPUT_MAX (256u << 20)

/* Appends the file, or standard input if path is NULL or "-". Returns false
 * after printing why: the input cannot be read, is larger than CLI_INPUT_MAX,
 * or memory ran out. */
bool cli_input(const char *path, struct kx_buffer *out);

/* Replaces the content of the file by this text atomically: even after a crash
 * it is either the old or the new content. Returns false after printing why the
 * file cannot be written. */
bool cli_file_replace(const char *path, struct kx_slice text);

/* A file that a command writes. */
struct cli_output_file {
    FILE *out;
    const char *path; /* as given, or "standard output" */
    const char *name; /* the final name: path, or the target if path is a link
                       */
    char target[4000];
    char part[4096]; /* the name until the file is complete; "": written in
                      * place */
    bool keep;       /* keep an incomplete part, unless a write failed */
    int error;       /* errno of the first failed write */
};

/* Opens the output; path NULL or "-" is standard output. A new file gets the
 * permissions `mode`. An existing object that is not a plain file, such as a
 * pipe, is written in place. A link to a file stays a link. Returns false after
 * printing why the output cannot be opened. */
bool cli_output_file_open(struct cli_output_file *file, const char *path,
                          mode_t mode);

/* Returns false if the bytes cannot be written; cli_output_file_end prints the
 * message. */
bool cli_output_file_write(struct cli_output_file *file, struct kx_slice bytes);

/* Closes the output. If status is CLI_OK, the file gets its final name after
 * all bytes are on disk. Otherwise the part is removed, or kept if `keep` is
 * set. Returns status, or CLI_ERROR after printing an error. */
int cli_output_file_end(struct cli_output_file *file, int status);

#endif
