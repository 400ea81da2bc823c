/* Reads and writes receipts of claimed jobs. */
#include "rest/receipt.h"

#include <talloc.h>

#include "rest/document.h"

enum { CLAIM_SIZE = 8 /* bytes of the versionstamp in a receipt */ };

void receipt_write(const struct kx_entry *job, struct kx_buffer *out)
{
    struct kx_buffer whole;
    kx_buffer_init(&whole, out->owner);
    for (int shift = 56; shift >= 0; shift -= 8)
        kx_add_byte(&whole, (uint8_t)(job->job.claim >> shift));
    kx_add_slice(&whole, job->key);
    if (whole.failed)
        out->failed = true;
    else
        kx_base64_write(kx_buffer_slice(&whole), out);
    kx_buffer_free(&whole);
}

/* *key_out is a slice of the bytes. */
static bool read_bytes(struct kx_slice bytes, struct kx_job_change *change,
                       struct kx_slice *key_out, struct input_error *error)
{
    *key_out = kx_slice(NULL, 0);
    if (bytes.size > CLAIM_SIZE)
        *key_out = kx_slice(bytes.data + CLAIM_SIZE, bytes.size - CLAIM_SIZE);
    if (key_out->size == 0 || kx_key_check(*key_out, NULL) != KX_OK)
        return input_error_set(error, PROBLEM_BAD_VALUE,
                               "The receipt was not made by this service.");
    change->claim = 0;
    for (size_t i = 0; i < CLAIM_SIZE; i++)
        change->claim = change->claim << 8 | bytes.data[i];
    return true;
}

static bool read_one(struct kx_slice value, const void *memory,
                     struct kx_job_change *change, struct kx_slice *key_out,
                     struct input_error *error)
{
    struct kx_buffer text;
    struct kx_buffer bytes;
    kx_buffer_init(&text, memory);
    kx_buffer_init(&bytes, memory);
    if (!document_text(value, &text, error))
        return false;
    if (!kx_base64_read(kx_buffer_slice(&text), &bytes))
        bytes.size = 0;
    if (bytes.failed)
        return input_error_no_memory(error);
    return read_bytes(kx_buffer_slice(&bytes), change, key_out, error);
}

bool receipt_read_all(struct kx_slice array, const struct kx_mutation *each,
                      const void *memory, struct kx_mutation **mutations_out,
                      struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice value;
    size_t count;
    if (!document_count(array, &count, error))
        return false;
    struct kx_mutation *mutations =
        talloc_zero_array(memory, struct kx_mutation, (unsigned)count);
    struct kx_job_change *changes =
        talloc_array(memory, struct kx_job_change, (unsigned)count);
    if (mutations == NULL || changes == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    for (size_t i = 0; i < count && kx_json_next(&iter, &none, &value); i++) {
        changes[i] = *each->job;
        mutations[i].type = each->type;
        mutations[i].job = &changes[i];
        if (!read_one(value, memory, &changes[i], &mutations[i].key, error))
            return input_error_in_element(error, i);
    }
    *mutations_out = mutations;
    return true;
}

size_t receipt_acks(const struct kx_commit *commit)
{
    size_t count = 0;
    while (count < commit->mutation_count &&
           commit->mutations[count].type == KX_ACK &&
           commit->mutations[count].job->queue.size == 0)
        count++;
    return count;
}
