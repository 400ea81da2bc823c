/* Reading a backup only to see whether it is right. */
#include <talloc.h>

#include "backup/backup_unpack.h"

struct kx_backup_check {
    struct backup_unpack *unpack;
};

struct kx_backup_check *kx_backup_check_begin(void *memory)
{
    struct kx_backup_check *check = talloc_zero(memory, struct kx_backup_check);
    if (check == NULL)
        return NULL;
    check->unpack = backup_unpack_create(check, NULL);
    if (check->unpack != NULL)
        return check;
    talloc_free(check);
    return NULL;
}

enum kx_status kx_backup_check_add(struct kx_backup_check *check,
                                   struct kx_slice bytes,
                                   struct kx_fault *fault)
{
    return backup_unpack_add(check->unpack, bytes, fault);
}

uint64_t kx_backup_check_bytes(const struct kx_backup_check *check)
{
    return backup_unpack_bytes(check->unpack);
}

enum kx_status kx_backup_check_end(struct kx_backup_check *check,
                                   struct kx_fault *fault)
{
    return backup_unpack_end(check->unpack, fault);
}
