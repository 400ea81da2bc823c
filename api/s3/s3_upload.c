/* An upload in parts that fails is aborted. If the process is killed, the
 * upload stays in the bucket until a lifecycle rule removes it
 * (deploy/README.md). */
#include "s3/s3_upload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "s3/s3_xml.h"

enum { ID_MAX = 1024, QUERY_MAX = ID_MAX + 64 };

/* An upload in parts. */
struct parts {
    const struct s3_upload *upload;
    char id[ID_MAX];
    struct kx_buffer list; /* the parts, as XML */
};

enum kx_status s3_upload_measure(struct s3 *s3, const char *key,
                                 uint64_t *size_out, struct kx_fault *fault)
{
    struct s3_request request = {.method = "HEAD", .key = key, .fd = -1};
    enum kx_status status = s3_send(s3, &request, fault);
    *size_out = status == KX_OK ? request.size : 0;
    s3_request_end(&request);
    return status;
}

static enum kx_status not_as_s3(const struct s3_upload *upload,
                                struct kx_fault *fault)
{
    const struct s3_settings *settings = &upload->s3->settings;
    return kx_fail(fault, KX_FAILED,
                   "s3://%s/%s: %s does not answer an upload as S3",
                   settings->bucket, upload->key, settings->endpoint);
}

/* A 404 is an unexpected error here, because the bucket exists. */
static enum kx_status send_upload(const struct s3_upload *upload,
                                  struct s3_request *request,
                                  struct kx_fault *fault)
{
    enum kx_status status = s3_send(upload->s3, request, fault);
    return status == KX_ABSENT ? not_as_s3(upload, fault) : status;
}

/* True if the id has no characters that need an escape. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("&=?#%+/ \"<>", *text) != NULL || *text < ' ')
            return false;
    return true;
}

static enum kx_status begin(struct parts *parts, struct kx_fault *fault)
{
    struct s3_request request = {.method = "POST",
                                 .key = parts->upload->key,
                                 .query = "uploads=",
                                 .fd = -1,
                                 .gives_way = true};
    enum kx_status status = send_upload(parts->upload, &request, fault);
    struct kx_slice xml = kx_slice(request.reply.data, request.reply.size);
    if (status == KX_OK &&
        (!s3_xml_text(xml, "UploadId", parts->id, sizeof parts->id) ||
         parts->id[0] == '\0' || !is_plain(parts->id)))
        status = not_as_s3(parts->upload, fault);
    s3_request_end(&request);
    return status;
}

static enum kx_status send_part(struct parts *parts, unsigned number,
                                const uint64_t range[2], struct kx_fault *fault)
{
    char query[QUERY_MAX], entry[256 + S3_ETAG_MAX];
    struct s3_request request = {.method = "PUT",
                                 .key = parts->upload->key,
                                 .query = query,
                                 .fd = parts->upload->fd,
                                 .range = {range[0], range[1]},
                                 .gives_way = true};
    snprintf(query, sizeof query, "partNumber=%u&uploadId=%s", number,
             parts->id);
    enum kx_status status = send_upload(parts->upload, &request, fault);
    if (status == KX_OK && request.etag[0] == '\0')
        status = not_as_s3(parts->upload, fault);
    snprintf(entry, sizeof entry,
             "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number,
             request.etag);
    kx_add_text(&parts->list, entry);
    s3_request_end(&request);
    if (status == KX_OK && parts->list.failed)
        status = kx_fail(fault, KX_NO_MEMORY, "no memory");
    return status;
}

/* Moves to the next part. False after the last part. */
static bool next_part(const struct s3_upload *upload, uint64_t range[2])
{
    uint64_t least = (upload->size + S3_PARTS_MAX - 1) / S3_PARTS_MAX;
    uint64_t step = least > S3_PART_BYTES ? least : S3_PART_BYTES;
    range[0] = range[1];
    range[1] = upload->size - range[0] < step ? upload->size : range[0] + step;
    return range[0] < upload->size;
}

static enum kx_status send_parts(struct parts *parts, struct kx_fault *fault)
{
    const struct s3_upload *upload = parts->upload;
    uint64_t range[2] = {0, 0};
    enum kx_status status = KX_OK;
    for (unsigned n = 1; status == KX_OK && next_part(upload, range); n++) {
        status = send_part(parts, n, range, fault);
        if (status == KX_OK && upload->between != NULL)
            upload->between(upload->context);
    }
    return status;
}

static bool is_there(const struct s3_upload *upload)
{
    struct kx_fault unknown;
    uint64_t size;
    return s3_upload_measure(upload->s3, upload->key, &size, &unknown) ==
               KX_OK &&
           size == upload->size;
}

/* The reply may report a failure only in its body. If the reply is lost, the
 * retry finds no upload, but the object. */
static enum kx_status complete(struct parts *parts, struct kx_fault *fault)
{
    char query[QUERY_MAX], code[64];
    struct s3_request request = {
        .method = "POST", .key = parts->upload->key, .query = query, .fd = -1};
    kx_add_text(&parts->list, "</CompleteMultipartUpload>");
    if (parts->list.failed)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    request.body = kx_slice(parts->list.data, parts->list.size);
    snprintf(query, sizeof query, "uploadId=%s", parts->id);
    enum kx_status status = s3_send(parts->upload->s3, &request, fault);
    struct kx_slice xml = kx_slice(request.reply.data, request.reply.size);
    if (status == KX_OK && s3_xml_text(xml, "Code", code, sizeof code))
        status = KX_ABSENT;
    s3_request_end(&request);
    if (status != KX_ABSENT)
        return status;
    return is_there(parts->upload) ? KX_OK : not_as_s3(parts->upload, fault);
}

static void take_back(const struct parts *parts)
{
    char query[QUERY_MAX];
    struct kx_fault unknown;
    struct s3_request request = {.method = "DELETE",
                                 .key = parts->upload->key,
                                 .query = query,
                                 .fd = -1};
    snprintf(query, sizeof query, "uploadId=%s", parts->id);
    (void)s3_send(parts->upload->s3, &request, &unknown);
    s3_request_end(&request);
}

static enum kx_status send_in_parts(const struct s3_upload *upload,
                                    struct kx_fault *fault)
{
    struct parts parts = {.upload = upload};
    enum kx_status status = begin(&parts, fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&parts.list, upload->s3);
    kx_add_text(&parts.list, "<CompleteMultipartUpload>");
    status = send_parts(&parts, fault);
    if (status == KX_OK)
        status = complete(&parts, fault);
    if (status != KX_OK)
        take_back(&parts);
    kx_buffer_free(&parts.list);
    return status;
}

enum kx_status s3_upload(const struct s3_upload *upload, struct kx_fault *fault)
{
    struct s3_request request = {.method = "PUT",
                                 .key = upload->key,
                                 .fd = upload->fd,
                                 .range = {0, upload->size}};
    if (upload->size > S3_PART_BYTES)
        return send_in_parts(upload, fault);
    enum kx_status status = send_upload(upload, &request, fault);
    s3_request_end(&request);
    return status;
}
