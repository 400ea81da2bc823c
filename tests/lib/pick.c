/* jq for the stories of tests/http, which ask it for so little that most of its
 * time goes into starting. Knows `.a."b"[0][-1][1:][] [F, F] F | F (F) length
 * has("a") contains("a") map(F) F // "a"`; with any other filter, and for each
 * text or number that it might not show as jq does, it becomes jq.
 * tests/http/00-self-test.sh compares both.
 *
 *   pick [-c | -r | -cr] FILTER [FILE] */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILTERS_MAX = 64, TEXT_MAX = 1 << 24 };

enum kind {
    SELF,
    MEMBER,
    ELEMENT,
    SLICE,
    EACH,
    COLLECT,
    PIPE,
    COMMA,
    LENGTH,
    HAS,
    CONTAINS,
    DEFAULT
};

struct filter {
    enum kind kind;
    struct filter *left, *right;
    char name[64];
    long from, to;
};

static struct filter filters[FILTERS_MAX];
static int filter_count;
static const char *at; /* what is still to be read of the filter */

static struct filter *read_pipe(void);

/* NULL when there are too many, as when the filter is not understood. */
static struct filter *filter_new(enum kind kind, struct filter *left,
                                 struct filter *right)
{
    if (filter_count == FILTERS_MAX)
        return NULL;
    struct filter *filter = &filters[filter_count++];
    *filter = (struct filter){.kind = kind, .left = left, .right = right};
    return filter;
}

static struct filter *joined(enum kind kind, struct filter *left,
                             struct filter *right)
{
    if (left == NULL || right == NULL)
        return NULL;
    return filter_new(kind, left, right);
}

static bool taken(const char *word)
{
    at += strspn(at, " \n");
    if (strncmp(at, word, strlen(word)) != 0)
        return false;
    at += strlen(word);
    return true;
}

static struct filter *read_name(enum kind kind, size_t size)
{
    struct filter *filter = filter_new(kind, NULL, NULL);
    if (filter == NULL || size == 0 || size >= sizeof filter->name)
        return NULL;
    memcpy(filter->name, at, size);
    at += size;
    return filter;
}

/* A text without escapes, from after its first quote. */
static struct filter *read_text(enum kind kind)
{
    struct filter *filter = read_name(kind, strcspn(at, "\"\\"));
    return filter != NULL && taken("\"") ? filter : NULL;
}

/* From after the bracket: `]`, `0]`, `-1]`, `1:]`, `1:3]`, `"a"]`. */
static struct filter *read_bracket(void)
{
    if (taken("]"))
        return filter_new(EACH, NULL, NULL);
    if (taken("\"")) {
        struct filter *member = read_text(MEMBER);
        return taken("]") ? member : NULL;
    }
    struct filter *filter = filter_new(ELEMENT, NULL, NULL);
    char *end;
    if (filter == NULL)
        return NULL;
    filter->from = strtol(at, &end, 10);
    if (end == at)
        return NULL;
    at = end;
    if (*at == ':') {
        filter->kind = SLICE;
        filter->to = strtol(++at, &end, 10);
        if (end == at)
            filter->to = TEXT_MAX;
        at = end;
    }
    return taken("]") ? filter : NULL;
}

static struct filter *read_suffixes(struct filter *left)
{
    while (left != NULL) {
        if (*at == '[') {
            at++;
            left = joined(PIPE, left, read_bracket());
        } else if (at[0] == '.' && at[1] == '"') {
            at += 2;
            left = joined(PIPE, left, read_text(MEMBER));
        } else if (*at == '.') {
            at++;
            left = joined(
                PIPE, left,
                read_name(MEMBER,
                          strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL"
                                     "MNOPQRSTUVWXYZ0123456789_")));
        } else
            return left;
    }
    return NULL;
}

static struct filter *read_term(void)
{
    struct filter *inner;
    if (taken("[")) {
        inner = read_pipe();
        return taken("]") && inner != NULL ? filter_new(COLLECT, inner, NULL)
                                           : NULL;
    }
    if (taken("(")) {
        inner = read_pipe();
        return taken(")") ? inner : NULL;
    }
    if (taken("length"))
        return filter_new(LENGTH, NULL, NULL);
    if (taken("has(\"")) {
        inner = read_text(HAS);
        return taken(")") ? inner : NULL;
    }
    if (taken("contains(\"")) {
        inner = read_text(CONTAINS);
        return taken(")") ? inner : NULL;
    }
    if (taken("map(")) {
        inner = joined(PIPE, filter_new(EACH, NULL, NULL), read_pipe());
        return taken(")") && inner != NULL ? filter_new(COLLECT, inner, NULL)
                                           : NULL;
    }
    if (!taken("."))
        return NULL;
    inner = filter_new(SELF, NULL, NULL);
    if (*at != '\0' && strchr("[ ,|)]", *at) == NULL)
        at--; /* it is a name's */
    return read_suffixes(inner);
}

/* A term, and perhaps the text that stands for it when it is null or false. */
static struct filter *read_default(void)
{
    struct filter *term = read_term();
    if (term == NULL || !taken("//"))
        return term;
    if (taken("\"\""))
        return filter_new(DEFAULT, term, NULL);
    struct filter *filter = taken("\"") ? read_text(DEFAULT) : NULL;
    if (filter != NULL)
        filter->left = term;
    return filter;
}

static struct filter *read_pipe(void)
{
    struct filter *list = read_default();
    while (list != NULL && taken(","))
        list = joined(COMMA, list, read_default());
    return list != NULL && taken("|") ? joined(PIPE, list, read_pipe()) : list;
}

static json_t *element_of(const json_t *array, long index)
{
    long size = (long)json_array_size(array);
    json_t *found =
        json_array_get(array, (size_t)(index < 0 ? index + size : index));
    return found != NULL ? json_incref(found) : json_null();
}

static json_t *slice_of(const json_t *array, long from, long to)
{
    long size = (long)json_array_size(array);
    json_t *slice = json_array();
    from = from < 0 ? from + size : from;
    to = to < 0 ? to + size : to;
    for (long i = from < 0 ? 0 : from; i < to && i < size; i++)
        json_array_append(slice, json_array_get(array, (size_t)i));
    return slice;
}

static json_t *length_of(const json_t *in)
{
    if (json_is_array(in))
        return json_integer((json_int_t)json_array_size(in));
    if (json_is_object(in))
        return json_integer((json_int_t)json_object_size(in));
    return json_is_null(in) ? json_integer(0) : NULL;
}

static json_t *member_of(const json_t *in, const char *name)
{
    json_t *found = json_object_get(in, name);
    if (found != NULL)
        return json_incref(found);
    return json_is_object(in) || json_is_null(in) ? json_null() : NULL;
}

/* What a filter that has one result makes of a value, or NULL. */
static json_t *one_of(const struct filter *filter, json_t *in)
{
    if (json_is_null(in) && (filter->kind == ELEMENT || filter->kind == SLICE))
        return json_null();
    switch (filter->kind) {
    case SELF:
        return json_incref(in);
    case MEMBER:
        return member_of(in, filter->name);
    case ELEMENT:
        return json_is_array(in) ? element_of(in, filter->from) : NULL;
    case SLICE:
        return json_is_array(in) ? slice_of(in, filter->from, filter->to)
                                 : NULL;
    case LENGTH:
        return length_of(in);
    case HAS:
        return json_is_object(in)
                   ? json_boolean(json_object_get(in, filter->name) != NULL)
                   : NULL;
    case CONTAINS:
        return json_is_string(in) ? json_boolean(strstr(json_string_value(in),
                                                        filter->name) != NULL)
                                  : NULL;
    case EACH:
    case COLLECT:
    case PIPE:
    case COMMA:
    case DEFAULT:
        break;
    }
    return NULL;
}

/* The values that are neither null nor false, or else the text. */
static bool add_or_default(const json_t *some, const char *text,
                           json_t *results)
{
    size_t before = json_array_size(results), i;
    json_t *value;
    json_array_foreach(some, i,
                       value) if (!json_is_null(value) && !json_is_false(value))
        json_array_append(results, value);
    return json_array_size(results) > before ||
           json_array_append_new(results, json_string(text)) == 0;
}

/* Adds what the filter makes of a value to the results; false: jq must say. */
static bool apply(const struct filter *filter, json_t *in, json_t *results)
{
    json_t *some;
    switch (filter->kind) {
    case EACH:
        return json_is_array(in) && json_array_extend(results, in) == 0;
    case COMMA:
        return apply(filter->left, in, results) &&
               apply(filter->right, in, results);
    case COLLECT:
        some = json_array();
        return apply(filter->left, in, some) &&
               json_array_append_new(results, some) == 0;
    case PIPE:
        some = json_array();
        if (!apply(filter->left, in, some))
            return false;
        for (size_t i = 0; i < json_array_size(some); i++)
            if (!apply(filter->right, json_array_get(some, i), results))
                return false;
        return true;
    case DEFAULT:
        some = json_array();
        return apply(filter->left, in, some) &&
               add_or_default(some, filter->name, results);
    case SELF:
    case MEMBER:
    case ELEMENT:
    case SLICE:
    case LENGTH:
    case HAS:
    case CONTAINS:
        break;
    }
    some = one_of(filter, in);
    return some != NULL && json_array_append_new(results, some) == 0;
}

/* Whether both programs write it in the same way: no fraction, no number that a
 * double cannot hold, no rare control character. */
static bool is_plain(const char *text)
{
    bool quoted = false;
    int digits = 0;
    for (; *text != '\0'; text++) {
        if (*text == 0x7f || (*text == '\\' && text[1] == 'u'))
            return false;
        if (*text == '\\')
            text++;
        else if (*text == '"')
            quoted = !quoted;
        digits = !quoted && *text >= '0' && *text <= '9' ? digits + 1 : 0;
        if (digits > 15 || (!quoted && (*text == '.' || *text == '-')))
            return false;
    }
    return true;
}

/* Jansson reads -0 as 0. */
static bool has_negative_zero(const char *text)
{
    for (const char *at_zero = strstr(text, "-0"); at_zero != NULL;
         at_zero = strstr(at_zero + 1, "-0"))
        if (at_zero > text && strchr(":,[ \r\n\t", at_zero[-1]) != NULL)
            return true;
    return false;
}

/* HOW is -c, -r or both; without the first jq shows more than one line. */
static bool show(const json_t *result, const char *how, FILE *out)
{
    bool is_text = json_is_string(result) && strchr(how, 'r') != NULL;
    bool is_long = json_is_object(result) || json_is_array(result);
    char *text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text == NULL || !is_plain(text) ||
        (is_long && strchr(how, 'c') == NULL))
        return false;
    fprintf(out, "%s\n", is_text ? json_string_value(result) : text);
    return true;
}

/* Shows what the filter makes of each value of a text. */
static bool answer(const struct filter *filter, const char *text, size_t size,
                   const char *how, FILE *out)
{
    json_error_t error;
    size_t done = 0;
    if (has_negative_zero(text))
        return false;
    for (;;) {
        done += strspn(text + done, " \r\n\t");
        if (done == size)
            return true;
        json_t *results = json_array();
        json_t *value =
            json_loadb(text + done, size - done,
                       JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
        if (value == NULL ||
            (!json_is_array(value) && !json_is_object(value)) ||
            !apply(filter, value, results))
            return false;
        for (size_t i = 0; i < json_array_size(results); i++)
            if (!show(json_array_get(results, i), how, out))
                return false;
        done += (size_t)error.position;
    }
}

static void become_jq(char **arguments, int in)
{
    if (in >= 0 && lseek(in, 0, SEEK_SET) == 0)
        dup2(in, STDIN_FILENO);
    execvp("jq", arguments);
    perror("jq");
    exit(127);
}

/* The standard input as a file that can be read again. */
static int kept_input(void)
{
    char block[65536];
    ssize_t size;
    int file = memfd_create("input", MFD_CLOEXEC);
    while (file >= 0 && (size = read(STDIN_FILENO, block, sizeof block)) > 0)
        if (write(file, block, (size_t)size) != size)
            exit(127);
    return file;
}

static char *whole(FILE *in, size_t *size)
{
    char *text = calloc(1, TEXT_MAX + 1);
    if (in == NULL || text == NULL)
        return NULL;
    *size = fread(text, 1, TEXT_MAX, in);
    return *size < TEXT_MAX && memchr(text, '\0', *size) == NULL ? text : NULL;
}

int main(int count, char **arguments)
{
    char *output, *text;
    size_t size, written;
    int input = -1;
    arguments[0] = "jq";
    const char *how = count > 2 ? arguments[1] : "";
    if (count < 3 || count > 4 ||
        (strcmp(how, "-c") != 0 && strcmp(how, "-cr") != 0 &&
         strcmp(how, "-rc") != 0 && strcmp(how, "-r") != 0))
        become_jq(arguments, -1);
    at = arguments[2];
    struct filter *filter = read_pipe();
    if (filter == NULL || at[strspn(at, " \n")] != '\0')
        become_jq(arguments, -1);
    if (count == 3)
        input = kept_input();
    FILE *in = count == 4 ? fopen(arguments[3], "r") : fdopen(dup(input), "r");
    FILE *out = open_memstream(&output, &written);
    if (input >= 0)
        lseek(input, 0, SEEK_SET);
    if (out == NULL || (text = whole(in, &size)) == NULL ||
        !answer(filter, text, size, how, out))
        become_jq(arguments, input);
    fclose(out);
    return fwrite(output, 1, written, stdout) == written ? 0 : 1;
}
