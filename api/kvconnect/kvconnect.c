/* What the handlers share: the headers of a client, entries and values as they
 * are on the wire; and the metadata exchange. */
#include "kvconnect/kvconnect.h"

#include <strings.h>
#include <time.h>

#include "access/access.h"
#include "http/service.h"
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/protobuf.h"
#include "rest/answer.h"
#include "rest/query_params.h"

/* Version 1 has another name for this header, and no version header. */
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

/* The encoding of a value from kx_value_for_js. */
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

/* The size of the message is computed first, so that nothing is moved. */
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

/* ---- The metadata exchange ---------------------------------------------- */

/* A client that opens the store learns which version to speak, the database's
 * id and the address of its data path. @deno/kv rejects an answer with other
 * members than these, a media type with parameters, or a time that does not end
 * in Z. */

/* Long, whenever the token expires: Deno asks again without a pause in the last
 * ten seconds, by a clock that may be wrong. An expired token is refused
 * anyway.
 */
enum { GOOD_FOR_SECONDS = 10 * 365 * 24 * 3600 };

static const char UNSPOKEN[] =
    "The metadata exchange of KV Connect takes "
    "{\"supportedVersions\":[...]} with 1, 2 or 3 among the versions.";

/* True for a request with a wrong address. */
static bool is_stray(const struct request *request)
{
    return !kx_equal(request->path, kx_text("/"));
}

/* Returns the highest version that both speak; 0: none. */
static int common_version(struct kx_slice versions)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice element;
    double number;
    int best = 0;
    if (!kx_json_iterate(versions, &iter) || iter.object)
        return 0;
    while (kx_json_next(&iter, &name, &element))
        for (int version = KVCONNECT_FIRST; version <= KVCONNECT_LAST;
             version++)
            if (kx_number_parse(element, &number) && number == version &&
                version > best)
                best = version;
    return best;
}

/* A client of version 1 sends no body. */
static bool negotiate(const struct request *request, int *version_out,
                      struct input_error *error)
{
    struct kx_slice body = request->body;
    struct kx_slice versions;
    struct kx_fault fault = {0};
    *version_out = KVCONNECT_FIRST;
    if (body.size == 0 && !is_stray(request))
        return true;
    if (kx_json_check(body, &fault) != KX_OK)
        return input_error_json(error, body, &fault);
    if (kx_json_find(body, kx_text("/supportedVersions"), &versions))
        *version_out = common_version(versions);
    else
        *version_out = 0;
    return *version_out != 0 ||
           input_error_set(error, PROBLEM_BAD_REQUEST, "%s", UNSPOKEN);
}

/* The address is relative, so that it is right for any host name and scheme;
 * version 1 needs an absolute one. */
static void add_endpoint(const struct request *request, int version,
                         struct kx_buffer *out)
{
    const char *host = request_header(request, "Host");
    struct kx_buffer url;
    kx_buffer_init(&url, request->memory);
    if (version == 1 && host != NULL) {
        kx_add_text(&url,
                    request->service->keyring != NULL ? "https://" : "http://");
        kx_add_text(&url, host);
    }
    kx_add_text(&url, "/v2");
    kx_json_escape(kx_buffer_slice(&url), out);
    out->failed |= url.failed;
}

/* The token for the data path is the one that the client has; it must not be
 * empty. */
static void add_token(const struct request *request, struct kx_buffer *out)
{
    const char *given = access_bearer(request);
    bool good =
        given != NULL && *given != '\0' && kx_utf8_valid(kx_text(given));
    kx_json_escape(kx_text(good ? given : "none"), out);
}

static void add_expiry(struct kx_buffer *out)
{
    char text[32];
    struct tm tm;
    time_t at = (time_t)(kx_now_ms() / 1000) + GOOD_FOR_SECONDS;
    gmtime_r(&at, &tm);
    kx_add(out, text, strftime(text, sizeof text, "\"%Y-%m-%dT%TZ\"", &tm));
}

static void answer_nowhere(struct request *request, struct reply *reply)
{
    size_t size = request->path.size;
    request->route = NULL;
    problem(request, reply, PROBLEM_NOT_FOUND, "There is nothing at %.*s.",
            size < 300 ? (int)size : 300, (const char *)request->path.data);
}

void kvconnect_metadata(struct request *request, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    struct input_error error;
    int version;
    if (!negotiate(request, &version, &error)) {
        if (is_stray(request))
            answer_nowhere(request, reply);
        else
            input_error_reply(request, reply, &error);
        return;
    }
    answer_json(reply, 200);
    kx_add_text(out, "{\"version\":");
    kx_add_byte(out, (uint8_t)('0' + version));
    kx_add_text(out, ",\"databaseId\":\"");
    kx_add_text(out, kx_store_id(request->service->store));
    kx_add_text(out, "\",\"endpoints\":[{\"url\":");
    add_endpoint(request, version, out);
    kx_add_text(out, ",\"consistency\":\"strong\"}],\"token\":");
    add_token(request, out);
    kx_add_text(out, ",\"expiresAt\":");
    add_expiry(out);
    kx_add_byte(out, '}');
}
