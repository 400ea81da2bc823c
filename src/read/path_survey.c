/* A path that leads nowhere most often has a spelling error: it is compared
 * with the members that the document has in its place. */
#include "read/path_survey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The nearest name is looked for in so many documents only. */
enum { COMPARED_MAX = 200, SHOWN = 120 };

/* A path is named once, in the first of its roles. */
static void watch(struct path_survey *survey, struct kx_slice path,
                  const char *role)
{
    for (size_t i = 0; i < survey->count; i++)
        if (kx_equal(survey->paths[i].path, path))
            return;
    survey->paths[survey->count++] = (struct path_survey_path){
        .path = path, .role = role, .distance = KX_NEAR + 1};
}

void path_survey_init(struct path_survey *survey, void *mem,
                      const struct declaration *declaration)
{
    *survey = (struct path_survey){.mem = mem};
    for (size_t i = 0; i < declaration->field_count; i++)
        if (field_of_value(&declaration->fields[i]))
            watch(survey, declaration->fields[i].path, "the field");
    for (size_t i = 0; i < declaration->stored_count; i++)
        watch(survey, declaration->stored[i], "the stored member");
    for (size_t i = 0; i < declaration->sum_count; i++)
        if (declaration->sums[i].path.size > 0) /* or it sums up counters */
            watch(survey, declaration->sums[i].path, "the summed number");
    for (size_t i = 0; i < declaration->where_count; i++)
        if (declaration->where[i].comparison != WHERE_EXISTS)
            watch(survey, declaration->where[i].path, "the condition's path");
}

/* The path without its last token, and that token. */
static struct kx_slice parent_of(struct kx_slice path,
                                 struct kx_slice *last_out)
{
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    *last_out = kx_slice(path.data + at, path.size - at);
    return kx_slice(path.data, at == 0 ? 0 : at - 1);
}

static void note_meant(struct path_survey *survey,
                       struct path_survey_path *path, struct kx_slice name)
{
    struct kx_buffer copy;
    kx_buffer_init(&copy, survey->mem);
    kx_add_slice(&copy, name);
    path->meant = kx_buffer_slice(&copy);
}

/* Names are compared as they are written, which is how they are shown. */
static void compare_names(struct path_survey *survey,
                          struct path_survey_path *path,
                          struct kx_slice document)
{
    struct kx_slice last;
    struct kx_slice object;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    struct kx_slice parent = parent_of(path->path, &last);
    if (path->path.size == 0 || !kx_json_find(document, parent, &object) ||
        !kx_json_iterate(object, &iter) || !iter.object)
        return;
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice body = kx_slice(name.data + 1, name.size - 2);
        if (memchr(body.data, '\\', body.size) == NULL &&
            kx_resembles(last, body, &path->distance))
            note_meant(survey, path, body);
    }
}

void path_survey_add(struct path_survey *survey, struct kx_slice document)
{
    struct kx_slice value;
    survey->documents++;
    for (size_t i = 0; document.size > 0 && i < survey->count; i++) {
        struct path_survey_path *path = &survey->paths[i];
        if (kx_json_find(document, path->path, &value))
            path->found++;
        else if (path->found == 0 && survey->documents <= COMPARED_MAX)
            compare_names(survey, path, document);
    }
}

void path_survey_note(struct kx_buffer *out, const char *format, ...)
{
    char text[KX_DETAIL_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (out->size > 0 && out->data[out->size - 1] != '[')
        kx_add_byte(out, ',');
    kx_json_escape(kx_text(text), out);
}

/* The name that was probably meant comes as a path that can be copied. */
static void warn(const struct path_survey *survey,
                 const struct path_survey_path *path, struct kx_buffer *out)
{
    struct kx_slice last;
    struct kx_slice parent = parent_of(path->path, &last);
    bool meant =
        path->meant.size > 0 && path->meant.size < SHOWN && parent.size < SHOWN;
    bool cut = path->path.size > SHOWN;
    path_survey_note(out,
                     "%s %.*s%s was found in none of the %" PRIu64
                     " sampled entries%s%.*s%s%.*s%s",
                     path->role, (int)(cut ? 0 : path->path.size),
                     (const char *)path->path.data, cut ? "(a long path)" : "",
                     survey->documents, meant ? "; did you mean " : "",
                     (int)(meant ? parent.size : 0), (const char *)parent.data,
                     meant ? "/" : "", (int)(meant ? path->meant.size : 0),
                     (const char *)path->meant.data, meant ? "?" : "");
}

void path_survey_warn(const struct path_survey *survey, struct kx_buffer *out)
{
    for (size_t i = 0; survey->documents > 0 && i < survey->count; i++)
        if (survey->paths[i].found == 0)
            warn(survey, &survey->paths[i], out);
}
