/* What the archive asks of a backup besides what everybody may. */
#ifndef BACKUP_H
#define BACKUP_H

#include "commit/store_state.h"

/* When it has come to its end that is not noted (backup_time.h): the caller
 * does so when it is on disk. */
void backup_leave_unnoted(struct kx_backup *backup);

/* No commit in it has a higher versionstamp. When all of it was made. */
uint64_t backup_stamp(const struct kx_backup *backup);
/* The first log file that it holds. */
uint32_t backup_first_log(const struct kx_backup *backup);

#endif
