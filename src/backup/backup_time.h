/* When the last complete backup was made, also before the last start: an alert
 * on a missing backup must survive a restart. */
#ifndef BACKUP_TIME_H
#define BACKUP_TIME_H

#include <stdint.h>

/* Reads the time from the data directory into *time_s, the store's counter; a
 * directory without it, such as a restored one, has had no backup. While the
 * store is opened. */
void backup_time_load(const char *directory, _Atomic uint64_t *time_s);

/* A backup was made now. The figure is set in any case; if the file cannot be
 * written, the log says so. Any thread. */
void backup_time_note(const char *directory, _Atomic uint64_t *time_s);

#endif
