/* The functions of a backup that only the archive needs. */
#ifndef BACKUP_H
#define BACKUP_H

#include "commit/store_state.h"

/* Makes the backup not record its time when it ends (backup_time.h): the caller
 * does that once the backup is on disk. */
void backup_leave_unnoted(struct kx_backup *backup);

/* At least the versionstamp of every commit in the backup. Valid after its end.
 */
uint64_t backup_stamp(const struct kx_backup *backup);
/* The number of the first log file in the backup. */
uint32_t backup_first_log(const struct kx_backup *backup);

#endif
