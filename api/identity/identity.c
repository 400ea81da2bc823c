/* The lines of --grants, and the counters of their subjects. The lines never
 * change: a file that is read again makes new ones. */
#include "identity/identity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "config/text_file.h"

enum {
    WAYS = 8, /* subjects with the same place in the table */
    PLACES = SUBJECTS_MAX / WAYS,
    WHY_SIZE = 256
};

struct grant_line {
    bool of_certificates;
    struct kx_slice when; /* object; empty: every token */
    unsigned scopes;
    struct kx_slice prefix; /* array with placeholders */
};

struct grant_lines {
    atomic_uint users;
    size_t count;
    struct grant_line all[GRANT_LINES_MAX];
};

/* A subject and the requests of its current minute (access.c). A place is taken
 * over by another subject, but never freed: a token points to its counter. */
struct subject {
    uint64_t id; /* 0: free */
    atomic_uint_fast64_t uses;
};

/* A JSON Web Token that was verified with these generations of keys and lines.
 */
struct verified {
    uint8_t digest[KX_SHA256_SIZE]; /* of its text */
    struct kx_token *token;         /* NULL: the place is free */
    int64_t begins_at_ms;
    uint64_t keys;    /* generation of the issuer's keys */
    uint64_t lines;   /* generation of the lines */
    uint64_t used_at; /* identities->uses at the last use */
};

struct identities {
    const struct options *options;
    pthread_mutex_t lock; /* guards the members below; of subjects only `id` */
    struct grant_lines *lines;
    uint64_t generation; /* of the lines */
    uint64_t uses;       /* of verified tokens so far, for used_at */
    struct verified verified[VERIFIED_MAX / WAYS][WAYS];
    struct subject subjects[PLACES][WAYS];
};

/* ---- Placeholders ---------------------------------------------------------
 */

/* The name in a string "{name}"; false for other strings. */
static bool is_placeholder(struct kx_slice string, struct kx_slice *name_out)
{
    size_t last = string.size - 1;
    if (string.size < 3 || string.data[0] != '{' || string.data[last] != '}')
        return false;
    *name_out = kx_slice(string.data + 1, string.size - 2);
    return memchr(name_out->data, '{', name_out->size) == NULL &&
           memchr(name_out->data, '}', name_out->size) == NULL;
}

/* Finds a claim by its name, which is no JSON pointer: it may be a URL. */
static bool find_claim(struct kx_slice claims, struct kx_slice wanted,
                       struct kx_slice *value_out)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    kx_json_iterate(claims, &iter);
    while (kx_json_next(&iter, &name, value_out))
        if (kx_json_equal(name, wanted))
            return true;
    return false;
}

/* True for a number without fraction and exponent, except -0, which would be
 * another key than 0. */
static bool is_integer(struct kx_slice token)
{
    for (size_t i = 0; i < token.size; i++)
        if (memchr("-0123456789", token.data[i], 11) == NULL)
            return false;
    return !kx_equal(token, kx_text("-0"));
}

/* Appends the part of a key that a JSON value is. False: also for an integer
 * that no double equals. A lack of memory sets key->failed, here and below. */
static bool add_plain(void *memory, struct kx_slice value,
                      struct kx_buffer *key)
{
    struct kx_fault fault = {.status = KX_OK};
    struct kx_buffer array;
    kx_buffer_init(&array, memory);
    kx_add_byte(&array, '[');
    kx_add_slice(&array, value);
    kx_add_byte(&array, ']');
    key->failed |= array.failed;
    return !array.failed &&
           kx_key_from_json(kx_buffer_slice(&array), key, &fault) == KX_OK;
}

/* Appends the part of the key for a claim, with the claim's type. False: the
 * claim gives no part. */
static bool add_claim(void *memory, struct kx_slice value,
                      struct kx_buffer *key)
{
    struct kx_buffer text;
    if (kx_json_type(value) == KX_JSON_NUMBER)
        return is_integer(value) && add_plain(memory, value, key);
    if (kx_json_type(value) != KX_JSON_STRING)
        return false;
    kx_buffer_init(&text, memory);
    kx_json_unescape(value, &text);
    key->failed |= text.failed;
    return text.size > 0 && !text.failed &&
           kx_key_add_string(key, kx_buffer_slice(&text)) == KX_OK;
}

/* Finds the name of a placeholder, as JSON. False for other values. */
static bool name_of_placeholder(void *memory, struct kx_slice value,
                                struct kx_slice *quoted_out, bool *failed)
{
    struct kx_buffer text, quoted;
    struct kx_slice name = kx_slice(NULL, 0);
    kx_buffer_init(&text, memory);
    kx_buffer_init(&quoted, memory);
    if (kx_json_type(value) != KX_JSON_STRING)
        return false;
    kx_json_unescape(value, &text);
    bool found = is_placeholder(kx_buffer_slice(&text), &name);
    kx_json_escape(name, &quoted);
    *quoted_out = kx_buffer_slice(&quoted);
    *failed |= text.failed || quoted.failed;
    return found && !*failed;
}

/* Makes the prefix of a line for these claims. False: the line grants nothing,
 * or key->failed is set, which stays so for further lines. */
static bool fill_prefix(void *memory, struct kx_slice prefix,
                        struct kx_slice claims, struct kx_buffer *key)
{
    struct kx_json_iter iter;
    struct kx_slice name, value, quoted, claim;
    *key = (struct kx_buffer){.owner = memory, .failed = key->failed};
    kx_json_iterate(prefix, &iter);
    while (kx_json_next(&iter, &name, &value))
        if (name_of_placeholder(memory, value, &quoted, &key->failed)
                ? !find_claim(claims, quoted, &claim) ||
                      !add_claim(memory, claim, key)
                : !add_plain(memory, value, key))
            return false;
    return !key->failed && key->size <= KX_KEY_MAX;
}

/* ---- Reading the file -----------------------------------------------------
 */

static bool is_scalar(struct kx_slice value)
{
    enum kx_json_type type = kx_json_type(value);
    return type == KX_JSON_STRING || type == KX_JSON_NUMBER ||
           type == KX_JSON_TRUE || type == KX_JSON_FALSE;
}

/* False: `when` is no object of strings, numbers and booleans. */
static bool check_when(struct kx_slice when)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    size_t count = 0;
    if (kx_json_type(when) != KX_JSON_OBJECT || !kx_json_iterate(when, &iter))
        return false;
    while (kx_json_next(&iter, &name, &value)) {
        if (!is_scalar(value))
            return false;
        count++;
    }
    return count > 0;
}

static bool read_scopes(void *memory, struct kx_slice array, unsigned *out)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    *out = 0;
    if (kx_json_type(array) != KX_JSON_ARRAY || !kx_json_iterate(array, &iter))
        return false;
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_buffer text;
        if (kx_json_type(value) != KX_JSON_STRING)
            return false;
        kx_buffer_init(&text, memory);
        kx_json_unescape(value, &text);
        unsigned scope = kx_scope_find(kx_buffer_slice(&text));
        if (scope == 0)
            return false;
        *out |= scope;
    }
    return *out != 0;
}

/* A brace that does not belong to a placeholder is a mistake: "u{sub}" would
 * grant keys that no claim names. */
static bool check_part(void *memory, struct kx_slice value,
                       struct kx_buffer *key)
{
    struct kx_slice quoted;
    if (name_of_placeholder(memory, value, &quoted, &key->failed))
        return true;
    if (kx_json_type(value) == KX_JSON_STRING &&
        (memchr(value.data, '{', value.size) != NULL ||
         memchr(value.data, '}', value.size) != NULL))
        return false;
    return add_plain(memory, value, key);
}

static bool check_prefix(void *memory, struct kx_slice prefix)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    struct kx_buffer key;
    kx_buffer_init(&key, memory);
    if (kx_json_type(prefix) != KX_JSON_ARRAY ||
        !kx_json_iterate(prefix, &iter))
        return false;
    while (kx_json_next(&iter, &name, &value))
        if (!check_part(memory, value, &key))
            return false;
    return !key.failed && key.size <= KX_KEY_MAX;
}

static bool is_known(struct kx_slice name)
{
    static const char *const NAMES[] = {"\"when\"", "\"certificate\"",
                                        "\"scopes\"", "\"prefix\""};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (kx_json_equal(name, kx_text(NAMES[i])))
            return true;
    return false;
}

static bool has_only_known(struct kx_slice object)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    kx_json_iterate(object, &iter);
    while (kx_json_next(&iter, &name, &value))
        if (!is_known(name))
            return false;
    return true;
}

/* A line is for JSON Web Tokens or for certificates. `certificate` must be
 * there, so that no certificate gets what is meant for users. */
static bool read_when(struct kx_slice object, struct grant_line *line)
{
    struct kx_slice names;
    line->of_certificates =
        kx_json_find(object, kx_text("/certificate"), &names);
    if (!kx_json_find(object, kx_text("/when"), &line->when))
        line->when = line->of_certificates ? names : kx_slice(NULL, 0);
    else if (line->of_certificates)
        return false;
    return line->when.size == 0 || check_when(line->when);
}

/* `admin` needs a separate line, with `when`, so that it is never granted
 * together with something else. */
static bool checks_admin(const struct grant_line *line)
{
    return (line->scopes & KX_MAY_ADMIN) == 0 ||
           (line->scopes == KX_MAY_ADMIN && line->when.size > 0);
}

/* Returns what is wrong with a line, or NULL. */
static const char *read_line(void *memory, struct kx_slice object,
                             struct grant_line *line)
{
    struct kx_slice scopes;
    if (kx_json_type(object) != KX_JSON_OBJECT || !has_only_known(object))
        return "it has `scopes`, `prefix`, and `when` or `certificate`";
    if (!read_when(object, line))
        return "`when` or `certificate` has names with a string, a number or "
               "a boolean";
    if (!kx_json_find(object, kx_text("/scopes"), &scopes) ||
        !read_scopes(memory, scopes, &line->scopes))
        return "`scopes` is an array of names of scopes";
    if (!kx_json_find(object, kx_text("/prefix"), &line->prefix) ||
        !check_prefix(memory, line->prefix))
        return "`prefix` is an array of parts of a key; a placeholder such as "
               "{sub} is a whole part";
    return checks_admin(line)
               ? NULL
               : "`admin` needs a line without other scopes, and `when` or "
                 "`certificate`";
}

static bool read_array(struct grant_lines *lines, struct kx_slice array,
                       char *why)
{
    struct kx_json_iter iter;
    struct kx_slice name, object;
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, &object)) {
        const char *wrong = "there are too many lines";
        if (lines->count < GRANT_LINES_MAX)
            wrong = read_line(lines, object, &lines->all[lines->count]);
        lines->count++;
        if (wrong != NULL) {
            snprintf(why, WHY_SIZE, "line %zu: %s", lines->count, wrong);
            return false;
        }
    }
    snprintf(why, WHY_SIZE, "the file has no lines");
    return lines->count > 0;
}

/* A line for callers that the server never accepts is a mistake. */
static const char *useless_line(const struct grant_lines *lines,
                                const struct options *options)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->all[i].of_certificates ? options->tls_client_ca == NULL
                                          : options->jwt_keys == NULL)
            return lines->all[i].of_certificates
                       ? "lines with `certificate` need --tls-client-ca"
                       : "lines without `certificate` need --jwt-keys";
    return NULL;
}

static bool read_text(struct grant_lines *lines, struct kx_slice text,
                      char *why)
{
    struct kx_fault fault = {.status = KX_OK};
    if (kx_json_check(text, &fault) == KX_OK &&
        kx_json_type(text) == KX_JSON_ARRAY)
        return read_array(lines, text, why);
    snprintf(why, WHY_SIZE, "the file is not a JSON array: %.200s",
             fault.detail[0] != '\0' ? fault.detail : "another value");
    return false;
}

/* The lines point into the text, which they own. */
static struct grant_lines *read_lines(const struct options *options, char *why)
{
    struct grant_lines *lines = talloc_zero(NULL, struct grant_lines);
    struct kx_buffer text;
    snprintf(why, WHY_SIZE, "memory ran out");
    if (lines == NULL)
        return NULL;
    lines->users = 1;
    kx_buffer_init(&text, lines);
    const char *wrong = NULL;
    if (text_file_read(options->grants, GRANTS_FILE_MAX, &text, why,
                       WHY_SIZE) &&
        read_text(lines, kx_buffer_slice(&text), why)) {
        wrong = useless_line(lines, options);
        if (wrong == NULL)
            return lines;
        snprintf(why, WHY_SIZE, "%s", wrong);
    }
    talloc_free(lines);
    return NULL;
}

static void drop_lines(struct grant_lines *lines)
{
    if (lines != NULL && atomic_fetch_sub(&lines->users, 1) == 1)
        talloc_free(lines);
}

struct identities *identities_open(const struct options *options, char *why_out,
                                   size_t size)
{
    char why[WHY_SIZE];
    struct grant_lines *lines = read_lines(options, why);
    snprintf(why_out, size, "%s", why);
    if (lines == NULL)
        return NULL;
    struct identities *identities = talloc_zero(NULL, struct identities);
    if (identities == NULL ||
        pthread_mutex_init(&identities->lock, NULL) != 0) {
        snprintf(why_out, size, "memory ran out");
        drop_lines(lines);
        talloc_free(identities);
        return NULL;
    }
    identities->options = options;
    identities->lines = lines;
    return identities;
}

void identities_reload(struct identities *identities)
{
    char why[WHY_SIZE];
    struct grant_lines *lines = read_lines(identities->options, why);
    if (lines == NULL) {
        kx_log(KX_LOG_ERROR, "grants-failed",
               "file=%s why=\"%s\" kept=\"the previous lines\"",
               identities->options->grants, why);
        return;
    }
    kx_log(KX_LOG_INFO, "grants-reloaded", "lines=%zu", lines->count);
    pthread_mutex_lock(&identities->lock);
    struct grant_lines *previous = identities->lines;
    identities->lines = lines;
    identities->generation++;
    pthread_mutex_unlock(&identities->lock);
    drop_lines(previous);
}

void identities_close(struct identities *identities)
{
    if (identities == NULL)
        return;
    for (size_t i = 0; i < VERIFIED_MAX; i++)
        kx_token_release(identities->verified[i / WAYS][i % WAYS].token);
    drop_lines(identities->lines);
    pthread_mutex_destroy(&identities->lock);
    talloc_free(identities);
}

/* ---- Subjects --------------------------------------------------------------
 */

/* The counter of a subject. If its place in the table is full, the subject is
 * forgotten whose last request was in the earliest minute, or which sent the
 * fewest requests: its count begins again. */
static atomic_uint_fast64_t *counter_of(struct identities *identities,
                                        uint64_t id)
{
    struct subject *ways = identities->subjects[id % PLACES];
    struct subject *found = &ways[0];
    pthread_mutex_lock(&identities->lock);
    for (size_t i = 0; i < WAYS; i++) {
        if (ways[i].id == id) {
            found = &ways[i];
            break;
        }
        if (atomic_load(&ways[i].uses) < atomic_load(&found->uses))
            found = &ways[i];
    }
    if (found->id != id)
        atomic_store(&found->uses, 0);
    found->id = id;
    pthread_mutex_unlock(&identities->lock);
    return &found->uses;
}

/* The number of a subject by the id of its tokens; never 0. */
static uint64_t number_of(const char *id)
{
    uint64_t number = strtoull(id, NULL, 16);
    return number != 0 ? number : 1;
}

/* Writes the id of a subject of an issuer, with the form of a token's. Returns
 * its number; 0: memory ran out. */
static uint64_t write_id(void *memory, struct kx_slice issuer,
                         struct kx_slice subject, char *id_out)
{
    uint8_t digest[KX_SHA256_SIZE];
    struct kx_buffer name;
    kx_buffer_init(&name, memory);
    kx_add_slice(&name, issuer);
    kx_add_byte(&name, '\0');
    kx_add_slice(&name, subject);
    kx_sha256(kx_buffer_slice(&name), digest);
    kx_hex_write(kx_slice(digest, KX_TOKEN_ID_SIZE / 2), id_out);
    id_out[KX_TOKEN_ID_SIZE] = '\0';
    return name.failed ? 0 : number_of(id_out);
}

/* ---- Tokens -----------------------------------------------------------------
 */

/* The one to whom lines apply. */
struct holder {
    bool has_certificate;
    struct kx_slice claims;
    struct kx_slice issuer;
    struct kx_slice subject;
    int64_t expires_at_ms;
};

static bool holds(const struct grant_line *line, const struct holder *holder)
{
    struct kx_json_iter iter;
    struct kx_slice name, wanted, claim;
    if (line->of_certificates != holder->has_certificate)
        return false;
    if (line->when.size == 0)
        return true;
    kx_json_iterate(line->when, &iter);
    while (kx_json_next(&iter, &name, &wanted))
        if (!find_claim(holder->claims, name, &claim) ||
            !json_is_or_contains(claim, wanted))
            return false;
    return true;
}

static struct grant_lines *take_lines(struct identities *identities)
{
    pthread_mutex_lock(&identities->lock);
    struct grant_lines *lines = identities->lines;
    atomic_fetch_add(&lines->users, 1);
    pthread_mutex_unlock(&identities->lock);
    return lines;
}

/* Fills in the grants of the lines that hold. False: memory ran out. */
static bool fill_grants(void *memory, const struct grant_lines *lines,
                        const struct holder *holder, struct kx_grant *grants,
                        size_t *count_out)
{
    struct kx_buffer key = {.failed = false};
    size_t count = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < lines->count && count < KX_GRANTS_MAX; i++) {
        const struct grant_line *line = &lines->all[i];
        if (!holds(line, holder) ||
            !fill_prefix(memory, line->prefix, holder->claims, &key) ||
            bytes + key.size > KX_GRANTS_BYTES_MAX)
            continue;
        bytes += key.size;
        grants[count++] = (struct kx_grant){.scopes = line->scopes,
                                            .prefix = kx_buffer_slice(&key)};
    }
    *count_out = count;
    return !key.failed;
}

static struct kx_token *make_token(struct identities *identities,
                                   const struct holder *holder, void *memory)
{
    struct kx_grant grants[KX_GRANTS_MAX];
    struct kx_token token = {.fixed = true,
                             .name = holder->subject,
                             .issuer = holder->issuer,
                             .expires_at_ms = holder->expires_at_ms,
                             .grants = grants};
    uint64_t id = write_id(memory, holder->issuer, holder->subject, token.id);
    if (id == 0)
        return NULL;
    struct grant_lines *lines = take_lines(identities);
    token.shared_uses = counter_of(identities, id);
    struct kx_token *copy =
        fill_grants(memory, lines, holder, grants, &token.grant_count)
            ? kx_token_copy(&token)
            : NULL;
    drop_lines(lines);
    return copy;
}

struct kx_token *identity_of_jwt(struct identities *identities,
                                 const struct jwt *jwt, void *memory)
{
    const struct holder holder = {.claims = jwt->claims,
                                  .issuer =
                                      kx_text(identities->options->jwt_issuer),
                                  .subject = jwt->subject,
                                  .expires_at_ms = jwt->expires_at_ms};
    return make_token(identities, &holder, memory);
}

struct kx_token *
identity_of_certificate(struct identities *identities,
                        const struct client_certificate *certificate,
                        void *memory)
{
    const struct holder holder = {.has_certificate = true,
                                  .claims = certificate->claims,
                                  .issuer = certificate->issuer,
                                  .subject = certificate->subject,
                                  .expires_at_ms = certificate->expires_at_ms};
    return make_token(identities, &holder, memory);
}

/* ---- Verified tokens --------------------------------------------------------
 */

static struct verified *ways_of(struct identities *identities,
                                const uint8_t *digest)
{
    uint32_t place;
    memcpy(&place, digest, sizeof place);
    return identities->verified[place % (VERIFIED_MAX / WAYS)];
}

/* True if the token's use counter still belongs to its subject. */
static bool has_counter(const struct kx_token *token)
{
    const struct subject *subject =
        (const void *)((const char *)token->shared_uses -
                       offsetof(struct subject, uses));
    return subject->id == number_of(token->id);
}

static bool is_same(const struct verified *verified,
                    const struct verified *wanted)
{
    return verified->token != NULL && verified->keys == wanted->keys &&
           verified->lines == wanted->lines &&
           memcmp(verified->digest, wanted->digest, KX_SHA256_SIZE) == 0;
}

static bool is_valid(const struct verified *verified, int64_t now_ms)
{
    return verified->begins_at_ms <= now_ms &&
           verified->token->expires_at_ms > now_ms &&
           has_counter(verified->token);
}

/* Finds the token with the digest and keys of `wanted`, and the current lines,
 * whose generation it stores in `wanted`. NULL: not found, or not valid now. */
static struct kx_token *find_verified(struct identities *identities,
                                      struct verified *wanted)
{
    struct verified *ways = ways_of(identities, wanted->digest);
    struct kx_token *token = NULL;
    int64_t now_ms = kx_now_ms();
    pthread_mutex_lock(&identities->lock);
    wanted->lines = identities->generation;
    for (size_t i = 0; i < WAYS && token == NULL; i++) {
        if (!is_same(&ways[i], wanted) || !is_valid(&ways[i], now_ms))
            continue;
        ways[i].used_at = ++identities->uses;
        token = kx_token_keep(ways[i].token);
    }
    pthread_mutex_unlock(&identities->lock);
    return token;
}

/* Keeps a verified token in place of the one that was used least recently. */
static void keep_verified(struct identities *identities,
                          const struct verified *verified)
{
    struct verified *place = ways_of(identities, verified->digest);
    struct verified *ways = place;
    pthread_mutex_lock(&identities->lock);
    for (size_t i = 0; i < WAYS; i++) {
        if (is_same(&ways[i], verified)) {
            place = &ways[i];
            break;
        }
        if (ways[i].used_at < place->used_at)
            place = &ways[i];
    }
    struct kx_token *previous = place->token;
    *place = *verified;
    place->token = kx_token_keep(verified->token);
    place->used_at = ++identities->uses;
    pthread_mutex_unlock(&identities->lock);
    kx_token_release(previous);
}

/* Both generations are read before the check. If the keys or lines change
 * during the check, the token is kept under an old generation and never found.
 */
struct kx_token *identity_of_bearer(struct identities *identities,
                                    struct issuer *issuer, struct kx_slice text,
                                    void *memory, const char **why_out)
{
    struct jwt jwt;
    struct verified verified = {.keys = issuer_generation(issuer)};
    *why_out = NULL;
    kx_sha256(text, verified.digest);
    struct kx_token *token = find_verified(identities, &verified);
    if (token != NULL)
        return token;
    *why_out = issuer_check(issuer, text, memory, &jwt);
    if (*why_out != NULL)
        return NULL;
    verified.begins_at_ms = jwt.begins_at_ms;
    verified.token = identity_of_jwt(identities, &jwt, memory);
    if (verified.token == NULL)
        *why_out = ISSUER_NO_MEMORY;
    else
        keep_verified(identities, &verified);
    return verified.token;
}
