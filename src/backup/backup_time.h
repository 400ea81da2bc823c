/* The time of the last complete backup. It survives a restart, because an alert
 * on a missing backup must, too. */
#ifndef BACKUP_TIME_H
#define BACKUP_TIME_H

#include <stdint.h>

/* Reads the time from the data directory into *time_s (Unix time in seconds); 0
 * if the directory, such as a restored one, had no backup. Call while the store
 * is being opened. */
void backup_time_load(const char *directory, _Atomic uint64_t *time_s);

/* Records that a backup was made now. *time_s is set in any case; a failed
 * write of the file is logged. Any thread. */
void backup_time_note(const char *directory, _Atomic uint64_t *time_s);

#endif
