/* Where files of a test lie that need not outlive it: in memory, if there is
 * room for many stores, else on the disk, where each sync takes its time. */
#ifndef TEST_PLACE_H
#define TEST_PLACE_H

#include <stdint.h>
#include <sys/statvfs.h>
#include <stdbool.h>
#include <unistd.h>

static inline const char *test_place(void)
{
    static const uint64_t wanted = 1024 << 20;
    struct statvfs room;
    bool there = access("/dev/shm", W_OK) == 0 &&
                 statvfs("/dev/shm", &room) == 0 &&
                 (uint64_t)room.f_bavail * room.f_frsize >= wanted;
    return there ? "/dev/shm" : "/tmp";
}

#endif
