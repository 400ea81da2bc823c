/* Header blocks of plain files. Names consist of letters, digits, dots, dashes
 * and underscores, so unpacking can never leave the directory. */
#include "backup/tar.h"

#include <stdio.h>
#include <stdlib.h>

/* Offsets and sizes of a header's fields. */
enum {
    NAME_SIZE = 100,
    SIZE_AT = 124,
    SIZE_SIZE = 12,
    SUM_AT = 148,
    SUM_SIZE = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257
};

static const uint64_t OCTAL_MAX = 077777777777;

static void put_octal(uint8_t *block, size_t at, size_t size, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%0*llo", (int)size - 1,
             (unsigned long long)number);
    memcpy(block + at, text, size);
}

/* Eleven octal digits hold 8 GiB; more is written as a binary number. */
static void put_size(uint8_t *block, uint64_t size)
{
    if (size <= OCTAL_MAX) {
        put_octal(block, SIZE_AT, SIZE_SIZE, size);
        return;
    }
    block[SIZE_AT] = 0x80;
    for (int i = 0; i < 8; i++)
        block[SIZE_AT + SIZE_SIZE - 1 - i] = (uint8_t)(size >> (8 * i));
}

/* Computes the sum as if its own field contained spaces. */
static unsigned sum_of(const uint8_t *block)
{
    unsigned sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_SIZE ? ' ' : block[i];
    return sum;
}

void tar_write(const struct tar_member *member, int64_t now_ms, uint8_t *block)
{
    memset(block, 0, TAR_BLOCK);
    memcpy(block, member->name, strnlen(member->name, TAR_NAME_MAX - 1));
    put_octal(block, 100, 8, 0600); /* mode */
    put_octal(block, 108, 8, 0);    /* user */
    put_octal(block, 116, 8, 0);    /* group */
    put_size(block, member->size);
    put_octal(block, 136, 12, (uint64_t)now_ms / 1000);
    block[TYPE_AT] = '0';
    memcpy(block + MAGIC_AT, "ustar\00000", 8);
    put_octal(block, SUM_AT, SUM_SIZE - 1, sum_of(block));
    block[SUM_AT + SUM_SIZE - 1] = ' ';
}

static bool is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return name[0] != '\0' && name[0] != '.' &&
           name[strspn(name, letters)] == '\0';
}

static uint64_t read_octal(const uint8_t *block, size_t at, size_t size)
{
    char text[32] = "";
    memcpy(text, block + at, size);
    return strtoull(text, NULL, 8);
}

static uint64_t read_size(const uint8_t *block)
{
    uint64_t size = 0;
    if (block[SIZE_AT] != 0x80)
        return read_octal(block, SIZE_AT, SIZE_SIZE);
    for (int i = SIZE_SIZE - 8; i < SIZE_SIZE; i++)
        size = size << 8 | block[SIZE_AT + i];
    return size;
}

static bool all_zero(const uint8_t *block)
{
    return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

enum kx_status tar_read(const uint8_t *block, struct tar_member *member_out)
{
    char name[NAME_SIZE + 1] = "";
    if (all_zero(block))
        return KX_END;
    memcpy(name, block, NAME_SIZE);
    member_out->size = read_size(block);
    if (memcmp(block + MAGIC_AT, "ustar", 5) != 0 ||
        read_octal(block, SUM_AT, SUM_SIZE) != sum_of(block) ||
        block[TYPE_AT] != '0' || !is_plain(name) ||
        strlen(name) >= TAR_NAME_MAX || member_out->size >> 56 != 0)
        return KX_BAD_ARCHIVE;
    strcpy(member_out->name, name);
    return KX_OK;
}

size_t tar_padding(uint64_t size)
{
    return (size_t)(-size & (TAR_BLOCK - 1));
}
