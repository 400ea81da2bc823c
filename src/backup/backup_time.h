/* When the last whole backup was made, also before the last start: an alert
 * that there was none lately must outlive a restart. */
#ifndef BACKUP_TIME_H
#define BACKUP_TIME_H

struct kx_store;

/* Takes what the data directory says into the store's figures; a directory that
 * says nothing, such as a restored one, has had none. While it is opened. */
void backup_time_load(struct kx_store *store);

/* One was made now. The figure has it in any case; when it cannot be written
 * down, the log says so. Any thread. */
void backup_time_note(struct kx_store *store);

#endif
