/* Splits input into lines, converts a line of an import to a mutation, and a
 * line of an export to the form of Deno. Values are passed on unchanged; the
 * server checks them. */
#include "cli/bulk/cli_ndjson.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_json.h"
#include "rest/ttl.h"

/* ---- Lines of the input ------------------------------------------------- */

enum { READ_BYTES = 256 << 10 };

void cli_lines_begin(struct cli_lines *lines, int fd, const void *owner)
{
    *lines = (struct cli_lines){.fd = fd};
    kx_buffer_init(&lines->bytes, owner);
}

static void take(struct cli_lines *lines, size_t size,
                 struct kx_slice *line_out)
{
    *line_out = kx_slice(lines->bytes.data + lines->at, size);
    lines->at = lines->searched = lines->at + size;
}

bool cli_lines_next(struct cli_lines *lines, struct kx_slice *line_out)
{
    size_t left = lines->bytes.size - lines->searched;
    const uint8_t *from = lines->bytes.data + lines->searched;
    const uint8_t *end = left > 0 ? memchr(from, '\n', left) : NULL;
    lines->searched = lines->bytes.size;
    if (end != NULL)
        take(lines, (size_t)(end + 1 - lines->bytes.data) - lines->at,
             line_out);
    else if (lines->ended && lines->at < lines->bytes.size)
        take(lines, lines->bytes.size - lines->at, line_out);
    else
        return false;
    return true;
}

void cli_lines_back(struct cli_lines *lines, struct kx_slice line)
{
    lines->at = lines->searched = lines->at - line.size;
}

bool cli_lines_readable(const struct cli_lines *lines)
{
    struct pollfd input = {.fd = lines->fd, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

/* Moves the bytes that have not been taken to the start of the buffer. */
static void drop_taken(struct cli_lines *lines)
{
    struct kx_buffer *bytes = &lines->bytes;
    if (lines->at == 0)
        return;
    bytes->size -= lines->at;
    memmove(bytes->data, bytes->data + lines->at, bytes->size);
    lines->searched -= lines->at;
    lines->at = 0;
}

bool cli_lines_read(struct cli_lines *lines)
{
    struct kx_buffer *bytes = &lines->bytes;
    drop_taken(lines);
    if (lines->read != NULL)
        return lines->read(lines->store, bytes, &lines->ended);
    errno = ENOMEM;
    if (!kx_buffer_reserve(bytes, READ_BYTES))
        return false;
    ssize_t size = read(lines->fd, bytes->data + bytes->size, READ_BYTES);
    if (size < 0)
        return errno == EINTR;
    bytes->size += (size_t)size;
    lines->ended = size == 0;
    return true;
}

/* ---- Reading ------------------------------------------------------------ */

struct members {
    struct kx_slice key, value, typed, expires, end;
    int64_t expires_ms; /* from the member expires */
};

static struct members find_members(struct kx_slice line)
{
    struct members found = {.key = {.size = 0}};
    const struct {
        const char *name;
        struct kx_slice *place;
    } wanted[] = {{"\"key\"", &found.key},
                  {"\"value\"", &found.value},
                  {"\"typed\"", &found.typed},
                  {"\"expiresAt\"", &found.expires},
                  {"\"end\"", &found.end}};
    struct kx_json_iter iter;
    struct kx_slice name, value;
    if (!kx_json_iterate(line, &iter) || !iter.object)
        return found;
    while (kx_json_next(&iter, &name, &value))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (kx_equal(name, kx_text(wanted[i].name)))
                *wanted[i].place = value;
    return found;
}

/* True for the types that need no type object in a key: strings, booleans and
 * plain numbers. */
static bool stands_for_itself(struct kx_slice type, struct kx_slice value)
{
    return kx_equal(type, kx_text("\"string\"")) ||
           kx_equal(type, kx_text("\"boolean\"")) ||
           (kx_equal(type, kx_text("\"number\"")) &&
            kx_json_type(value) == KX_JSON_NUMBER);
}

/* Appends a part of a key; omits the type that kv-utils state if JSON itself
 * shows the type. */
static void add_deno_part(struct kx_slice part, struct kx_buffer *out)
{
    struct kx_slice type, value;
    bool typed = cli_json_member(part, "type", &type) &&
                 cli_json_member(part, "value", &value);
    kx_add_slice(out, typed && stands_for_itself(type, value) ? value : part);
}

static bool add_key(struct kx_slice key, const struct cli_ndjson_rules *rules,
                    struct kx_buffer *out)
{
    struct kx_json_iter iter;
    struct kx_slice name, part;
    bool comma = rules->prefix.size > 0;
    if (!kx_json_iterate(key, &iter) || iter.object)
        return false;
    kx_add_byte(out, '[');
    kx_add_slice(out, rules->prefix);
    for (; kx_json_next(&iter, &name, &part); comma = true) {
        if (comma)
            kx_add_byte(out, ',');
        if (rules->deno)
            add_deno_part(part, out);
        else
            kx_add_slice(out, part);
    }
    kx_add_byte(out, ']');
    return true;
}

static void add_mutation(const struct members *members, struct kx_slice key,
                         const struct cli_ndjson_rules *rules,
                         struct kx_buffer *out)
{
    bool typed = members->typed.size > 0 || rules->deno;
    kx_add_text(out, "{\"type\":\"set\",\"key\":");
    kx_add_slice(out, key);
    kx_add_text(out, typed ? ",\"typed\":" : ",\"value\":");
    kx_add_slice(out,
                 members->typed.size > 0 ? members->typed : members->value);
    if (members->expires.size > 0) {
        char text[48];
        snprintf(text, sizeof text, ",\"expiresAt\":%" PRId64,
                 members->expires_ms);
        kx_add_text(out, text);
    }
    kx_add_byte(out, '}');
}

static enum cli_ndjson_kind bad(struct cli_ndjson_entry *entry,
                                const char *text)
{
    snprintf(entry->reason, sizeof entry->reason, "%.*s",
             (int)sizeof entry->reason - 1, text);
    return LINE_BAD;
}

/* Reads the milliseconds, which may have any form of a JSON number. */
static bool read_expiry(struct members *members)
{
    double number;
    if (members->expires.size == 0)
        return true;
    if (!kx_number_parse(members->expires, &number) ||
        !(fabs(number) <= (double)EXPIRES_AT_MAX_MS))
        return false;
    members->expires_ms = (int64_t)number;
    return true;
}

/* Returns why the line is not an entry, or NULL if it is. */
static const char *defect_of(struct members *members)
{
    bool value = members->value.size > 0;
    if (members->key.size == 0)
        return "it is not an object with a member key";
    if (value == (members->typed.size > 0))
        return value ? "it has both value and typed"
                     : "it has neither value nor typed";
    if (!read_expiry(members))
        return "its expiresAt is not a time in milliseconds";
    return NULL;
}

static enum cli_ndjson_kind classify(struct members *members,
                                     const struct cli_ndjson_rules *rules,
                                     struct cli_ndjson_entry *entry)
{
    if (members->end.size > 0 && members->key.size == 0)
        return LINE_NOTHING;
    const char *error = defect_of(members);
    if (error != NULL)
        return bad(entry, error);
    return members->expires.size > 0 && members->expires_ms <= rules->now_ms
               ? LINE_EXPIRED
               : LINE_ENTRY;
}

static bool blank(struct kx_slice line)
{
    while (line.size > 0 && line.data[line.size - 1] <= ' ')
        line.size--;
    return line.size == 0;
}

/* The detail without its line number, which the caller's message already has.
 */
static const char *without_line(const char *detail)
{
    static const char FIRST[] = "line 1, ";
    size_t size = sizeof FIRST - 1;
    return strncmp(detail, FIRST, size) == 0 ? detail + size : detail;
}

enum cli_ndjson_kind cli_ndjson_read(struct kx_slice line,
                                     const struct cli_ndjson_rules *rules,
                                     struct kx_buffer *out,
                                     struct cli_ndjson_entry *entry_out)
{
    struct kx_fault fault;
    if (blank(line))
        return LINE_NOTHING;
    if (kx_json_check_document(line, &fault) != KX_OK)
        return bad(entry_out, without_line(fault.detail));
    struct members members = find_members(line);
    enum cli_ndjson_kind kind = classify(&members, rules, entry_out);
    size_t from = out->size;
    if (kind != LINE_ENTRY)
        return kind;
    /* Reserve first: the key is copied from out to out below, so out must not
     * move. */
    if (!kx_buffer_reserve(out, 2 * (line.size + rules->prefix.size) + 128))
        return bad(entry_out, "memory ran out");
    if (!add_key(members.key, rules, out))
        return bad(entry_out, "its key is not an array");
    entry_out->key = kx_slice(out->data + from, out->size - from);
    from = out->size;
    add_mutation(&members, entry_out->key, rules, out);
    entry_out->mutation = kx_slice(out->data + from, out->size - from);
    return LINE_ENTRY;
}

/* ---- Writing for Deno --------------------------------------------------- */

static void add_typed(struct kx_slice json, struct kx_buffer *out);

static void add_children(struct kx_slice json, struct kx_buffer *out)
{
    struct kx_json_iter iter;
    struct kx_slice name, child;
    kx_json_iterate(json, &iter);
    kx_add_byte(out, iter.object ? '{' : '[');
    for (bool first = true; kx_json_next(&iter, &name, &child); first = false) {
        if (!first)
            kx_add_byte(out, ',');
        kx_add_slice(out, name);
        if (iter.object)
            kx_add_byte(out, ':');
        add_typed(child, out);
    }
    kx_add_byte(out, iter.object ? '}' : ']');
}

/* Recursive; the depth is that of the text, at most KX_JSON_DEPTH_MAX. */
static void add_typed(struct kx_slice json, struct kx_buffer *out)
{
    static const char *const TYPES[] = {
        [KX_JSON_NULL] = "null",     [KX_JSON_FALSE] = "boolean",
        [KX_JSON_TRUE] = "boolean",  [KX_JSON_NUMBER] = "number",
        [KX_JSON_STRING] = "string", [KX_JSON_ARRAY] = "Array",
        [KX_JSON_OBJECT] = "object"};
    enum kx_json_type type = kx_json_type(json);
    kx_add_text(out, "{\"type\":\"");
    kx_add_text(out, TYPES[type]);
    kx_add_text(out, "\",\"value\":");
    if (type == KX_JSON_ARRAY || type == KX_JSON_OBJECT)
        add_children(json, out);
    else
        kx_add_slice(out, json);
    kx_add_byte(out, '}');
}

static void add_deno_key(struct kx_slice key, struct kx_buffer *out)
{
    struct kx_json_iter iter;
    struct kx_slice name, part;
    bool first = true;
    kx_add_byte(out, '[');
    kx_json_iterate(key, &iter);
    for (; kx_json_next(&iter, &name, &part); first = false) {
        if (!first)
            kx_add_byte(out, ',');
        if (kx_json_type(part) == KX_JSON_OBJECT)
            kx_add_slice(out, part);
        else
            add_typed(part, out);
    }
    kx_add_byte(out, ']');
}

void cli_ndjson_to_deno(struct kx_slice line, struct kx_buffer *out)
{
    struct members members = find_members(line);
    struct kx_slice stamp;
    kx_add_text(out, "{\"key\":");
    add_deno_key(members.key, out);
    kx_add_text(out, ",\"value\":");
    if (members.typed.size > 0)
        kx_add_slice(out, members.typed);
    else
        add_typed(members.value, out);
    if (cli_json_member(line, "versionstamp", &stamp)) {
        kx_add_text(out, ",\"versionstamp\":");
        kx_add_slice(out, stamp);
    }
    if (members.expires.size > 0) {
        kx_add_text(out, ",\"expiresAt\":");
        kx_add_slice(out, members.expires);
    }
    kx_add_byte(out, '}');
}
