/* When the last complete backup was made, also before the last start: an alert
 * on a missing backup must survive a restart. */
#ifndef BACKUP_TIME_H
#define BACKUP_TIME_H

struct kx_store;

/* Reads the time from the data directory into the store's figures; a directory
 * without it, such as a restored one, has had no backup. While the store is
 * opened. */
void backup_time_load(struct kx_store *store);

/* A backup was made now. The figure is set in any case; if the file cannot be
 * written, the log says so. Any thread. */
void backup_time_note(struct kx_store *store);

#endif
