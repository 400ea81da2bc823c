/* Which paths of a declaration occur in a sample of entries, and the likely
 * spelling of those that do not. */
#ifndef PATH_SURVEY_H
#define PATH_SURVEY_H

#include "schema/declaration.h"

enum {
    PATH_SURVEY_PATHS_MAX =
        KX_FIELDS_MAX + KX_STORED_MAX + KX_SUMS_MAX + KX_WHERE_MAX
};

struct path_survey_path {
    struct kx_slice path;
    const char *role;      /* "the field" */
    uint64_t found;        /* in so many documents */
    struct kx_slice meant; /* the nearest member's name there, or empty */
    size_t distance;
};

struct path_survey {
    void *mem; /* talloc context of what is found */
    uint64_t documents;
    struct path_survey_path paths[PATH_SURVEY_PATHS_MAX];
    size_t count;
};

/* Begins with all paths of a declaration, which must live as long. */
void path_survey_init(struct path_survey *survey, void *mem,
                      const struct declaration *declaration);

/* Looks for them in one more document (checked JSON; size 0 for a value that
 * has no members). Findings for which memory runs out are not noted. */
void path_survey_add(struct path_survey *survey, struct kx_slice document);

/* Appends a JSON string for each path that was found in no document, with
 * commas between them and after what is in out. */
void path_survey_warn(const struct path_survey *survey, struct kx_buffer *out);

/* Appends one more JSON string, formatted, to a list of them. */
void path_survey_note(struct kx_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
