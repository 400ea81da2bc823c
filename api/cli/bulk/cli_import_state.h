/* The state file of kindex import: the place in the input before which all
 * lines are stored, and the hash of the input before it. */
#ifndef API_CLI_IMPORT_STATE_H
#define API_CLI_IMPORT_STATE_H

#include "cli/bulk/cli_pipeline.h"

/* Reads `at` and `hash` of the place; without a file it is the beginning.
 * Returns the exit status; the message of a failure has been printed. */
int cli_import_state_read(const char *path, struct cli_pipeline_place *place);

/* Replaces the file as a whole. Returns the exit status, as above. */
int cli_import_state_write(const char *path,
                           const struct cli_pipeline_place *place);

#endif
