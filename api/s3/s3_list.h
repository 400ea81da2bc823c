/* Lists the objects in a directory of a bucket. */
#ifndef S3_LIST_H
#define S3_LIST_H

#include "s3/s3_request.h"

enum {
    S3_NAME_MAX = 160,
    S3_LIST_MAX = 1000000, /* objects of a list */
    S3_PAGES_MAX = 10000   /* pages of a list, also of those without objects */
};

struct s3_listed {
    char name[S3_NAME_MAX]; /* after the prefix */
    uint64_t size;
    int64_t at_ms;
};

/* Objects in byte order of their names; the name of a directory has no slash.
 */
struct s3_list {
    struct s3_listed *objects; /* allocated in the object store */
    size_t count, capacity;
};

/* Lists the keys that begin with the prefix, each up to its next slash. KX_OK;
 * KX_ABSENT: there is no such bucket; KX_UNREACHABLE; KX_FAILED: the server
 * refuses, or there are more objects than S3_LIST_MAX or more pages than
 * S3_PAGES_MAX; KX_NO_MEMORY. The caller frees the list in any case. */
enum kx_status s3_list_keys(struct s3 *s3, const char *prefix,
                            struct s3_list *list_out, struct kx_fault *fault);
void s3_list_end(struct s3_list *list);

#endif
