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

/* The form with the text in place of its %s, if it has one. */
static char *put_into(void *mem, const char *form, const char *text)
{
    const char *mark = strstr(form, "%s");
    char *out = talloc_strdup(mem, form);
    if (mark != NULL)
        out = talloc_asprintf(mem, "%.*s%s%s", (int)(mark - form), form, text,
                              mark + 2);
    return out;
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
    mutation->type = KX_PATCH;
    mutation->ttl_of = KX_TTL_NEW;
    mutation->value = test_json(put_into(data->mem, form, text));
}

/* Operations on one member. */
static void operate(struct data *data, struct model_entry *slot,
                    struct kx_mutation *mutation)
{
    const struct sample_value *value =
        &sample_values[random_below(&data->seed, PLAIN)];
    struct written *document = &slot->document;
    const char *form = "[{\"op\":\"set\",\"path\":\"/n/x\",\"value\":%s}]";
    size_t what = random_below(&data->seed, 4);
    bool array = document->t_count >= 0 ? document->t_count < ELEMENTS
                                        : document->t_other == NULL;
    if (what == 0 && document->a != NULL) {
        form = "[{\"op\":\"remove\",\"path\":\"/a\"}]";
        document->a = NULL;
    } else if (what == 1) {
        form = "[{\"op\":\"add\",\"path\":\"/b\",\"value\":null},"
               "{\"op\":\"replace\",\"path\":\"/b\",\"value\":%s}]";
        document->b = value;
    } else if (what == 2 && array) {
        form = "[{\"op\":\"append\",\"path\":\"/t\",\"value\":%s}]";
        document->t_count = document->t_count < 0 ? 0 : document->t_count;
        document->t[document->t_count++] = value;
    } else {
        document->n = true;
        document->x = value;
    }
    mutation->type = KX_JSON_PATCH;
    mutation->ttl_of = KX_TTL_NEW;
    mutation->value = test_json(put_into(data->mem, form, value->json));
}

static void touch_entry(struct data *data, struct model_entry *slot,
                        struct kx_mutation *mutation)
{
    mutation->type = KX_TOUCH;
    mutation->expires_at_ms = random_expiry(data);
    if (data->flaw != FLAW_TOUCH)
        slot->expires_at_ms = mutation->expires_at_ms;
}

/* Of a document that is there. */
static void change_entry(struct data *data, struct model_entry *slot,
                         struct kx_mutation *mutation)
{
    if (random_below(&data->seed, 2) == 0)
        patch_entry(data, slot, mutation);
    else
        operate(data, slot, mutation);
}

struct kx_mutation random_mutation(struct data *data)
{
    size_t n = random_below(&data->seed, SLOTS);
    struct model_entry *slot = &data->slots[n];
    size_t what = random_below(&data->seed, 9);
    struct kx_mutation mutation = {.type = KX_DELETE,
                                   .key = slot_key(data->mem, n)};
    bool present = alive(data, slot);
    slot->changed = true;
    if (what == 0)
        slot->present = false;
    else if (what == 1 && present)
        touch_entry(data, slot, &mutation);
    else if (what < 5 && present && slot->document.json)
        change_entry(data, slot, &mutation);
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

struct kx_mutation random_range_patch(struct data *data, bool *may_out)
{
    const struct sample_value *value =
        &sample_values[random_below(&data->seed, PLAIN)];
    struct kx_mutation mutation = {.type = KX_PATCH_RANGE,
                                   .end = test_key(data->mem, "[\"p\",1000]")};
    struct kx_mutation *each = talloc_zero(data->mem, struct kx_mutation);
    size_t from = random_below(&data->seed, SLOTS);
    mutation.key = slot_key(data->mem, from);
    mutation.limit = 1 + random_below(&data->seed, 6);
    each->type = KX_PATCH;
    each->ttl_of = KX_TTL_NEW;
    each->value = test_json(put_into(data->mem, "{\"a\":%s}", value->json));
    mutation.each = each;
    *may_out = true;
    size_t left = mutation.limit;
    for (size_t n = from; n < SLOTS && left > 0; n++) {
        struct model_entry *slot = &data->slots[n];
        if (!alive(data, slot))
            continue;
        *may_out &= slot->document.json;
        slot->document.a = value;
        slot->changed = true;
        left--;
    }
    return mutation;
}

void keep_changes(struct data *data, uint64_t stamp)
{
    for (size_t n = 0; n < SLOTS; n++) {
        if (data->slots[n].changed)
            data->slots[n].stamp = data->slots[n].document.stamp = stamp;
        data->slots[n].changed = false;
    }
}

/* ---- Checks ------------------------------------------------------------- */

/* The stamp of an entry, of which there may be none, or one near to it. */
static uint64_t *random_stamp(struct data *data)
{
    uint64_t *stamp = talloc(data->mem, uint64_t);
    *stamp = data->slots[random_below(&data->seed, SLOTS)].stamp +
             random_below(&data->seed, 2);
    return stamp;
}

/* A digest of the first entries that are there, in either direction. It holds
 * unless one of them is left out, has another stamp, or more follow than the
 * limit lets through. */
static void check_digest(struct data *data, struct kx_check *check,
                         size_t first, size_t end, bool *holds)
{
    uint8_t *digest = talloc_zero_array(data->mem, uint8_t, KX_SHA256_SIZE);
    size_t alive_count = 0;
    size_t wrong = random_below(&data->seed, 2 * SLOTS);
    bool omits = random_below(&data->seed, 2) == 0;
    check->digest = digest;
    check->reverse = random_below(&data->seed, 2) == 0;
    check->limit = random_below(&data->seed, 2) * (1 + end - first) / 2;
    for (size_t i = 0; i < end - first; i++) {
        size_t n = check->reverse ? end - 1 - i : first + i;
        const struct model_entry *slot = &data->slots[n];
        if (!alive(data, slot) ||
            (check->limit > 0 && alive_count == check->limit))
            continue;
        bool fails = alive_count++ == wrong;
        if (fails)
            *holds = false;
        if (!fails || !omits)
            kx_digest_entry(digest, slot_key(data->mem, n),
                            slot->stamp + (fails ? 1 : 0));
    }
}

/* Of all entries, or of those of one number with a suffix. */
static void check_range(struct data *data, struct kx_check *check, bool *holds)
{
    size_t number = random_below(&data->seed, NUMBERS + 1);
    bool all = number == NUMBERS;
    const char *prefix =
        all ? "[\"p\"]" : talloc_asprintf(data->mem, "[\"p\",%zu]", number);
    struct kx_buffer bounds[2];
    check->key = test_key(data->mem, prefix);
    for (int i = 0; i < 2; i++) {
        kx_buffer_init(&bounds[i], data->mem);
        kx_add_slice(&bounds[i], check->key);
        kx_add_byte(&bounds[i], i == 0 ? 0x00 : 0xff);
    }
    check->start = kx_buffer_slice(&bounds[0]);
    check->end = kx_buffer_slice(&bounds[1]);
    size_t first = all ? 0 : number * SUFFIXES + 1;
    size_t end = all ? SLOTS : (number + 1) * SUFFIXES;
    if (check->condition == KX_RANGE_IS) {
        check_digest(data, check, first, end, holds);
        return;
    }
    for (size_t n = first; n < end; n++)
        if (alive(data, &data->slots[n]) &&
            (check->condition == KX_RANGE_EMPTY ||
             data->slots[n].stamp > check->stamps[0]))
            *holds = false;
}

static bool check_value(struct data *data, struct kx_check *check,
                        const struct model_entry *slot)
{
    struct index_shape shape = {.where = -1};
    struct kx_where *where = NULL;
    while (shape.where < 0)
        shape = random_shape(&data->seed, 0);
    const char *text = condition_json(data->mem, &shape);
    assert_int_equal(kx_where_read(data->mem, kx_text(text), &where, NULL),
                     KX_OK);
    check->where = where;
    return alive(data, slot) &&
           meets_condition(data->mem, &shape, &slot->document);
}

struct kx_check random_check(struct data *data, bool *holds_out)
{
    size_t n = random_below(&data->seed, SLOTS);
    const struct model_entry *slot = &data->slots[n];
    bool present = alive(data, slot);
    struct kx_check check = {.key = slot_key(data->mem, n),
                             .condition = (enum kx_condition)random_below(
                                 &data->seed, KX_RANGE_IS + 1),
                             .stamps = random_stamp(data),
                             .stamp_count = 1};
    bool same = present && slot->stamp == check.stamps[0];
    *holds_out = true;
    switch (check.condition) {
    case KX_IS_ABSENT:
        *holds_out = !present;
        break;
    case KX_IS_PRESENT:
        *holds_out = present;
        break;
    case KX_IS_ONE_OF:
        *holds_out = same;
        break;
    case KX_IS_NONE_OF:
        *holds_out = !same;
        break;
    case KX_IS_AT_MOST:
        *holds_out = !present || slot->stamp <= check.stamps[0];
        break;
    case KX_MEETS:
        *holds_out = check_value(data, &check, slot);
        break;
    case KX_RANGE_EMPTY:
    case KX_RANGE_AT_MOST:
    case KX_RANGE_IS:
        check_range(data, &check, holds_out);
    }
    return check;
}
