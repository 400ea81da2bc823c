/* The assembler includes the files: openapi.yaml from the directory in which
 * the compiler runs, openapi.json from the build directory. So no source is
 * generated and no file is installed beside the program. */
#include "admin/openapi.h"

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "openapi_yaml_start:\n"
        ".incbin \"openapi.yaml\"\n"
        "openapi_yaml_end:\n"
        ".byte 0\n"
        "openapi_json_start:\n"
        ".incbin \"openapi.json\"\n"
        "openapi_json_end:\n"
        ".byte 0\n"
        ".popsection\n");

#define HIDDEN __attribute__((visibility("hidden")))
extern const char openapi_yaml_start[] HIDDEN, openapi_yaml_end[] HIDDEN;
extern const char openapi_json_start[] HIDDEN, openapi_json_end[] HIDDEN;

struct kx_slice openapi_yaml(void)
{
    return kx_slice(openapi_yaml_start,
                    (size_t)(openapi_yaml_end - openapi_yaml_start));
}

struct kx_slice openapi_json(void)
{
    return kx_slice(openapi_json_start,
                    (size_t)(openapi_json_end - openapi_json_start));
}
