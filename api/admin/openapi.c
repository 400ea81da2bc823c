/* openapi.yaml in the program. The assembler takes the file in as it is, from
 * the directory in which the compiler runs; so there is no generated source and
 * no file to install beside the program. */
#include "admin/openapi.h"

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "openapi_start:\n"
        ".incbin \"openapi.yaml\"\n"
        "openapi_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char openapi_start[] __attribute__((visibility("hidden")));
extern const char openapi_end[] __attribute__((visibility("hidden")));

struct kx_slice openapi_document(void)
{
    return kx_slice(openapi_start, (size_t)(openapi_end - openapi_start));
}
