/* The check of one string, number or literal. A scan function gets the place
 * where its piece starts and returns the place after it, or NULL after noting
 * what was wrong. */
#ifndef JSON_TOKEN_H
#define JSON_TOKEN_H

#include "json/json_scan.h"
#include "kindex.h"

struct json_check {
    struct json_text text;
    bool escaped; /* set by a string that has an escape */
    enum kx_status status;
    const uint8_t *wrong; /* the first wrong byte */
    const char *sentence; /* what was wrong there */
};

/* Notes a KX_BAD_JSON. Always NULL. */
const uint8_t *json_wrong(struct json_check *check, const uint8_t *wrong,
                          const char *sentence);

/* A value that is no string, object or array. Behind it, at the end of the
 * text at the latest, there is a byte that can be read and is part of no
 * number: a bracket or NUL. */
const uint8_t *json_check_plain(struct json_check *check, const uint8_t *at);

/* The rest of a string from a byte that json_is_stop, NULL when the text ends
 * before there is one. */
const uint8_t *json_check_special(struct json_check *check, const uint8_t *at);

/* A string, from its opening quote. */
static inline const uint8_t *json_check_string(struct json_check *check,
                                               const uint8_t *at)
{
    at = json_skip_plain(at + 1, check->text);
    if (at != NULL && *at == '"')
        return at + 1;
    return json_check_special(check, at);
}

#endif
