/* Names may have only characters that need no escape in a path, a query or a
 * signature. */
#include "s3/s3_settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { SCHEME_SIZE = 5 /* of s3:// */, BUCKET_MIN = 3 };

static const char LOWER[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
static const char NAME[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_~"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ/";

/* Returns the value of the first variable that is set and not empty, or NULL.
 */
static const char *first_of(const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return value;
    }
    return NULL;
}

static const char *variable(const char *name)
{
    return first_of(&name, 1);
}

/* Refuses empty, "." and ".." parts, which software on the way might normalize
 * to another name. */
static bool is_prefix(const char *text)
{
    const char *at = text;
    if (strlen(text) > S3_PREFIX_MAX || text[strspn(text, NAME)] != '\0')
        return false;
    while (*at != '\0') {
        size_t size = strcspn(at, "/");
        if (size == 0 || (size == 1 && at[0] == '.') ||
            (size == 2 && strncmp(at, "..", 2) == 0))
            return false;
        at += size;
        if (*at == '/' && *++at == '\0')
            return false;
    }
    return true;
}

static enum kx_status read_name(const char *archive,
                                struct s3_settings *settings,
                                struct kx_fault *fault)
{
    const char *bucket = archive + SCHEME_SIZE;
    size_t size = strcspn(bucket, "/");
    const char *prefix = bucket[size] == '/' ? bucket + size + 1 : "";
    if (size < BUCKET_MIN || size >= S3_BUCKET_MAX ||
        strspn(bucket, LOWER) < size || !is_prefix(prefix) ||
        (bucket[size] == '/' && prefix[0] == '\0'))
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "archive %s: it must be s3://BUCKET or "
                       "s3://BUCKET/PREFIX, with a bucket of 3 to 63 "
                       "characters of a-z 0-9 . - and a prefix of parts of "
                       "A-Z a-z 0-9 . - _ ~ between single slashes",
                       archive);
    memcpy(settings->bucket, bucket, size);
    settings->bucket[size] = '\0';
    return KX_OK;
}

/* True for an address without path, query or user. */
static bool is_endpoint(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    const char *host = text + scheme;
    if (scheme == 0 || *host == '\0')
        return false;
    for (const char *at = host; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr(".-:[]", *at) == NULL)
            return false;
    return true;
}

static enum kx_status read_endpoint(void *mem, struct s3_settings *settings,
                                    struct kx_fault *fault)
{
    static const char *const NAMES[] = {"AWS_ENDPOINT_URL_S3",
                                        "AWS_ENDPOINT_URL"};
    const char *text = first_of(NAMES, 2);
    if (text == NULL)
        settings->endpoint = talloc_asprintf(mem, "https://s3.%s.amazonaws.com",
                                             settings->region);
    else
        settings->endpoint = talloc_strndup(
            mem, text, strlen(text) - (text[strlen(text) - 1] == '/'));
    if (settings->endpoint == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (is_endpoint(settings->endpoint))
        return KX_OK;
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "AWS_ENDPOINT_URL must be http:// or https:// with a host, "
                   "and a port if need be: \"%s\"",
                   text != NULL ? text : settings->endpoint);
}

/* True if the text is safe in a header line. */
static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if (!isgraph((unsigned char)*text))
            return false;
    return true;
}

/* Reads a variable. False if it is needed but not set, or is unsafe in a
 * header. */
static bool read_key(const char *name, bool needed, const char **out)
{
    *out = variable(name);
    return *out == NULL ? !needed : is_printable(*out);
}

static enum kx_status read_keys(struct s3_settings *settings,
                                struct kx_fault *fault)
{
    const struct {
        const char *name;
        bool needed;
        const char **out;
    } KEYS[] = {
        {"AWS_ACCESS_KEY_ID", true, &settings->access_key},
        {"AWS_SECRET_ACCESS_KEY", true, &settings->secret_key},
        {"AWS_SESSION_TOKEN", false, &settings->session_token},
    };
    settings->ca_file = variable("AWS_CA_BUNDLE");
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (!read_key(KEYS[i].name, KEYS[i].needed, KEYS[i].out))
            return kx_fail(fault, KX_BAD_DIRECTORY,
                           "an archive in S3 needs the environment variable "
                           "%s, which is not set or has spaces in it",
                           KEYS[i].name);
    return KX_OK;
}

enum kx_status s3_settings_read(void *mem, const char *archive,
                                struct s3_settings *settings_out,
                                struct kx_fault *fault)
{
    static const char *const REGIONS[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    *settings_out = (struct s3_settings){.region = first_of(REGIONS, 2)};
    if (settings_out->region == NULL)
        settings_out->region = "us-east-1";
    enum kx_status status = read_name(archive, settings_out, fault);
    if (status == KX_OK &&
        settings_out->region[strspn(settings_out->region, LOWER)] != '\0')
        status = kx_fail(fault, KX_BAD_DIRECTORY,
                         "AWS_REGION is not the name of a region: \"%s\"",
                         settings_out->region);
    if (status == KX_OK)
        status = read_keys(settings_out, fault);
    return status == KX_OK ? read_endpoint(mem, settings_out, fault) : status;
}
