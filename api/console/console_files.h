/* The files of the console, put into the program as they are in this folder.
 * Any thread. */
#ifndef API_CONSOLE_FILES_H
#define API_CONSOLE_FILES_H

#include "kindex.h"

struct console_file {
    const char *name; /* "app.js" */
    const char *type; /* its media type */
    struct kx_slice bytes;
    struct kx_slice gzip; /* compressed; empty if memory ran out */
    struct kx_slice zstd; /* compressed; empty if memory ran out */
};

/* Finds a file; it lives as long as the program. NULL if there is no such file.
 */
const struct console_file *console_file_find(struct kx_slice name);

/* In the order of the table's last rows (console_files.c). */
enum console_page { PAGE_DOCS, PAGE_CONSOLE };

/* Returns a page, in which {{nonce}} and {{base}} are replaced for each
 * request. */
struct kx_slice console_page_text(enum console_page page);

/* Returns "~" and the beginning of the hash of all files, which changes with
 * any file. */
const char *console_version(void);

#endif
