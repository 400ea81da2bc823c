/* Reading an object in pieces while a server replaces them. The Makefile puts
 * __wrap_X where the core calls X: there is no bucket, but pieces in memory. */
#include "kindex.h"
#include "unit.h"

#include "s3/s3_pieces.h"

static const char TEXT[] = "abcdefghijklmnopqrstuvwxyz";

struct piece {
    unsigned start, end; /* of TEXT; end 0: there is no such piece */
};

static struct piece pieces[3];
static int lists, reads;              /* that were asked for */
static int changes_after;             /* so many reads: */
static void (*change)(void);          /* what happens then */
static char got[2 * sizeof TEXT + 1]; /* what was read */

enum kx_status __wrap_s3_list_keys(struct s3 *s3, const char *prefix,
                                   struct s3_list *list_out,
                                   struct kx_fault *fault);

enum kx_status __wrap_s3_list_keys(struct s3 *s3, const char *prefix,
                                   struct s3_list *list_out,
                                   struct kx_fault *fault)
{
    (void)fault;
    assert_string_equal(prefix, "p/log.0000000001.tail.");
    *list_out =
        (struct s3_list){.objects = talloc_zero_array(s3, struct s3_listed, 3)};
    for (size_t i = 0; i < 3; i++) {
        struct s3_listed *object = &list_out->objects[list_out->count];
        if (pieces[i].end == 0)
            continue;
        snprintf(object->name, sizeof object->name, "%010u", pieces[i].start);
        object->size = pieces[i].end - pieces[i].start;
        list_out->count++;
    }
    if (lists++ == 0 && changes_after == 0)
        change();
    return KX_OK;
}

enum kx_status __wrap_s3_send(struct s3 *s3, struct s3_request *request,
                              struct kx_fault *fault);

enum kx_status __wrap_s3_send(struct s3 *s3, struct s3_request *request,
                              struct kx_fault *fault)
{
    unsigned start = 0;
    (void)fault;
    kx_buffer_init(&request->reply, s3);
    assert_int_equal(sscanf(request->key, "p/log.0000000001.tail.%10u", &start),
                     1);
    const struct piece *piece = pieces;
    while (piece < pieces + 3 && (piece->end == 0 || piece->start != start))
        piece++;
    if (piece == pieces + 3)
        return KX_ABSENT;
    bool more = request->bytes(request->target,
                               kx_slice(TEXT + start, piece->end - start));
    if (++reads == changes_after)
        change();
    return more ? KX_OK : KX_FAILED;
}

static bool keep(void *target, struct kx_slice bytes)
{
    (void)target;
    assert_true(strlen(got) + bytes.size < sizeof got);
    strncat(got, (const char *)bytes.data, bytes.size);
    return true;
}

static enum kx_status read_beside(void *mem, int after, void (*what)(void))
{
    static const struct piece BEFORE[] = {{0, 10}, {10, 12}, {12, 15}};
    struct kx_fault fault = {.detail = ""};
    struct s3 *s3 = talloc_zero(mem, struct s3);
    memcpy(pieces, BEFORE, sizeof pieces);
    lists = reads = 0;
    changes_after = after;
    got[0] = '\0';
    change = what;
    enum kx_status status =
        s3_pieces_get(s3, "p/log.0000000001.tail", keep, NULL, &fault);
    assert_int_equal(talloc_total_blocks(s3), 1);
    talloc_free(s3);
    return status;
}

static void nothing(void)
{
}

static void lengthen_first(void)
{
    pieces[0].end = 20;
}

static void replace_by_one(void)
{
    pieces[0].end = 20;
    pieces[1].end = pieces[2].end = 0;
}

static void lose_second(void)
{
    pieces[1].end = 0;
}

static void remove_all(void)
{
    pieces[0].end = pieces[1].end = pieces[2].end = 0;
}

TEST(pieces_get_passes_each_byte_once)
{
    assert_int_equal(read_beside(*state, 0, nothing), KX_OK);
    assert_string_equal(got, "abcdefghijklmno");
    assert_int_equal(read_beside(*state, 0, lengthen_first), KX_OK);
    assert_string_equal(got, "abcdefghijklmnopqrst");
    assert_int_equal(read_beside(*state, 0, replace_by_one), KX_OK);
    assert_string_equal(got, "abcdefghijklmnopqrst");
}

/* The second list has the first piece as it is then. */
TEST(pieces_get_finds_removed_piece_in_longer_first_piece)
{
    assert_int_equal(read_beside(*state, 1, replace_by_one), KX_OK);
    assert_string_equal(got, "abcdefghijklmnopqrst");
    assert_int_equal(lists, 2);
    assert_int_equal(read_beside(*state, 1, lose_second), KX_BAD_ARCHIVE);
    assert_string_equal(got, "abcdefghij");
    assert_int_equal(read_beside(*state, 1, remove_all), KX_ABSENT);
    assert_int_equal(lists, 2);
}

TESTS_SHARE(memory_open, memory_close)
