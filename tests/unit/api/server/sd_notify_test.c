/* The datagrams that a supervisor gets, on sockets of both kinds. */
#include "server/sd_notify.h"
#include "unit.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Binds a socket to the name as NOTIFY_SOCKET has it. */
static int listen_at(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    memcpy(at.sun_path, name, size);
    if (*name == '@')
        at.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&at,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
        0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

/* A datagram between processes of one machine is there when it was sent. */
static void has_got(int fd, const char *text)
{
    char got[64] = "";
    ssize_t size = recv(fd, got, sizeof got - 1, 0);
    assert_int_equal(size, text == NULL ? -1 : (ssize_t)strlen(text));
    if (text != NULL)
        assert_string_equal(got, text);
}

TEST(sd_notify_sends_to_a_socket_file)
{
    char name[64];
    snprintf(name, sizeof name, "/tmp/kindex-notify-%d", (int)getpid());
    int fd = listen_at(name);
    has_got(fd, NULL);
    sd_notify_send("READY=1");
    sd_notify_send("STOPPING=1");
    has_got(fd, "READY=1");
    has_got(fd, "STOPPING=1");
    has_got(fd, NULL);
    close(fd);
    unlink(name);
}

TEST(sd_notify_sends_to_an_abstract_socket)
{
    char name[64];
    snprintf(name, sizeof name, "@kindex-notify-%d", (int)getpid());
    int fd = listen_at(name);
    sd_notify_send("READY=1");
    has_got(fd, "READY=1");
    close(fd);
}

TEST(sd_notify_ignores_a_missing_or_wrong_address)
{
    static const char *const NAMES[] = {"", "relative", "/nowhere/at/all",
                                        "@nobody-listens-here"};
    char name[64], longest[300];
    snprintf(name, sizeof name, "@kindex-notify-%d", (int)getpid());
    int fd = listen_at(name);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        setenv("NOTIFY_SOCKET", NAMES[i], 1);
        sd_notify_send("READY=1");
    }
    memset(longest, '/', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    setenv("NOTIFY_SOCKET", longest, 1);
    sd_notify_send("READY=1");
    unsetenv("NOTIFY_SOCKET");
    sd_notify_send("READY=1");
    has_got(fd, NULL);
    close(fd);
}
