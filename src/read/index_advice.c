/* Finds the declaration of an index that would answer a query. */
#include "read/index_advice.h"

#include <ctype.h>
#include <stdio.h>
#include <talloc.h>

#include "read/index_match.h"

enum { NAME_SHOWN = 100 };

static bool has_field(const struct declaration *declaration,
                      const struct field *field)
{
    for (size_t i = 0; i < declaration->field_count; i++)
        if (query_same_field(&declaration->fields[i], field))
            return true;
    return false;
}

/* A field beyond KX_FIELDS_MAX and a second one with `each` are left out. The
 * match then shows that it is missing. */
static void add_field(struct declaration *declaration, struct field field)
{
    if (has_field(declaration, &field) ||
        declaration->field_count == KX_FIELDS_MAX ||
        (field.each && declaration->has_each))
        return;
    declaration->has_each |= field.each;
    declaration->fields[declaration->field_count++] = field;
}

static bool is_equal(const struct condition *condition)
{
    return condition->comparison == WHERE_EQ &&
           index_match_needs_value(condition);
}

/* One range can follow the equal fields if no order comes between them. */
static void add_range(struct declaration *declaration,
                      const struct declaration *asked)
{
    size_t before = declaration->field_count;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        struct field field = query_subject(condition);
        if (condition->comparison >= WHERE_GT &&
            declaration->field_count == before)
            add_field(declaration, field);
    }
}

static bool all_descending(const struct declaration *asked)
{
    size_t n = 0;
    while (n < asked->field_count && asked->fields[n].descending)
        n++;
    return n == asked->field_count;
}

/* Where all of an order is descending, the index is not, and is read in
 * reverse: among ascending fields every bound of a string has a place. */
static void add_order(struct declaration *declaration,
                      const struct declaration *asked)
{
    bool turned = all_descending(asked);
    for (size_t i = 0; i < asked->field_count; i++) {
        struct field field = asked->fields[i];
        field.descending ^= turned;
        add_field(declaration, field);
    }
}

static void add_fields(struct declaration *declaration,
                       const struct declaration *asked)
{
    for (size_t i = 0; i < asked->where_count; i++)
        if (is_equal(&asked->where[i]))
            add_field(declaration, query_subject(&asked->where[i]));
    size_t before = declaration->field_count;
    add_order(declaration, asked);
    if (declaration->field_count == before)
        add_range(declaration, asked);
    if (declaration->field_count == 0)
        add_field(declaration, (struct field){.key_part = 1});
}

/* The conditions that the fields leave: `left` by number. */
static void add_where(struct declaration *declaration,
                      const struct declaration *asked, uint32_t left)
{
    for (size_t i = 0; i < asked->where_count; i++)
        if ((left >> i & 1) != 0 && index_match_is_plain(&asked->where[i]))
            declaration->where[declaration->where_count++] = asked->where[i];
}

static enum kx_status complete(struct declaration *declaration,
                               const struct kx_query *query)
{
    struct kx_index_match match;
    const struct declaration *asked = query->asked;
    declaration->prefix = asked->prefix;
    declaration->depth = asked->depth;
    add_fields(declaration, asked);
    enum kx_status status =
        index_match_make(declaration, declaration, query, &match);
    if (status != KX_OK)
        return status;
    add_where(declaration, asked, match.left);
    status = index_match_make(declaration, declaration, query, &match);
    return status == KX_OK && match.mismatches != 0 ? KX_ABSENT : status;
}

enum kx_status index_advice_make(void *mem, const struct kx_query *query,
                                 struct declaration **declaration_out)
{
    const struct declaration *asked = query->asked;
    if (asked->where_count == 0 && asked->field_count == 0)
        return KX_ABSENT;
    struct declaration *declaration = talloc_zero(mem, struct declaration);
    if (declaration == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = complete(declaration, query);
    if (status == KX_OK)
        *declaration_out = declaration;
    else
        talloc_free(declaration);
    return status;
}

/* ---- Its count ---------------------------------------------------------- */

/* Neither the order of groups nor their number matters. */
static const unsigned COUNTS = 1u << KX_MISMATCH_TOTALS |
                               1u << KX_MISMATCH_ORDER |
                               1u << KX_MISMATCH_UNUSED;

static enum kx_status complete_count(struct declaration *declaration,
                                     const struct kx_query *query)
{
    struct kx_index_match match;
    const struct declaration *asked = query->asked;
    declaration->prefix = asked->prefix;
    declaration->depth = asked->depth;
    declaration->store = STORE_AGGREGATE;
    for (size_t i = 0; i < asked->where_count; i++) {
        if (is_equal(&asked->where[i]))
            add_field(declaration, query_subject(&asked->where[i]));
        else
            add_where(declaration, asked, 1u << i);
    }
    enum kx_status status =
        index_match_make(declaration, declaration, query, &match);
    return status == KX_OK && (match.mismatches & ~COUNTS) != 0 ? KX_ABSENT
                                                                : status;
}

enum kx_status index_advice_count(void *mem, const struct kx_query *query,
                                  struct declaration **declaration_out)
{
    if (query->asked->field_count > 0 || query->asked->prefix.size == 0)
        return KX_ABSENT;
    struct declaration *declaration = talloc_zero(mem, struct declaration);
    if (declaration == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = complete_count(declaration, query);
    if (status == KX_OK)
        *declaration_out = declaration;
    else
        talloc_free(declaration);
    return status;
}

/* ---- Its name ----------------------------------------------------------- */

static bool is_of_names(uint8_t c)
{
    return isalnum(c) || c == '_';
}

/* Other characters than those of names become '_'. */
static void add_word(struct kx_slice word, struct kx_buffer *out)
{
    for (size_t i = 0; i < word.size && out->size < NAME_SHOWN; i++)
        kx_add_byte(out, is_of_names(word.data[i]) ? word.data[i] : '_');
}

/* The last string part of the prefix. A name begins with a letter. */
static void add_prefix(struct kx_slice prefix, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, prefix);
    while (kx_key_next(&reader, &part) == KX_OK) {
        if (part.type != KX_STRING || part.bytes.size == 0)
            continue;
        out->size = 0;
        if (part.bytes.data[0] >= '0' && part.bytes.data[0] <= '9')
            kx_add_byte(out, '_');
        add_word(part.bytes, out);
    }
    if (out->size == 0)
        kx_add_text(out, "entries");
}

static void add_field_name(const struct field *field, struct kx_buffer *out)
{
    char text[32];
    struct kx_slice last = field->path;
    for (size_t i = 0; i < field->path.size; i++)
        if (field->path.data[i] == '/')
            last = kx_slice(field->path.data + i + 1, field->path.size - i - 1);
    if (field->key_part != 0) {
        snprintf(text, sizeof text, "key%zu", field->key_part);
        last = kx_text(text);
    }
    if (field->versionstamp)
        last = kx_text("versionstamp");
    add_word(last.size != 0 ? last : kx_text("value"), out);
}

void index_advice_name(const struct declaration *declaration, unsigned n,
                       struct kx_buffer *out)
{
    char number[16];
    out->size = 0;
    add_prefix(declaration->prefix, out);
    for (size_t i = 0; i < declaration->field_count; i++) {
        add_word(kx_text(i == 0 ? "_by_" : "_"), out);
        add_field_name(&declaration->fields[i], out);
    }
    if (n > 1) {
        snprintf(number, sizeof number, "_%u", n);
        kx_add_text(out, number);
    }
}
