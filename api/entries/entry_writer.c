/* One buffer has the text between all kept entries; each entry has its place in
 * that text. */
#include "entries/entry_writer.h"

#include <talloc.h>

#include "entries/expand.h"

struct kept_entry {
    STAILQ_ENTRY(kept_entry) next;
    struct kx_entry entry;
    struct shape shape;
    size_t place; /* bytes of the writer's text before this entry */
    size_t size;
    uint8_t bytes[]; /* of the entry's slices */
};

void entry_writer_init(struct entry_writer *writer, struct kx_buffer *body,
                       void *memory)
{
    *writer =
        (struct entry_writer){.out = body, .body = body, .memory = memory};
    kx_buffer_init(&writer->text, memory);
    STAILQ_INIT(&writer->kept);
}

static struct kx_slice put(uint8_t **to, struct kx_slice bytes)
{
    struct kx_slice copy = kx_slice(*to, bytes.size);
    if (bytes.size > 0)
        memcpy(*to, bytes.data, bytes.size);
    *to += bytes.size;
    return copy;
}

static void keep(struct entry_writer *writer, const struct kx_entry *entry,
                 const struct shape *shape)
{
    const struct kx_value *value = &entry->value;
    size_t size = entry->key.size + value->data.size + value->media_type.size;
    struct kept_entry *kept = talloc_size(writer->memory, sizeof *kept + size);
    if (kept == NULL) {
        writer->body->failed = true;
        return;
    }
    uint8_t *to = kept->bytes;
    kept->entry = *entry;
    kept->entry.key = put(&to, entry->key);
    kept->entry.value.data = put(&to, value->data);
    kept->entry.value.media_type = put(&to, value->media_type);
    kept->shape = *shape;
    kept->place = writer->text.size;
    kept->size = size;
    writer->kept_bytes += size;
    writer->out = &writer->text;
    STAILQ_INSERT_TAIL(&writer->kept, kept, next);
}

/* Entries without values are never kept: writing them is as fast as copying.
 * Entries with expanded references are not kept either, because their targets
 * must be read in this view. */
void entry_writer_add(struct entry_writer *writer, const struct kx_entry *entry,
                      const struct shape *shape)
{
    if (writer->memory != NULL && !shape->keys_only &&
        shape->expansion == NULL && writer->body->size >= ENTRY_WRITER_SLICE)
        keep(writer, entry, shape);
    else
        expand_write(entry, shape, writer->out);
}

size_t entry_writer_size(const struct entry_writer *writer)
{
    return writer->body->size + writer->text.size - writer->written +
           writer->kept_bytes;
}

static void write_text(struct entry_writer *writer, size_t end)
{
    kx_add(writer->body, writer->text.data + writer->written,
           end - writer->written);
    writer->written = end;
}

bool entry_writer_continue(struct entry_writer *writer)
{
    struct kx_buffer *body = writer->body;
    struct kept_entry *kept;
    size_t end = body->size + ENTRY_WRITER_SLICE;
    while ((kept = STAILQ_FIRST(&writer->kept)) != NULL && !body->failed) {
        if (body->size >= end)
            return false;
        write_text(writer, kept->place);
        entryjson_write_shaped(&kept->entry, &kept->shape, body);
        STAILQ_REMOVE_HEAD(&writer->kept, next);
        writer->kept_bytes -= kept->size;
        talloc_free(kept);
    }
    write_text(writer, writer->text.size);
    body->failed |= writer->text.failed;
    return true;
}
