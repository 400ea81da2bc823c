/* What only the archive needs of a backup. */
#ifndef BACKUP_H
#define BACKUP_H

#include "commit/store_state.h"

/* The end of the backup is not noted (backup_time.h): the caller does so when
 * the backup is on disk. */
void backup_leave_unnoted(struct kx_backup *backup);

/* No commit in it has a higher versionstamp. Valid after its end. */
uint64_t backup_stamp(const struct kx_backup *backup);
/* The first log file in it. */
uint32_t backup_first_log(const struct kx_backup *backup);

#endif
