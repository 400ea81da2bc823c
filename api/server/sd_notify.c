/* One datagram to the supervisor's socket, which is a file, or a name of the
 * kernel's own when it begins with @. */
#include "server/sd_notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void sd_notify_send(const char *text)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = name == NULL ? 0 : strlen(name);
    if (size == 0 || size > sizeof to.sun_path || strchr("/@", *name) == NULL)
        return;
    memcpy(to.sun_path, name, size);
    if (*name == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    close(fd);
}
