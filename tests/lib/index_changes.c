#include "index_changes.h"

bool alive(const struct data *data, const struct model_entry *slot)
{
    return slot->present &&
           (slot->expires_at_ms == 0 || slot->expires_at_ms > data->now);
}

int64_t random_expiry(struct data *data)
{
    return random_below(&data->seed, 5) > 0
               ? 0
               : data->now + 1 + (int64_t)random_below(&data->seed, LIFE_MAX);
}

/* A random document, perhaps for a while. */
static void set_entry(struct data *data, struct model_entry *slot,
                      struct kx_mutation *mutation)
{
    slot->present = true;
    slot->document = random_document(&data->seed);
    slot->expires_at_ms = random_expiry(data);
    mutation->type = KX_SET;
    mutation->expires_at_ms = slot->expires_at_ms;
    mutation->value = test_json(document_json(data->mem, &slot->document));
    if (slot->document.json)
        return;
    mutation->value.encoding = KX_BYTES;
    mutation->value.media_type = kx_text("text/plain");
}

/* Of one member: a plain value, a new object, a new array, or null, which
 * removes it. Objects that are there would be merged. */
static void patch_entry(struct data *data, struct model_entry *slot,
                        struct kx_mutation *mutation)
{
    const struct sample_value *value =
        &sample_values[random_below(&data->seed, PLAIN)];
    bool removes = random_below(&data->seed, 4) == 0;
    struct written *document = &slot->document;
    const char *text = removes ? "null" : value->json;
    const char *form = "{\"a\":%s}";
    switch (random_below(&data->seed, 3)) {
    case 0:
        document->a = removes ? NULL : value;
        break;
    case 1:
        form = removes ? "{\"n\":%s}" : "{\"n\":{\"x\":%s}}";
        document->n = !removes;
        document->x = removes ? NULL : value;
        break;
    default:
        form = removes ? "{\"t\":%s}" : "{\"t\":[%s]}";
        document->t_count = removes ? -1 : 1;
        document->t_other = NULL;
        document->t[0] = value;
    }
    char *out = talloc_strndup(data->mem, form, strstr(form, "%s") - form);
    out = talloc_asprintf_append(out, "%s%s", text, strstr(form, "%s") + 2);
    mutation->type = KX_PATCH;
    mutation->ttl_of = KX_TTL_NEW;
    mutation->value = test_json(out);
}

struct kx_mutation random_mutation(struct data *data)
{
    size_t n = random_below(&data->seed, SLOTS);
    struct model_entry *slot = &data->slots[n];
    size_t what = random_below(&data->seed, 8);
    struct kx_mutation mutation = {.type = KX_DELETE,
                                   .key = slot_key(data->mem, n)};
    if (what == 0)
        slot->present = false;
    else if (what < 4 && alive(data, slot) && slot->document.json)
        patch_entry(data, slot, &mutation);
    else
        set_entry(data, slot, &mutation);
    return mutation;
}

struct kx_mutation random_range(struct data *data)
{
    size_t limit = 1 + random_below(&data->seed, 3);
    size_t from = random_below(&data->seed, SLOTS);
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = slot_key(data->mem, from),
                                   .end = test_key(data->mem, "[\"p\",1000]"),
                                   .limit = limit};
    for (size_t slot = from; slot < SLOTS && limit > 0; slot++) {
        limit -= alive(data, &data->slots[slot]);
        if (alive(data, &data->slots[slot]))
            data->slots[slot].present = false;
    }
    return mutation;
}
