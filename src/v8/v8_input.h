/* What the readers of a value share: errors, taking bytes, and the numbers of
 * objects. */
#ifndef V8_INPUT_H
#define V8_INPUT_H

#include "v8/v8_reader.h"

/* Notes an error at the current position. Always false. */
bool v8_wrong(struct v8_reader *reader, const char *sentence);
/* The same for a value that is cut off. Always false. */
bool v8_ends_early(struct v8_reader *reader);
/* Takes so many bytes. False if fewer are left. */
bool v8_take_bytes(struct v8_reader *reader, size_t size,
                   struct kx_slice *bytes_out);
/* Takes a double. */
bool v8_take_double(struct v8_reader *reader, double *number_out);
/* Takes a varint of any length. False if it is not valid. */
bool v8_take_long_varint(struct v8_reader *reader, uint32_t *number_out);

/* Takes a varint. */
static inline bool v8_take_varint(struct v8_reader *reader,
                                  uint32_t *number_out)
{
    if (reader->at == reader->size || reader->data[reader->at] >= 0x80)
        return v8_take_long_varint(reader, number_out);
    *number_out = reader->data[reader->at++];
    return true;
}

/* Skips padding and returns the next tag without taking it; 0 at the end. */
static inline uint8_t v8_peek_tag(struct v8_reader *reader)
{
    while (reader->at < reader->size && reader->data[reader->at] == 0)
        reader->at++;
    return reader->at < reader->size ? reader->data[reader->at] : 0;
}

/* Takes the next tag. */
static inline bool v8_take_tag(struct v8_reader *reader, uint8_t *tag_out)
{
    *tag_out = v8_peek_tag(reader);
    if (*tag_out == 0)
        return v8_ends_early(reader);
    reader->at++;
    return true;
}

/* Gives the next number to the object that begins at `at`. False if memory runs
 * out. */
bool v8_add_object(struct v8_reader *reader, struct v8_token *token, size_t at,
                   uint32_t buffer);
/* The object with this number, which must exist. */
struct v8_object v8_object_at(const struct v8_reader *reader, uint32_t id);

#endif
