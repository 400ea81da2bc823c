/* Numbers are big endian on the wire. */
#include "postgres/pg_params.h"

#include <endian.h>

enum {
    BYTEA_OID = 17,
    ARRAY_HEAD = 20 /* dimensions, flags, type, length, first index */
};

void pg_params_bytes(struct pg_params *params, struct kx_slice bytes)
{
    int n = params->count++;
    params->values[n] = bytes.size == 0 ? "" : (const char *)bytes.data;
    params->sizes[n] = (int)bytes.size;
}

void pg_params_number(struct pg_params *params, int64_t number)
{
    int n = params->count++;
    params->numbers[n] = htobe64((uint64_t)number);
    params->values[n] = (const char *)&params->numbers[n];
    params->sizes[n] = sizeof params->numbers[n];
}

void pg_key_split(struct kx_slice key, struct pg_key *key_out)
{
    size_t size = key.size < PG_KEY_MAX ? key.size : PG_KEY_MAX;
    key_out->k = kx_slice(key.data, size);
    key_out->rest =
        kx_slice(size == 0 ? NULL : key.data + size, key.size - size);
    key_out->digest_size = key_out->rest.size == 0 ? 0 : KX_SHA256_SIZE;
    if (key_out->digest_size != 0)
        kx_sha256(key_out->rest, key_out->digest);
}

void pg_params_bound(struct pg_params *params, struct kx_slice key)
{
    struct pg_key parts;
    pg_key_split(key, &parts);
    pg_params_bytes(params, parts.k);
    pg_params_bytes(params, parts.rest);
}

static void add_number(struct kx_buffer *bytes, uint32_t number)
{
    uint32_t wire = htobe32(number);
    kx_add(bytes, &wire, sizeof wire);
}

void pg_array_init(struct pg_array *array, const void *mem)
{
    kx_buffer_init(&array->bytes, mem);
    pg_array_clear(array);
}

void pg_array_clear(struct pg_array *array)
{
    kx_buffer_clear(&array->bytes);
    array->count = 0;
    add_number(&array->bytes, 1); /* dimension */
    add_number(&array->bytes, 0); /* no NULLs */
    add_number(&array->bytes, BYTEA_OID);
    add_number(&array->bytes, 0); /* the length, when it is known */
    add_number(&array->bytes, 1); /* index of the first element */
}

void pg_array_add(struct pg_array *array, struct kx_slice element)
{
    add_number(&array->bytes, (uint32_t)element.size);
    kx_add_slice(&array->bytes, element);
    array->count++;
}

void pg_params_array(struct pg_params *params, struct pg_array *array)
{
    uint32_t length = htobe32(array->count);
    if (array->bytes.size >= ARRAY_HEAD)
        memcpy(array->bytes.data + 12, &length, sizeof length);
    pg_params_bytes(params, kx_buffer_slice(&array->bytes));
}
