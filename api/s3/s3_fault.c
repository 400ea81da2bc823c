/* Describes failed requests for the log. */
#include "s3/s3_fault.h"

#include <stdio.h>
#include <string.h>

#include "s3/s3_xml.h"

enum {
    STATUS_ABSENT = 404,
    STATUS_TIMEOUT = 408,
    STATUS_MANY = 429,
    STATUS_ERRORS = 500
};

/* Replaces control characters, quotes and backslashes in text by spaces. */
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            *text = ' ';
}

const char *s3_fault_name(const struct s3_request *request)
{
    return request->about != NULL ? request->about : request->key;
}

enum kx_status s3_fault_unreachable(const struct s3 *s3,
                                    const struct s3_request *request,
                                    const char *why, struct kx_fault *fault)
{
    char text[CURL_ERROR_SIZE];
    snprintf(text, sizeof text, "%s", why);
    clean(text);
    return kx_fail(fault, KX_UNREACHABLE, "s3://%s/%s: %s: %s",
                   s3->settings.bucket, s3_fault_name(request),
                   s3->settings.endpoint, text);
}

/* Advice for errors that wrong settings cause. */
static const char *advice(const char *code)
{
    static const char *const KEYS[] = {"InvalidAccessKeyId",
                                       "SignatureDoesNotMatch", "ExpiredToken",
                                       "InvalidToken"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(code, KEYS[i]) == 0)
            return "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                   "AWS_SESSION_TOKEN";
    if (strcmp(code, "AccessDenied") == 0)
        return "; the access key must be allowed to list the bucket, and to "
               "get, put and delete its objects";
    if (strcmp(code, "NoSuchBucket") == 0)
        return "; create the bucket first";
    return "";
}

/* True if the object is missing, which is not an error unless the request was a
 * PUT. */
static bool is_absent(const struct s3_request *request, const char *code)
{
    return request->status == STATUS_ABSENT &&
           strcmp(request->method, "PUT") != 0 &&
           strcmp(code, "NoSuchBucket") != 0;
}

enum kx_status s3_fault_refused(const struct s3 *s3,
                                const struct s3_request *request,
                                struct kx_fault *fault)
{
    struct kx_slice xml = kx_slice(request->reply.data, request->reply.size);
    char code[64], message[200];
    (void)s3_xml_text(xml, "Code", code, sizeof code);
    (void)s3_xml_text(xml, "Message", message, sizeof message);
    clean(code);
    clean(message);
    if (is_absent(request, code))
        return KX_ABSENT;
    return kx_fail(fault, s3_fault_passes(request) ? KX_UNREACHABLE : KX_FAILED,
                   "s3://%s/%s: %s answers %ld %s%s%s%s", s3->settings.bucket,
                   s3_fault_name(request), s3->settings.endpoint,
                   request->status, code, message[0] != '\0' ? ": " : "",
                   message, advice(code));
}

bool s3_fault_passes(const struct s3_request *request)
{
    return request->status >= STATUS_ERRORS ||
           request->status == STATUS_TIMEOUT || request->status == STATUS_MANY;
}
