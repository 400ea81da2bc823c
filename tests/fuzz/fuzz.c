/* In place of a test's main and of cmocka, and what takes an input apart. */
#include "fuzz.h"

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

struct kx_slice fuzz_take(struct kx_slice *rest, size_t size)
{
    struct kx_slice taken =
        kx_slice(rest->data, size < rest->size ? size : rest->size);
    rest->data += taken.size;
    rest->size -= taken.size;
    return taken;
}

uint8_t fuzz_byte(struct kx_slice *rest)
{
    struct kx_slice byte = fuzz_take(rest, 1);
    return byte.size == 1 ? byte.data[0] : 0;
}

struct kx_slice fuzz_until(struct kx_slice *rest, char mark)
{
    const uint8_t *end =
        rest->size > 0 ? memchr(rest->data, mark, rest->size) : NULL;
    struct kx_slice taken =
        fuzz_take(rest, end != NULL ? (size_t)(end - rest->data) : rest->size);
    fuzz_take(rest, 1);
    return taken;
}

struct kx_slice fuzz_alone(struct kx_slice bytes, void *memory)
{
    uint8_t *copy = talloc_size(memory, bytes.size);
    assert_non_null(copy);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return kx_slice(copy, bytes.size);
}
