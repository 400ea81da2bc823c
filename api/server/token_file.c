/* A token in a file. It is not stored: another text in the file is another
 * token from the next start on. */
#include "server/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/access.h"

static bool report(const char *path, const char *why)
{
    fprintf(stderr, "kindex: --token-file: %s: %s\n", path, why);
    return false;
}

/* The file exists as a whole or not at all, also after a crash. */
static bool make(const char *path, struct credential *credential_out)
{
    char text[CREDENTIAL_SIZE + 2];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return report(path, strerror(errno));
    bool good = credential_make(credential_out, text);
    text[CREDENTIAL_SIZE] = '\n';
    good = good &&
           write(fd, text, CREDENTIAL_SIZE + 1) == CREDENTIAL_SIZE + 1 &&
           fsync(fd) == 0;
    close(fd);
    if (good)
        return true;
    unlink(path);
    return report(path, "cannot be written");
}

/* The text of the file, without white space at its end. */
static bool read_text(int fd, const char *path, struct kx_slice *text_out,
                      char *text)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return report(path, strerror(errno));
    if ((stat.st_mode & S_IRWXO) != 0)
        return report(path, "other users may read or write it: chmod 600");
    ssize_t size = read(fd, text, CREDENTIAL_SIZE + 2);
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        size--;
    *text_out = kx_slice(text, size > 0 ? (size_t)size : 0);
    return true;
}

static bool take(int fd, const char *path, struct credential *credential_out)
{
    char text[CREDENTIAL_SIZE + 2];
    struct kx_slice slice;
    return read_text(fd, path, &slice, text) &&
           (credential_read(slice, credential_out) ||
            report(path, "it does not contain an access token; kindex token "
                         "generate prints one"));
}

static bool read_or_make(const char *path, struct credential *credential_out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return make(path, credential_out);
    if (fd < 0)
        return report(path, strerror(errno));
    bool good = take(fd, path, credential_out);
    close(fd);
    return good;
}

bool token_file_use(const char *path, struct kx_store *store)
{
    struct credential credential;
    const struct kx_grant grant = {.scopes = KX_MAY_ALL};
    struct kx_token token = {
        .name = kx_text("token-file"), .grants = &grant, .grant_count = 1};
    if (!read_or_make(path, &credential))
        return false;
    memcpy(token.id, credential.id, sizeof token.id);
    memcpy(token.digest, credential.digest, sizeof token.digest);
    enum kx_status status = kx_token_fix(store, &token);
    return status == KX_OK || report(path, kx_status_title(status));
}
