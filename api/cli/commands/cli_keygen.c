/* kindex keygen: a pair of keys for encrypted backups, in two files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/cli_key_file.h"

enum { PATH_SIZE = 4096, KEY_FILE_MAX = 1024 };

/* Reads at most KEY_FILE_MAX bytes. False: errno. */
static bool read_file(const char *path, char *text, size_t *size_out)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return false;
    *size_out = fread(text, 1, KEY_FILE_MAX, file);
    bool read = !ferror(file);
    fclose(file);
    return read;
}

int cli_read_public_key(const char *path, struct kx_public_key *out)
{
    char text[KEY_FILE_MAX];
    size_t size;
    if (!read_file(path, text, &size))
        return cli_fail("%s: %s", path, strerror(errno));
    if (kx_public_key_read(kx_slice(text, size), out))
        return CLI_OK;
    return cli_fail("%s is not the file of a public key, which kindex keygen "
                    "makes with the ending .pub",
                    path);
}

int cli_read_secret_key(const char *path, struct kx_secret_key *out)
{
    char text[KEY_FILE_MAX];
    size_t size;
    if (!read_file(path, text, &size))
        return cli_fail("%s: %s", path, strerror(errno));
    if (kx_secret_key_read(kx_slice(text, size), out))
        return CLI_OK;
    return cli_fail("%s is not the file of a secret key, which kindex keygen "
                    "makes",
                    path);
}

/* Never overwrites a file: its key may be the only one that decrypts a backup.
 */
static bool write_new(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return false;
    size_t size = strlen(text);
    bool done = write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    int error = errno;
    close(fd);
    if (!done)
        unlink(path);
    errno = error;
    return done;
}

int cli_keygen(struct cli *cli)
{
    struct kx_secret_key secret;
    struct kx_public_key public;
    char public_path[PATH_SIZE], text[KX_KEY_TEXT];
    const char *path = cli->words[0];
    snprintf(public_path, sizeof public_path, "%s.pub", path);
    if (!kx_keys_make(&secret, &public))
        return cli_fail("the system has no random numbers");
    kx_secret_key_write(&secret, text);
    if (!write_new(path, text, 0600))
        return cli_fail("%s: %s", path, strerror(errno));
    kx_public_key_write(&public, text);
    if (!write_new(public_path, text, 0644)) {
        int error = errno;
        unlink(path);
        return cli_fail("%s: %s", public_path, strerror(error));
    }
    cli_note("%s encrypts backups (kindex backup --encrypt-to). %s is the only "
             "key that reads them: keep it on another machine",
             public_path, path);
    return CLI_OK;
}
