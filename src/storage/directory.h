/* The files that say what a data directory is: "format", "complete" and
 * "suspect"; and whether a directory has files that are not from Kindex. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

#include <stdbool.h>

#include "engine/format_number.h"
#include "kindex.h"

/* The file "format" has the format number (engine/format_number.h). It is read
 * before anything is opened, so that a program that is too old changes nothing.
 */

/* Checks whether this program can read the directory. KX_OK, also if there is
 * no file; KX_BAD_DIRECTORY, with a fault that says why; KX_NO_MEMORY. */
enum kx_status directory_format_look(const char *directory,
                                     struct kx_fault *fault);

/* Checks whether this program can open the directory, which the caller has
 * locked. Replaces a lower or missing number by FORMAT_NUMBER, and syncs the
 * file. KX_OK; KX_BAD_DIRECTORY, with a fault that says why: the number is
 * higher, or cannot be read or written, and nothing was changed; KX_NO_MEMORY.
 */
enum kx_status directory_format_guard(const char *directory,
                                      struct kx_fault *fault);

/* The file "complete" says that all tables have been on disk once. Without the
 * file, a table can be missing because the program crashed while it created the
 * store. With the file, a missing table was lost with its rows. */

/* KX_OK: the file exists; KX_ABSENT: it does not; otherwise the status of the
 * failed file call (file_failed). */
enum kx_status directory_complete_exists(const char *directory,
                                         struct kx_fault *fault);

/* Writes the file, after the tables' contents and names are on disk. Returns
 * false with errno if the file may be missing. */
bool directory_complete_write(const char *directory);

/* The file "suspect" says that the library or the page check has found damage.
 * The next start then checks every page before it opens the directory. */

/* Returns whether the file exists; true also if that is unknown. */
bool directory_suspect_exists(const char *directory);

/* Creates the file. If the disk refuses, the damage has to be found again. */
void directory_suspect_mark(const char *directory);

/* Removes the file, after every page was found to be right. */
void directory_suspect_clear(const char *directory);

/* Checks options->directory before a store is created there. KX_BAD_DIRECTORY,
 * with a fault that names a file: the directory has files, but no store and no
 * remainder of one. Files named in options->beside, the archive and hidden
 * files do not count. KX_OK otherwise, even if the directory is missing or
 * cannot be listed. */
enum kx_status directory_foreign_look(const struct kx_options *options,
                                      struct kx_fault *fault);

#endif
