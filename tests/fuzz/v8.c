/* Bytes that say they are a V8 value. */
#include "fuzz.h"
#include "v8_holds.h"

void fuzz(struct kx_slice input, void *memory)
{
    v8_holds(input, memory);
}
