/* Reads the lines of POST /bulk. A line is an entry as lists show it, or, if it
 * has a member `type`, a mutation as in POST /atomic. The last line may be the
 * end of a list, {"end":true}. */
#include "commits/bulk.h"

#include <talloc.h>

#include "commits/atomic.h"

enum { LINE_LEAST = 16 /* bytes: no mutation has a shorter line */ };

bool bulk_read_begin(struct bulk_reader *reader, struct kx_slice body,
                     void *memory)
{
    size_t most = body.size / LINE_LEAST + 1;
    if (most > BULK_LINES_MAX)
        most = BULK_LINES_MAX;
    *reader = (struct bulk_reader){.body = body, .most = most};
    reader->memory = talloc_new(memory);
    reader->mutations = talloc_array(memory, struct kx_mutation, most);
    reader->lines = talloc_array(memory, struct bulk_line, most);
    return reader->memory != NULL && reader->mutations != NULL &&
           reader->lines != NULL;
}

/* Returns the next line without its newline, which the last line may lack. */
static struct kx_slice next_line(const struct bulk_reader *reader)
{
    const uint8_t *start = reader->body.data + reader->at;
    size_t left = reader->body.size - reader->at;
    const uint8_t *end = memchr(start, '\n', left);
    return kx_slice(start, end != NULL ? (size_t)(end - start) : left);
}

static bool is_blank(struct kx_slice line)
{
    while (line.size > 0 &&
           memchr(" \t\r", line.data[line.size - 1], 3) != NULL)
        line.size--;
    return line.size == 0;
}

/* The detail of a fault begins with line and column in the text. The line is
 * always 1 there, so it is removed. */
static bool bad_json(struct kx_slice line, struct kx_fault *fault,
                     size_t number, struct input_error *error)
{
    static const char FIRST[] = "line 1, ";
    size_t size = sizeof FIRST - 1;
    input_error_json(error, line, fault);
    error->line = number;
    if (strncmp(error->detail, FIRST, size) == 0)
        memmove(error->detail, error->detail + size,
                strlen(error->detail + size) + 1);
    return false;
}

enum line_kind { ENTRY, MUTATION, END };

static enum line_kind kind_of(struct kx_slice line)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    bool end = false;
    bool key = false;
    if (!kx_json_iterate(line, &iter) || !iter.object)
        return ENTRY; /* its reader refuses it */
    while (kx_json_next(&iter, &name, &value)) {
        if (kx_equal(name, kx_text("\"type\"")))
            return MUTATION;
        end |= kx_equal(name, kx_text("\"end\"")) &&
               kx_json_type(value) == KX_JSON_TRUE;
        key |= kx_equal(name, kx_text("\"key\""));
    }
    return end && !key ? END : ENTRY;
}

/* Refuses members that need a commit of their own. */
static bool may_stand(const struct kx_mutation *mutation,
                      struct input_error *error)
{
    if (mutation->returns != KX_RETURN_NOTHING) {
        input_error_set(error, PROBLEM_BAD_REQUEST,
                        "A line takes no return: use POST /atomic.");
        return input_error_in_member(error, "return");
    }
    if (mutation->suffix_stamp) {
        input_error_set(error, PROBLEM_BAD_REQUEST,
                        "A line takes no suffix, because many lines get the "
                        "same versionstamp: use POST /atomic.");
        return input_error_in_member(error, "suffix");
    }
    return true;
}

static bool take_mutation(struct bulk_reader *reader, struct kx_slice line,
                          struct kx_mutation *mutation,
                          struct input_error *error)
{
    struct kx_fault fault = {0};
    struct atomic atomic = {.memory = reader->memory};
    enum kx_status status = kx_json_check(line, &fault);
    atomic.deep = status == KX_JSON_TOO_DEEP;
    if (atomic.deep)
        status = kx_json_check_document(line, &fault);
    if (status != KX_OK)
        return bad_json(line, &fault, reader->number + 1, error);
    if (reader->ended)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "{\"end\":true} is the last line of a list; "
                               "this line is after it.");
    enum line_kind kind = kind_of(line);
    reader->ended = kind == END;
    if (kind == END)
        return true;
    *mutation = (struct kx_mutation){.type = KX_SET};
    if (kind == ENTRY)
        return atomic_read_entry(&atomic, line, mutation, error);
    return atomic_read_mutation(&atomic, line, mutation, error) &&
           may_stand(mutation, error);
}

static bool is_full(const struct bulk_reader *reader, size_t start)
{
    return reader->count == reader->most ||
           reader->at - start >= BULK_BYTES_MAX;
}

bool bulk_read_slice(struct bulk_reader *reader, struct input_error *error)
{
    size_t start = reader->at;
    talloc_free_children(reader->memory);
    reader->count = 0;
    while (!bulk_read_is_done(reader) && !is_full(reader, start)) {
        struct kx_slice line = next_line(reader);
        struct kx_mutation *mutation = &reader->mutations[reader->count];
        bool taken = !is_blank(line);
        if (taken && !take_mutation(reader, line, mutation, error))
            return reader->count > 0;
        reader->at += line.size;
        reader->at += reader->at < reader->body.size;
        reader->number++;
        if (taken && !reader->ended)
            reader->lines[reader->count++] =
                (struct bulk_line){reader->at, reader->number};
    }
    return true;
}

void bulk_read_cut(struct bulk_reader *reader, size_t count)
{
    reader->count = count;
    reader->at = reader->lines[count - 1].end;
    reader->number = reader->lines[count - 1].number;
    reader->ended = false;
}

bool bulk_read_is_done(const struct bulk_reader *reader)
{
    return reader->at == reader->body.size;
}
