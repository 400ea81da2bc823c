/* Explanations inside a view: the indexes there are, one by one, and the one
 * that there could be. */
#include <talloc.h>

#include "advise.h"
#include "fit.h"
#include "reader_state.h"
#include "reading.h"

static const struct {
    const char *code;
    const char *text;
} misfits[KX_MISFIT_COUNT] = {
    [KX_MISFIT_NOT_READY] = {"not-ready", "It is not ready: see its state."},
    [KX_MISFIT_OTHER_PREFIX] = {"other-prefix",
                                "It covers entries under another prefix."},
    [KX_MISFIT_COVERS_MORE] = {"covers-more",
                               "Its prefix is shorter: it covers other entries "
                               "as well."},
    [KX_MISFIT_COVERS_LESS] = {"covers-less",
                               "Its prefix is longer: it covers only some of "
                               "the entries."},
    [KX_MISFIT_OTHER_DEPTH] = {"other-depth",
                               "It covers keys of another number of parts."},
    [KX_MISFIT_PARTIAL] = {"partial",
                           "By its `where` it leaves out entries that are "
                           "asked for."},
    [KX_MISFIT_LEAVES_OUT] = {"leaves-out",
                              "It leaves out entries without a value for one "
                              "of its fields, which are asked for."},
    [KX_MISFIT_REPEATS] = {"repeats",
                           "By a field with `each` it has an entry several "
                           "times, once for each element."},
    [KX_MISFIT_FOLDS] = {"folds",
                         "A field is folded in another way than the condition "
                         "on it says."},
    [KX_MISFIT_UNUSED] = {"first-field-unused",
                          "No condition and no order is about its first "
                          "field."},
    [KX_MISFIT_CONDITIONS] = {"conditions-left",
                              "Its order does not answer the conditions in "
                              "`left`."},
    [KX_MISFIT_ORDER] = {"other-order", "Its entries have another order."},
};

const char *kx_misfit_code(enum kx_misfit misfit)
{
    return misfits[misfit].code;
}

const char *kx_misfit_text(enum kx_misfit misfit)
{
    return misfits[misfit].text;
}

enum kx_status kx_fit_at(struct kx_reader *reader, struct kx_question *question,
                         size_t n, struct kx_fit *fit_out)
{
    const struct index *index = catalog_at(reader->store->catalog, n);
    if (index == NULL)
        return KX_END;
    enum kx_status status =
        fit_make(question, index->declaration, question, fit_out);
    fit_out->index = index->declaration->name;
    if (!index_readable(index))
        fit_out->misfits |= 1u << KX_MISFIT_NOT_READY;
    return status;
}

enum kx_status kx_fit_entries(struct kx_question *question,
                              struct kx_fit *fit_out)
{
    return fit_entries(question, question, fit_out);
}

/* The first name that no index has. */
static bool choose_name(const struct catalog *catalog,
                        struct declaration *declaration)
{
    struct kx_buffer name;
    kx_buffer_init(&name, declaration);
    for (unsigned n = 1; n <= KX_INDEXES_MAX + 1; n++) {
        advise_name(declaration, n, &name);
        if (name.failed ||
            catalog_find(catalog, kx_buffer_slice(&name)) == NULL)
            break;
    }
    declaration->name = kx_buffer_slice(&name);
    return !name.failed;
}

enum kx_status kx_advise(struct kx_reader *reader,
                         const struct kx_question *question,
                         struct kx_buffer *out)
{
    struct declaration *declaration = NULL;
    void *mem = talloc_new(NULL);
    enum kx_status status =
        mem == NULL ? KX_NO_MEMORY : advise_make(mem, question, &declaration);
    if (status == KX_OK && !choose_name(reader->store->catalog, declaration))
        status = KX_NO_MEMORY;
    if (status == KX_OK)
        status = declaration_write(declaration);
    if (status == KX_OK)
        kx_add_slice(out, declaration->text);
    talloc_free(mem);
    return status;
}
