/* Reads If-Match (strong comparison) and If-None-Match (weak) as checks. A
 * value is `*` or a list of tags.
 * `*` requires an entry in If-Match, and no entry in If-None-Match. */
#include "rest/conditions.h"

#include <talloc.h>

/* Skips to the next tag of a list, which may have empty elements (RFC 9110
 * section 5.6.1.2). */
static const char *skip(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == ',')
        text++;
    return text;
}

/* The first 20 characters between the quotes of a tag, if they are a
 * versionstamp, else 0: proxies append "-gzip" and the like to the tags of
 * replies that they compress. */
static uint64_t stamp_of(const char *text, size_t size)
{
    uint64_t stamp = 0;
    if (size >= KX_STAMP_DIGITS &&
        kx_stamp_parse(kx_slice(text, KX_STAMP_DIGITS), &stamp))
        return stamp;
    return 0;
}

/* Sets the versionstamp of one tag, unless the tag is weak and the comparison
 * is strong (RFC 9110 section 13.1.1). Returns the text after the tag. Text
 * that is not a tag is skipped to the next comma, so that the list always gets
 * shorter. A quoted asterisk is formally a tag, but is hardly meant as one. */
static const char *read_tag(const char *text, bool strong, uint64_t *stamp_out,
                            bool *unclear)
{
    bool weak = text[0] == 'W' && text[1] == '/';
    if (weak)
        text += 2;
    size_t size = *text == '"' ? strcspn(text + 1, "\"") : 0;
    if (*text != '"' || text[1 + size] == '\0' || (size == 1 && text[1] == '*'))
        *unclear = true;
    if (*text != '"')
        return text + strcspn(text, ",");
    text++;
    if (!weak || !strong)
        *stamp_out = stamp_of(text, size);
    text += size;
    return *text == '"' ? text + 1 : text;
}

/* `*` is the whole value (RFC 9110 section 13.1.1); inside a list it is not a
 * tag. */
static bool is_any(const char *text)
{
    return *text == '*' && text[1 + strspn(text + 1, " \t")] == '\0';
}

/* True when the value is `*`, which matches any version, and not a list. */
static bool read_list(const char *text, bool strong, uint64_t *stamps,
                      struct kx_check *check, bool *unclear)
{
    check->stamps = stamps;
    check->stamp_count = 0;
    text = skip(text);
    *unclear = *text == '\0';
    if (is_any(text))
        return true;
    for (; *text != '\0'; text = skip(text)) {
        uint64_t stamp = 0;
        text = read_tag(text, strong, &stamp, unclear);
        if (stamp != 0)
            stamps[check->stamp_count++] = stamp;
    }
    return false;
}

/* Room for every tag of a list: each but the last is followed by a comma. */
static uint64_t *room(const char *text, const void *memory)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == ',' || *text == '"';
    return talloc_array(memory, uint64_t, count);
}

static bool add(struct conditions *conditions, const char *text,
                struct kx_slice key, bool wanted)
{
    struct kx_check *check = &conditions->checks[conditions->count];
    uint64_t *stamps = room(text, conditions->checks);
    if (stamps == NULL)
        return false;
    bool unclear = false;
    bool any = read_list(text, wanted, stamps, check, &unclear);
    conditions->unclear = unclear && !wanted;
    check->key = key;
    if (any)
        check->condition = wanted ? KX_IS_PRESENT : KX_IS_ABSENT;
    else
        check->condition = wanted ? KX_IS_ONE_OF : KX_IS_NONE_OF;
    conditions->count++;
    return true;
}

bool conditions_read(const char *if_match, const char *if_none_match,
                     struct kx_slice key, const void *memory,
                     struct conditions *conditions_out)
{
    *conditions_out = (struct conditions){0};
    if (if_match == NULL && if_none_match == NULL)
        return true;
    conditions_out->checks = talloc_zero_array(memory, struct kx_check, 2);
    if (conditions_out->checks == NULL)
        return false;
    return (if_match == NULL || add(conditions_out, if_match, key, true)) &&
           (if_none_match == NULL ||
            add(conditions_out, if_none_match, key, false));
}

bool conditions_none(const struct request *request, struct input_error *error)
{
    static const char *const names[] = {"If-Match", "If-None-Match"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (request_header(request, names[i]) != NULL)
            return input_error_set(
                error, PROBLEM_BAD_REQUEST,
                "%s is not supported here: there is no single entry to compare "
                "with. POST /atomic takes checks.",
                names[i]);
    return true;
}

void etag_write(uint64_t stamp, char *out)
{
    out[0] = '"';
    kx_stamp_text(stamp, out + 1);
    out[ETAG_SIZE - 1] = '"';
    out[ETAG_SIZE] = '\0';
}
