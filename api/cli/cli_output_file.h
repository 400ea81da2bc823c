/* Files that commands write: one has its name only when it is whole. */
#ifndef API_CLI_SAVE_H
#define API_CLI_SAVE_H

#include <stdio.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "kindex.h"

struct cli_output_file {
    FILE *out;
    const char *path; /* "standard output", too */
    const char *name; /* of the file: path, or where that link leads */
    char target[4000];
    char part[4096]; /* its name until then; "": see below */
    bool keep;       /* the part, if there was no error of writing */
    int error;       /* the first, of errno */
};

/* Opens what is to be written; path NULL or "-" is standard output. What is
 * there under that name and is no plain file, such as a pipe, is written as it
 * stands; a link to a file stays a link. False when it cannot be, which was
 * said to standard error. */
bool cli_output_file_open(struct cli_output_file *save, const char *path,
                          mode_t mode);

/* False when they cannot be written, which cli_output_file_end says. */
bool cli_output_file_write(struct cli_output_file *save, struct kx_slice bytes);

/* With CLI_OK all that was written is on disk before the file has its name;
 * else it is removed, or kept as its part. Returns status, or CLI_ERROR after
 * having said what went wrong. */
int cli_output_file_end(struct cli_output_file *save, int status);

#endif
