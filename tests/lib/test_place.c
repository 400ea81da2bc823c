#include "test_place.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *test_place(void)
{
    static const uint64_t wanted = 1024 << 20;
    struct statvfs room;
    bool there = access("/dev/shm", W_OK) == 0 &&
                 statvfs("/dev/shm", &room) == 0 &&
                 (uint64_t)room.f_bavail * room.f_frsize >= wanted;
    return there ? "/dev/shm" : "/tmp";
}
