/* Reads where a returning client continues: from a header that browsers send,
 * or a parameter. */
#include "feeds/last_event.h"

bool last_event_read(const struct request *request,
                     const struct query_params *query, enum parameter parameter,
                     struct last_event *last_out, struct input_error *error)
{
    const char *id = request_header(request, "Last-Event-ID");
    kx_buffer_init(&last_out->text, query->memory);
    last_out->given = true;
    if (id != NULL && *id != '\0')
        kx_add_text(&last_out->text, id);
    else if (!query_params_has(query, parameter))
        last_out->given = false;
    else if (!query_params_text(query, parameter, &last_out->text, error))
        return false;
    return !last_out->text.failed || input_error_no_memory(error);
}
