/* The functions of the object store. A path is s3://BUCKET/KEY. */
#include "s3/s3.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

#include "s3/s3_list.h"
#include "s3/s3_pieces.h"
#include "s3/s3_request.h"
#include "s3/s3_upload.h"

static const char SCHEME[] = "s3://";

bool s3_is_named(const char *archive)
{
    return strncmp(archive, SCHEME, sizeof SCHEME - 1) == 0;
}

/* "": the bucket itself. */
static const char *key_of(const char *path)
{
    const char *slash = strchr(path + sizeof SCHEME - 1, '/');
    return slash == NULL ? "" : slash + 1;
}

static enum kx_status list_directory(struct s3 *s3, const char *path,
                                     struct s3_list *list,
                                     struct kx_fault *fault)
{
    char prefix[S3_KEY_MAX];
    const char *key = key_of(path);
    snprintf(prefix, sizeof prefix, "%s%s", key, key[0] == '\0' ? "" : "/");
    enum kx_status status = s3_list_keys(s3, prefix, list, fault);
    if (status == KX_OK)
        s3_pieces_join(list);
    return status;
}

/* A bucket has no directories to create; checks only that the bucket can be
 * listed. */
static enum kx_status make(void *self, const char *path, struct kx_fault *fault)
{
    struct s3_list list;
    struct kx_fault why = {.detail = ""};
    enum kx_status status = list_directory(self, path, &list, &why);
    s3_list_end(&list);
    if (status == KX_OK || status == KX_NO_MEMORY || status == KX_UNREACHABLE)
        return status == KX_OK ? KX_OK
                               : kx_fail(fault, status, "%s", why.detail);
    return kx_fail(fault, KX_BAD_DIRECTORY, "archive %s", why.detail);
}

static enum kx_status list(void *self, const char *path, kx_object_fn *each,
                           void *target, struct kx_fault *fault)
{
    struct s3_list list;
    enum kx_status status = list_directory(self, path, &list, fault);
    bool more = status == KX_OK;
    for (size_t i = 0; more && i < list.count; i++) {
        struct kx_object object = {.name = list.objects[i].name,
                                   .size = list.objects[i].size,
                                   .at_ms = list.objects[i].at_ms};
        more = each(target, &object);
    }
    s3_list_end(&list);
    return status;
}

static enum kx_status put(void *self, const struct kx_object_put *put,
                          struct kx_fault *fault)
{
    struct stat about;
    int fd = open(put->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0) {
        if (fd >= 0)
            close(fd);
        return kx_fail(fault, KX_FAILED, "%s: %s", put->file, strerror(errno));
    }
    struct s3_upload upload = {.s3 = self,
                               .key = key_of(put->path),
                               .fd = fd,
                               .size = (uint64_t)about.st_size,
                               .between = put->between,
                               .context = put->context};
    enum kx_status status = s3_upload(&upload, fault);
    close(fd);
    if (status == KX_OK)
        unlink(put->file);
    return status;
}

static enum kx_status create(void *self, const char *path,
                             struct kx_slice bytes, struct kx_fault *fault)
{
    struct s3_request request = {.method = "PUT",
                                 .key = key_of(path),
                                 .fd = -1,
                                 .body = bytes,
                                 .creates = true};
    enum kx_status status = s3_send(self, &request, fault);
    s3_request_end(&request);
    return status;
}

static enum kx_status grow(void *self, const char *file, const char *path,
                           const uint64_t range[2], struct kx_fault *fault)
{
    return s3_pieces_grow(self, file, key_of(path), range, fault);
}

static enum kx_status get(void *self, const char *path,
                          kx_object_bytes_fn *bytes, void *target,
                          struct kx_fault *fault)
{
    struct s3_request request = {.method = "GET",
                                 .key = key_of(path),
                                 .fd = -1,
                                 .bytes = bytes,
                                 .target = target};
    if (s3_grows(path))
        return s3_pieces_get(self, request.key, bytes, target, fault);
    enum kx_status status = s3_send(self, &request, fault);
    s3_request_end(&request);
    return status;
}

struct size_search {
    const char *name;
    uint64_t size;
    bool found;
};

static bool find_size(void *target, const struct kx_object *object)
{
    struct size_search *search = target;
    search->found = strcmp(object->name, search->name) == 0;
    search->size = search->found ? object->size : 0;
    return !search->found;
}

/* Lists the directory, because no header has the total size of the pieces. */
static enum kx_status size(void *self, const char *path, uint64_t *size_out,
                           struct kx_fault *fault)
{
    char directory[S3_KEY_MAX + S3_BUCKET_MAX + sizeof SCHEME];
    const char *slash = strrchr(path, '/');
    struct size_search search = {.name = slash + 1};
    *size_out = 0;
    if (!s3_grows(path))
        return s3_upload_measure(self, key_of(path), size_out, fault);
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - path), path);
    enum kx_status status = list(self, directory, find_size, &search, fault);
    *size_out = search.size;
    return status == KX_OK && !search.found ? KX_ABSENT : status;
}

static enum kx_status remove_object(void *self, const char *path,
                                    struct kx_fault *fault)
{
    struct s3_request request = {
        .method = "DELETE", .key = key_of(path), .fd = -1};
    if (s3_grows(path))
        return s3_pieces_remove(self, request.key, fault);
    enum kx_status status = s3_send(self, &request, fault);
    s3_request_end(&request);
    return status == KX_ABSENT ? KX_OK : status;
}

static void hurry(void *self)
{
    struct s3 *s3 = self;
    atomic_store(&s3->hurry_ns, kx_monotonic_ns());
}

static int end(struct s3 *s3)
{
    curl_easy_cleanup(s3->curl);
    curl_global_cleanup();
    return 0;
}

void s3_close(const struct kx_object_store *objects)
{
    if (objects != NULL)
        talloc_free(objects->self);
}

const struct kx_object_store *s3_open(const char *archive,
                                      struct kx_fault *fault)
{
    struct s3 *s3 = talloc_zero(NULL, struct s3);
    if (s3 == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        talloc_free(s3);
        kx_fail(fault, KX_NO_MEMORY, "no memory");
        return NULL;
    }
    talloc_set_destructor(s3, end);
    enum kx_status status = s3_settings_read(s3, archive, &s3->settings, fault);
    s3->curl = curl_easy_init();
    if (status == KX_OK && s3->curl == NULL)
        status = kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (status != KX_OK) {
        talloc_free(s3);
        return NULL;
    }
    s3->store = (struct kx_object_store){.self = s3,
                                         .make = make,
                                         .list = list,
                                         .put = put,
                                         .create = create,
                                         .grow = grow,
                                         .get = get,
                                         .size = size,
                                         .remove = remove_object,
                                         .hurry = hurry};
    return &s3->store;
}
