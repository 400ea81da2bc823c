#include "vectors.h"

json_t *vectors_load(const char *name)
{
    char path[4096];
    json_error_t error;
    data_path(name, path, sizeof(path));
    json_t *file = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (file == NULL)
        fail_msg("%s: %s", path, error.text);
    return file;
}

const char *vector_text(const json_t *vector, const char *name)
{
    return json_string_value(json_object_get(vector, name));
}

void add_hex(struct kx_buffer *out, const char *hex)
{
    for (; hex[0] != '\0'; hex += 2) {
        char digits[3] = {hex[0], hex[1], '\0'};
        kx_add_byte(out, (uint8_t)strtoul(digits, NULL, 16));
    }
}

struct kx_slice from_hex(struct kx_buffer *out, const char *hex)
{
    out->size = 0;
    add_hex(out, hex);
    return kx_buffer_slice(out);
}

struct kx_value v8(struct kx_slice bytes)
{
    return (struct kx_value){.encoding = KX_V8, .data = bytes};
}

bool vector_bytes(const json_t *vector, const char *writer,
                  struct kx_buffer *out)
{
    const char *hex = vector_text(vector, writer);
    out->size = 0;
    if (vector_text(vector, "repeat") != NULL) {
        json_int_t times = json_integer_value(json_object_get(vector, "times"));
        add_hex(out, strcmp(writer, "deno") == 0 ? "ff10" : "ff0f");
        add_hex(out, vector_text(vector, "head"));
        for (json_int_t i = 0; i < times; i++)
            add_hex(out, vector_text(vector, "repeat"));
        add_hex(out, vector_text(vector, "tail"));
        return true;
    }
    if (hex != NULL)
        add_hex(out, hex);
    return hex != NULL;
}
