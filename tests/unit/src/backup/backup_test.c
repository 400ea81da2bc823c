/* The parts of backups: tar headers, archives in pieces of any size, page
 * checksums, compressed files. */
#include <fcntl.h>
#include <sys/stat.h>

#include "backup/backup_pack.h"
#include "bdb/page_check.h"
#include "store.h"
#include "backup/tar.h"
#include "backup/backup_unpack.h"
#include "backup/zstd_file.h"
#include "storage/log_files.h"

enum { SIZES = 7 };
static const size_t sizes[SIZES] = {0, 1, 511, 512, 513, 4096, 300000};

/* ---- Archives ----------------------------------------------------------- */

static uint8_t byte_of(size_t member, size_t at)
{
    return (uint8_t)(at * 131 + member * 7 + (at >> 9));
}

/* An archive with a member of each size, made in pieces of at most `piece`. */
static struct kx_slice make(void *mem, size_t piece)
{
    struct kx_buffer out;
    struct backup_pack *pack = backup_pack_create(mem);
    uint8_t *bytes = talloc_size(mem, sizes[SIZES - 1]);
    kx_buffer_init(&out, mem);
    backup_pack_target(pack, &out);
    for (size_t i = 0; i < SIZES; i++) {
        char name[LOG_NAME];
        log_files_name((uint32_t)i, name);
        backup_pack_member(pack, name, sizes[i]);
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = byte_of(i, at);
        for (size_t at = 0; at < sizes[i]; at += piece)
            backup_pack_add(pack, kx_slice(bytes + at, sizes[i] - at < piece
                                                           ? sizes[i] - at
                                                           : piece));
    }
    backup_pack_finish(pack);
    assert_false(out.failed);
    talloc_free(pack);
    talloc_free(bytes);
    return kx_buffer_slice(&out);
}

/* What the reader of a backup has received. */
struct seen {
    size_t members;
    size_t bytes;
    bool open;
};

static bool see_open(void *target, const char *name, uint64_t size)
{
    struct seen *seen = target;
    char wanted[LOG_NAME];
    log_files_name((uint32_t)seen->members, wanted);
    seen->open = true;
    seen->bytes = 0;
    return strcmp(name, wanted) == 0 && size == sizes[seen->members];
}

static bool see_bytes(void *target, struct kx_slice bytes)
{
    struct seen *seen = target;
    for (size_t i = 0; i < bytes.size; i++)
        if (bytes.data[i] != byte_of(seen->members, seen->bytes + i))
            return false;
    seen->bytes += bytes.size;
    return seen->open;
}

static bool see_close(void *target)
{
    struct seen *seen = target;
    bool whole = seen->open && seen->bytes == sizes[seen->members];
    seen->members++;
    seen->open = false;
    return whole;
}

static enum kx_status read_all(void *mem, struct kx_slice archive, size_t piece,
                               struct seen *seen)
{
    struct kx_fault fault;
    struct backup_unpack_sink sink = {.open = see_open,
                                      .bytes = see_bytes,
                                      .close = see_close,
                                      .target = seen};
    *seen = (struct seen){.members = 0};
    struct backup_unpack *unpack = backup_unpack_create(mem, &sink);
    enum kx_status status = KX_OK;
    for (size_t at = 0; status == KX_OK && at < archive.size; at += piece) {
        size_t size = archive.size - at < piece ? archive.size - at : piece;
        status = backup_unpack_add(unpack, kx_slice(archive.data + at, size),
                                   &fault);
    }
    if (status == KX_OK)
        status = backup_unpack_end(unpack, &fault);
    talloc_free(unpack);
    return status;
}

/* Reads a backup with these members (up to NULL), each of one byte with a
 * correct checksum, and returns the status. */
static enum kx_status check_members(void *mem, const char *const *names,
                                    struct kx_fault *fault)
{
    struct kx_buffer out;
    struct backup_pack *pack = backup_pack_create(mem);
    struct backup_unpack *unpack = backup_unpack_create(mem, NULL);
    kx_buffer_init(&out, mem);
    backup_pack_target(pack, &out);
    for (; *names != NULL; names++) {
        backup_pack_member(pack, *names, 1);
        backup_pack_add(pack, kx_text("x"));
    }
    backup_pack_finish(pack);
    enum kx_status status =
        backup_unpack_add(unpack, kx_buffer_slice(&out), fault);
    if (status == KX_OK)
        status = backup_unpack_end(unpack, fault);
    talloc_free(unpack);
    talloc_free(pack);
    kx_buffer_free(&out);
    return status;
}

TEST_WITH(only_the_files_of_a_backup_are_taken_once_each, memory_open,
          memory_close)
{
    static const char *const good[] = {"format",         "entries.db",
                                       "catalog.db",     "log.0000000007",
                                       "log.0000000008", NULL};
    static const struct {
        const char *names[4];
        const char *detail;
    } bad[] = {
        {{"format", "timeline"}, "the file timeline, which no backup has"},
        {{"format", "log.7"}, "the file log.7"},
        {{"log.0000000007", "log.0000000007x"}, "the file log.0000000007x"},
        {{"format", "entries.db", "entries.db"}, "entries.db comes twice"},
        {{"log.0000000007", "log.0000000008", "log.0000000007"},
         "log.0000000007 comes twice"},
        {{"entries.db", "format"}, "format comes twice, or not in its place"},
    };
    struct kx_fault fault;
    assert_int_equal(check_members(*state, good, &fault), KX_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(check_members(*state, bad[i].names, &fault),
                         KX_BAD_ARCHIVE);
        if (strstr(fault.detail, bad[i].detail) == NULL)
            fail_msg("%s, not: %s", fault.detail, bad[i].detail);
    }
}

TEST_WITH(backup_is_read_in_pieces_of_any_size, memory_open, memory_close)
{
    static const size_t pieces[] = {1, 7, 512, 65536, 1 << 20};
    struct seen seen;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct kx_slice archive = make(*state, pieces[i]);
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++) {
            assert_int_equal(read_all(*state, archive, pieces[j], &seen),
                             KX_OK);
            assert_int_equal(seen.members, SIZES);
        }
        talloc_free((void *)archive.data);
    }
}

TEST_WITH(backup_with_flipped_bit_never_reads_differently, memory_open,
          memory_close)
{
    uint64_t seed = random_seed("flipped bits");
    struct seen seen;
    struct kx_slice archive = make(*state, 65536);
    uint8_t *bytes = (uint8_t *)archive.data;
    int harmless = 0;
    for (int i = 0; i < 500; i++) {
        size_t at = random_below(&seed, archive.size);
        uint8_t bit = (uint8_t)(1 << random_below(&seed, 8));
        bytes[at] ^= bit;
        enum kx_status status = read_all(*state, archive, 4096, &seen);
        /* A few bits of zstd's mean nothing: then all is as it was, which the
         * reader has seen byte by byte. */
        assert_true(status != KX_OK || seen.members == SIZES);
        harmless += status == KX_OK;
        bytes[at] ^= bit;
    }
    assert_true(harmless < 10);
    assert_int_equal(read_all(*state, archive, 4096, &seen), KX_OK);
    talloc_free(bytes);
}

TEST_WITH(backup_check_detects_any_missing_end, memory_open, memory_close)
{
    struct seen seen;
    struct kx_slice archive = make(*state, 65536);
    for (size_t size = 0; size < archive.size; size += 1 + size / 50)
        assert_int_equal(
            read_all(*state, kx_slice(archive.data, size), 4096, &seen),
            KX_BAD_ARCHIVE);
    struct kx_slice most = kx_slice(archive.data, archive.size - 1);
    assert_int_equal(read_all(*state, most, 4096, &seen), KX_BAD_ARCHIVE);
    talloc_free((void *)archive.data);
}

/* A member that gets fewer or more bytes than it said cannot be finished. */
TEST_WITH(backup_member_must_have_stated_size, memory_open, memory_close)
{
    for (int i = 0; i < 2; i++) {
        struct kx_buffer out;
        struct backup_pack *pack = backup_pack_create(*state);
        kx_buffer_init(&out, *state);
        backup_pack_target(pack, &out);
        backup_pack_member(pack, "short", i == 0 ? 4 : 2);
        backup_pack_add(pack, kx_text("abc"));
        backup_pack_finish(pack);
        assert_true(out.failed);
        talloc_free(pack);
        kx_buffer_free(&out);
    }
}

/* ---- Tar ---------------------------------------------------------------- */

TEST_WITH(tar_header_holds_any_size, memory_open, memory_close)
{
    static const uint64_t large[] = {0, 1, 077777777777, 0100000000000,
                                     1ull << 50};
    uint8_t block[TAR_BLOCK];
    struct tar_member member;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct tar_member wanted = {.name = "a.db", .size = large[i]};
        tar_write(&wanted, 1700000000000, block);
        assert_int_equal(tar_read(block, &member), KX_OK);
        assert_true(member.size == large[i]);
        assert_string_equal(member.name, "a.db");
    }
}

TEST_WITH(tar_names_cannot_leave_their_directory, memory_open, memory_close)
{
    static const char *const bad[] = {"../a", "/a", "a/b", ".a", "", "a b"};
    uint8_t block[TAR_BLOCK];
    struct tar_member member;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tar_member wanted = {.size = 1};
        snprintf(wanted.name, sizeof wanted.name, "%s", bad[i]);
        tar_write(&wanted, 0, block);
        assert_int_equal(tar_read(block, &member), KX_BAD_ARCHIVE);
    }
}

/* ---- Pages -------------------------------------------------------------- */

static void fill(struct test_store *test, void *mem)
{
    for (int i = 0; i < 400; i++) {
        char key[32], value[100];
        snprintf(key, sizeof key, "[\"key\",%d]", i);
        snprintf(value, sizeof value, "{\"n\":%d,\"text\":\"%050d\"}", i, i);
        assert_int_equal(test_set(test, mem, key, value), KX_OK);
    }
}

static void flip(const char *path, off_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

TEST(page_check_looks_at_every_page)
{
    void *mem = talloc_new(NULL);
    uint64_t seed = random_seed("pages");
    struct test_store test;
    struct kx_fault fault;
    struct stat about;
    char path[100];
    test_store_new(&test);
    fill(&test, mem);
    test_store_close(&test);
    assert_int_equal(page_check_all(test.directory, &fault), KX_OK);
    snprintf(path, sizeof path, "%s/entries.db", test.directory);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size >= 5 * PAGE_BYTES);
    for (off_t page = 0; page < about.st_size / PAGE_BYTES; page++) {
        size_t used = page == 0 ? 512 : PAGE_BYTES;
        off_t at = page * PAGE_BYTES + (off_t)random_below(&seed, used);
        flip(path, at);
        assert_int_equal(page_check_all(test.directory, &fault), KX_DAMAGED);
        /* Also when no fault is asked for. */
        assert_int_equal(kx_open(&test.options, &test.store, NULL), KX_DAMAGED);
        flip(path, at);
    }
    test_store_open(&test);
    test_store_remove(&test);
    talloc_free(mem);
}

/* ---- Files -------------------------------------------------------------- */

static void write_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "wb");
    for (size_t i = 0; i < size; i++)
        putc(byte_of(3, i), file);
    assert_int_equal(fclose(file), 0);
}

static bool same_files(const char *a, const char *b)
{
    char command[200];
    snprintf(command, sizeof command, "cmp -s %s %s", a, b);
    return system(command) == 0;
}

/* Sizes around those of the buffers that the files go through. */
TEST(zstd_file_expands_to_the_original)
{
    static const size_t lengths[] = {0, 1, 131071, 131072, 131073, 4 << 20};
    char directory[] = "/tmp/kindex-zfile-XXXXXX";
    char plain[64], packed[64], back[64];
    struct kx_fault fault;
    assert_non_null(mkdtemp(directory));
    snprintf(plain, sizeof plain, "%s/plain", directory);
    snprintf(packed, sizeof packed, "%s/packed", directory);
    snprintf(back, sizeof back, "%s/back", directory);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_file(plain, lengths[i]);
        assert_int_equal(zstd_file_compress(plain, packed, &fault), KX_OK);
        assert_int_equal(zstd_file_expand(packed, back, &fault), KX_OK);
        assert_true(same_files(plain, back));
    }
    flip(packed, 50);
    assert_int_equal(zstd_file_expand(packed, back, &fault), KX_BAD_ARCHIVE);
    flip(packed, 50);
    assert_int_equal(truncate(packed, 60), 0);
    assert_int_equal(zstd_file_expand(packed, back, &fault), KX_BAD_ARCHIVE);
    assert_true(same_files(plain, back)); /* not touched by those */
    test_remove(directory);
}
