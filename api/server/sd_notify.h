/* What the program tells a supervisor such as systemd, in the protocol of
 * sd_notify(3). */
#ifndef API_SD_NOTIFY_H
#define API_SD_NOTIFY_H

/* Sends the text (READY=1, STOPPING=1) to the socket that NOTIFY_SOCKET names;
 * does nothing if it is not set. A supervisor that does not listen is not an
 * error. */
void sd_notify_send(const char *text);

#endif
