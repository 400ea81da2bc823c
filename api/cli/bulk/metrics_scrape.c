/* Samples stay in the order of their lines. There are a few hundred, so linear
 * search is fast enough. */
#include "cli/bulk/metrics_scrape.h"

#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

enum { NAME_MAX_BYTES = 128, BOUNDS_MAX = 64 };

static struct kx_slice take_line(struct kx_slice *rest)
{
    const uint8_t *end = memchr(rest->data, '\n', rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    struct kx_slice line = kx_slice(rest->data, size);
    size += end != NULL;
    *rest = kx_slice(rest->data + size, rest->size - size);
    return line;
}

/* The value follows the last space. */
static bool read_sample(struct kx_slice line, struct metrics_sample *sample)
{
    const uint8_t *space = memrchr(line.data, ' ', line.size);
    char number[64];
    if (space == NULL)
        return false;
    size_t size = (size_t)(space - line.data);
    if (line.size - size - 1 >= sizeof number)
        return false;
    memcpy(number, space + 1, line.size - size - 1);
    number[line.size - size - 1] = '\0';
    const uint8_t *brace = memchr(line.data, '{', size);
    sample->name =
        kx_slice(line.data, brace != NULL ? (size_t)(brace - line.data) : size);
    sample->labels = kx_slice(line.data + size, 0);
    if (brace != NULL)
        sample->labels = kx_slice(brace + 1, (size_t)(space - brace) - 2);
    char *end;
    sample->value = strtod(number, &end);
    return end != number && *end == '\0';
}

bool metrics_scrape_parse(void *memory, struct kx_slice text,
                          struct metrics_scrape *scrape_out)
{
    size_t room = 0;
    *scrape_out = (struct metrics_scrape){.count = 0};
    while (text.size > 0) {
        struct kx_slice line = take_line(&text);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (scrape_out->count == room) {
            room = room * 2 + 256;
            struct metrics_sample *more =
                talloc_realloc(memory, scrape_out->samples,
                               struct metrics_sample, (unsigned)room);
            if (more == NULL)
                return false;
            scrape_out->samples = more;
        }
        if (!read_sample(line, &scrape_out->samples[scrape_out->count++]))
            return false;
    }
    return true;
}

static bool ends_with(struct kx_slice name, const char *end)
{
    size_t size = strlen(end);
    return name.size > size &&
           memcmp(name.data + name.size - size, end, size) == 0;
}

static bool grows(struct kx_slice name)
{
    return ends_with(name, "_total") || ends_with(name, "_bucket") ||
           ends_with(name, "_sum") || ends_with(name, "_count");
}

static const struct metrics_sample *
find_same(const struct metrics_scrape *scrape,
          const struct metrics_sample *sample)
{
    for (size_t i = 0; i < scrape->count; i++)
        if (kx_equal(scrape->samples[i].name, sample->name) &&
            kx_equal(scrape->samples[i].labels, sample->labels))
            return &scrape->samples[i];
    return NULL;
}

void metrics_scrape_subtract(struct metrics_scrape *now,
                             const struct metrics_scrape *before)
{
    for (size_t i = 0; i < now->count; i++) {
        struct metrics_sample *sample = &now->samples[i];
        const struct metrics_sample *same =
            grows(sample->name) ? find_same(before, sample) : NULL;
        if (same != NULL && same->value <= sample->value)
            sample->value -= same->value;
    }
}

bool metrics_scrape_is(const struct metrics_sample *sample, const char *name)
{
    return kx_equal(sample->name, kx_text(name));
}

double metrics_scrape_sum(const struct metrics_scrape *scrape, const char *name,
                          const char *labels)
{
    double sum = 0;
    for (size_t i = 0; i < scrape->count; i++)
        if (metrics_scrape_is(&scrape->samples[i], name) &&
            kx_starts_with(scrape->samples[i].labels, kx_text(labels)))
            sum += scrape->samples[i].value;
    return sum;
}

struct kx_slice metrics_scrape_label(const struct metrics_sample *sample,
                                     const char *label)
{
    char wanted[NAME_MAX_BYTES];
    int size = snprintf(wanted, sizeof wanted, "%s=\"", label);
    const uint8_t *at =
        memmem(sample->labels.data, sample->labels.size, wanted, (size_t)size);
    if (at == NULL)
        return kx_slice(NULL, 0);
    at += size;
    size_t left = sample->labels.size - (size_t)(at - sample->labels.data);
    const uint8_t *end = memchr(at, '"', left);
    return kx_slice(at, end != NULL ? (size_t)(end - at) : left);
}

/* ---- Histograms --------------------------------------------------------- */

struct bounds {
    double at[BOUNDS_MAX];
    double counts[BOUNDS_MAX]; /* cumulative, as they are written */
    size_t count;
};

static void add_bucket(struct bounds *bounds,
                       const struct metrics_sample *sample)
{
    struct kx_slice le = metrics_scrape_label(sample, "le");
    double at = le.size > 0 ? strtod((const char *)le.data, NULL) : 0;
    size_t i = 0;
    while (i < bounds->count && bounds->at[i] != at)
        i++;
    if (i == BOUNDS_MAX || le.size == 0)
        return;
    if (i == bounds->count) {
        bounds->at[bounds->count++] = at;
        bounds->counts[i] = 0;
    }
    bounds->counts[i] += sample->value;
}

static double between(const struct bounds *bounds, size_t i, double rank)
{
    double low = i > 0 ? bounds->at[i - 1] : 0;
    double under = i > 0 ? bounds->counts[i - 1] : 0;
    double inside = bounds->counts[i] - under;
    if (i + 1 == bounds->count || inside <= 0)
        return low;
    return low + (bounds->at[i] - low) * (rank - under) / inside;
}

double metrics_scrape_quantile(const struct metrics_scrape *scrape,
                               const char *name, const char *labels,
                               double share)
{
    struct bounds bounds = {.count = 0};
    char bucket[NAME_MAX_BYTES];
    snprintf(bucket, sizeof bucket, "%s_bucket", name);
    for (size_t i = 0; i < scrape->count; i++)
        if (metrics_scrape_is(&scrape->samples[i], bucket) &&
            kx_starts_with(scrape->samples[i].labels, kx_text(labels)))
            add_bucket(&bounds, &scrape->samples[i]);
    if (bounds.count == 0 || bounds.counts[bounds.count - 1] <= 0)
        return 0;
    double rank = share * bounds.counts[bounds.count - 1];
    size_t i = 0;
    while (i + 1 < bounds.count && bounds.counts[i] < rank)
        i++;
    return between(&bounds, i, rank);
}
