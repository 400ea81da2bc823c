/* Checks of one string, number or literal. Each function takes the position
 * where its token starts. It returns the position after the token, or NULL
 * after noting the error. */
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

/* Checks a number or literal. It must be followed, at the end of the text at
 * the latest, by a readable byte that is not part of a number: a bracket or
 * NUL. */
const uint8_t *json_check_plain(struct json_check *check, const uint8_t *at);

/* Checks the remainder of a string from `at`, a byte for which json_is_stop is
 * true, or NULL if the text ended before one. */
const uint8_t *json_check_special(struct json_check *check, const uint8_t *at);

/* Checks a string from its opening quote. */
static inline const uint8_t *json_check_string(struct json_check *check,
                                               const uint8_t *at)
{
    at = json_skip_plain(at + 1, check->text);
    if (at != NULL && *at == '"')
        return at + 1;
    return json_check_special(check, at);
}

#endif
