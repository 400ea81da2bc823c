/* What the calls of the data path have in common: the headers that a client
 * sends with each, and entries and values as they are on the wire. */
#include "kvconnect/kvconnect.h"

#include <strings.h>

#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/protobuf.h"
#include "rest/query_params.h"
#include "http/service.h"

/* Version 1 has another name for the header, and none for the version. */
static bool check_database(const struct request *request,
                           struct input_error *error)
{
    const char *given = request_header(request, "x-denokv-database-id");
    if (given == NULL)
        given = request_header(request, "x-transaction-domain-id");
    const char *id = kx_store_id(request->service->store);
    return given == NULL || strcasecmp(given, id) == 0 ||
           input_error_set(
               error, PROBLEM_BAD_REQUEST,
               "The request is for the database %.64s; this is %s. Open "
               "the database again.",
               given, id);
}

static bool is_spoken(const char *version)
{
    return version[0] >= '0' + KVCONNECT_FIRST &&
           version[0] <= '0' + KVCONNECT_LAST && version[1] == '\0';
}

bool kvconnect_admit(const struct request *request, struct input_error *error)
{
    if (!query_params_none(request, error))
        return false;
    const char *version = request_header(request, "x-denokv-version");
    if (version != NULL && !is_spoken(version))
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "Version %.16s of KV Connect is not supported; "
                               "versions %d to %d are.",
                               version, KVCONNECT_FIRST, KVCONNECT_LAST);
    return check_database(request, error);
}

void kvconnect_answer(struct reply *reply)
{
    reply->status = 200;
    reply->content_type = "application/x-protobuf";
}

/* ---- Entries ------------------------------------------------------------ */

enum { ENTRY_KEY = 1, ENTRY_VALUE, ENTRY_ENCODING, ENTRY_STAMP };

void kvconnect_stamp(unsigned field, uint64_t stamp, struct kx_buffer *out)
{
    uint8_t bytes[KX_STAMP_BYTES] = {0};
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(stamp >> (56 - 8 * i));
    protobuf_bytes(field, kx_slice(bytes, sizeof bytes), out);
}

/* Of a value that is made for JavaScript. */
static unsigned encoding_of(const struct kx_value *value)
{
    if (value->encoding == KX_LE64)
        return DATAPATH__VALUE_ENCODING__VE_LE64;
    return value->encoding == KX_BYTES ? DATAPATH__VALUE_ENCODING__VE_BYTES
                                       : DATAPATH__VALUE_ENCODING__VE_V8;
}

static size_t field_size(size_t size)
{
    return size == 0 ? 0 : 1 + protobuf_varint_size(size) + size;
}

/* @deno/kv in Node reads Buffers and the like as Node writes them. */
void kvconnect_writer_init(struct kvconnect_writer *writer,
                           const struct request *request, const void *memory,
                           struct kx_buffer *out)
{
    const char *agent = request_header(request, "User-Agent");
    bool node = agent != NULL && strcmp(agent, "node") == 0;
    writer->out = out;
    writer->reader = node ? KX_V8_FOR_NODE : KX_V8_FOR_ANY;
    kx_buffer_init(&writer->scratch, memory);
}

/* The size is known beforehand: nothing has to be moved afterwards. */
void kvconnect_entry(struct kvconnect_writer *writer, unsigned field,
                     const struct kx_entry *entry)
{
    struct kx_buffer *out = writer->out;
    struct kx_value value;
    writer->scratch.size = 0;
    if (kx_value_for_js(&entry->value, writer->reader, &writer->scratch,
                        &value) != KX_OK) {
        out->failed = true;
        return;
    }
    size_t size = field_size(entry->key.size) + field_size(value.data.size) +
                  2 + field_size(KX_STAMP_BYTES);
    protobuf_begin(field, size, out);
    protobuf_bytes(ENTRY_KEY, entry->key, out);
    protobuf_bytes(ENTRY_VALUE, value.data, out);
    protobuf_number(ENTRY_ENCODING, encoding_of(&value), out);
    kvconnect_stamp(ENTRY_STAMP, entry->stamp, out);
}

static const char OCTETS[] = "application/octet-stream";

bool kvconnect_value(int encoding, struct kx_slice data, const void *memory,
                     struct kx_value *value_out, struct input_error *error)
{
    struct kx_fault fault = {.status = KX_OK};
    *value_out = (struct kx_value){.data = data};
    switch (encoding) {
    case DATAPATH__VALUE_ENCODING__VE_V8:
        value_out->encoding = KX_V8;
        fault.status = kx_v8_check(data, memory, &fault);
        return fault.status == KX_OK || input_error_fault(error, &fault);
    case DATAPATH__VALUE_ENCODING__VE_LE64:
        value_out->encoding = KX_LE64;
        return data.size == sizeof(uint64_t) ||
               input_error_set(error, PROBLEM_BAD_REQUEST,
                               "A KvU64 has 8 bytes, not %zu.", data.size);
    case DATAPATH__VALUE_ENCODING__VE_BYTES:
        value_out->encoding = KX_BYTES;
        value_out->media_type = kx_slice(OCTETS, sizeof OCTETS - 1);
        return true;
    default:
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "The value encoding %d is unknown.", encoding);
    }
}
