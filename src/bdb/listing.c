/* Two hooks of the library: one lists, the other frees what that has made. */
#include "bdb/listing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <db.h>

#include "base/file.h"

struct listing {
    char **names;
    int count;
    int capacity;
};

/* The hooks know no environment. */
static atomic_int last_error;

static void free_names(char **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static bool make_room(struct listing *listing)
{
    if (listing->count < listing->capacity)
        return true;
    int capacity = listing->capacity * 2 + 64;
    char **names =
        realloc(listing->names, (size_t)capacity * sizeof listing->names[0]);
    if (names == NULL)
        return false;
    listing->names = names;
    listing->capacity = capacity;
    return true;
}

static bool add(void *target, const char *name)
{
    struct listing *listing = target;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    char *copy = make_room(listing) ? strdup(name) : NULL;
    if (copy == NULL) {
        errno = ENOMEM;
        return false;
    }
    listing->names[listing->count++] = copy;
    return true;
}

/* All names or none. */
static int list(const char *directory, char ***names_out, int *count_out)
{
    struct listing listing = {.names = NULL};
    *names_out = NULL;
    *count_out = 0;
    if (!file_each(directory, add, &listing)) {
        int error = errno;
        free_names(listing.names, listing.count);
        atomic_store(&last_error, error);
        return error;
    }
    *names_out = listing.names;
    *count_out = listing.count;
    return 0;
}

void listing_install(void)
{
    atomic_store(&last_error, 0);
    db_env_set_func_dirlist(list);
    db_env_set_func_dirfree(free_names);
}

int listing_error(void)
{
    return atomic_load(&last_error);
}
