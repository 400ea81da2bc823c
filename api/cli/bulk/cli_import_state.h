/* The state file of kindex import: a place in the input before which all lines
 * are stored, and the hash of the input before that place. */
#ifndef API_CLI_IMPORT_STATE_H
#define API_CLI_IMPORT_STATE_H

#include "cli/bulk/cli_pipeline.h"

/* Reads `at` and `hash` of the place; if the file does not exist, sets the
 * beginning of the input. Returns CLI_OK, or CLI_ERROR after printing why. */
int cli_import_state_read(const char *path, struct cli_pipeline_place *place);

/* Replaces the whole file atomically. Returns CLI_OK, or CLI_ERROR after
 * printing why. */
int cli_import_state_write(const char *path,
                           const struct cli_pipeline_place *place);

#endif
