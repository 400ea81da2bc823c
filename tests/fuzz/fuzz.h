/* What every fuzz target begins with. A target is a program of libFuzzer: it is
 * called with one input after the other, and whatever it asserts (with cmocka's
 * words, as a unit test does) must hold for each of them. What it allocates in
 * the memory it is given is freed after the call; what it leaves elsewhere is a
 * leak, and found. */
#ifndef FUZZ_H
#define FUZZ_H

#include "kindex.h"
#include "unit.h"

/* The target's own. */
void fuzz(struct kx_slice input, void *memory);

/* The words of cmocka that are used here. Its library would keep back what they
 * say: what does not hold ends the program where it stands. */
void _fail(const char *const file, const int line)
{
    fprintf(stderr, "%s:%d: does not hold\n", file, line);
    abort();
}

void print_error(const char *const format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
}

void _assert_true(const LargestIntegralType result,
                  const char *const expression, const char *const file,
                  const int line)
{
    if (result)
        return;
    print_error("%s\n", expression);
    _fail(file, line);
}

void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b,
                       const char *const file, const int line)
{
    if (a == b)
        return;
    print_error("%lld is not %lld\n", (long long)a, (long long)b);
    _fail(file, line);
}

void _assert_int_not_equal(const LargestIntegralType a,
                           const LargestIntegralType b, const char *const file,
                           const int line)
{
    if (a == b)
        print_error("it is %lld\n", (long long)a);
    _assert_true(a != b, "not equal", file, line);
}

/* libFuzzer's name for it; the input lies in a block of just its size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *memory = talloc_named_const(NULL, 0, "fuzz");
    fuzz(kx_slice(data, size), memory);
    talloc_free(memory);
    return 0;
}

/* Takes `size` bytes off the front of what is left, or all that is left. */
static inline struct kx_slice fuzz_take(struct kx_slice *rest, size_t size)
{
    struct kx_slice taken =
        kx_slice(rest->data, size < rest->size ? size : rest->size);
    rest->data += taken.size;
    rest->size -= taken.size;
    return taken;
}

static inline uint8_t fuzz_byte(struct kx_slice *rest)
{
    struct kx_slice byte = fuzz_take(rest, 1);
    return byte.size == 1 ? byte.data[0] : 0;
}

/* Takes what comes before the next `mark`, and the mark. */
static inline struct kx_slice fuzz_until(struct kx_slice *rest, char mark)
{
    const uint8_t *end =
        rest->size > 0 ? memchr(rest->data, mark, rest->size) : NULL;
    struct kx_slice taken =
        fuzz_take(rest, end != NULL ? (size_t)(end - rest->data) : rest->size);
    fuzz_take(rest, 1);
    return taken;
}

/* A copy in a block of just its size, so that a sanitizer sees each access
 * beyond it. */
static inline struct kx_slice fuzz_alone(struct kx_slice bytes, void *memory)
{
    uint8_t *copy = talloc_size(memory, bytes.size);
    assert_non_null(copy);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return kx_slice(copy, bytes.size);
}

#endif
