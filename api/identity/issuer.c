/* One file because the keys are only used by the check of a token: reading
 * them, fetching them again, and verifying with them share one set under one
 * lock. A set never changes; the last user of a replaced set frees it. */
#include "identity/issuer.h"

#include <curl/curl.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <talloc.h>

#include "config/text_file.h"

enum algorithm { RS256, ES256, EDDSA, ALGORITHMS };

static const struct {
    const char *name;
    const char *kty; /* of its keys */
    const char *crv; /* NULL: its keys have no curve */
    const char *parts[2];
    size_t signature; /* bytes; 0: as many as the modulus has */
    gnutls_sign_algorithm_t sign;
} ALGORITHM[ALGORITHMS] = {
    [RS256] = {"RS256", "RSA", NULL, {"/n", "/e"}, 0, GNUTLS_SIGN_RSA_SHA256},
    [ES256] =
        {"ES256", "EC", "P-256", {"/x", "/y"}, 64, GNUTLS_SIGN_ECDSA_SHA256},
    [EDDSA] = {"EdDSA",
               "OKP",
               "Ed25519",
               {"/x", NULL},
               64,
               GNUTLS_SIGN_EDDSA_ED25519},
};

enum {
    EXPONENT_MAX = 8, /* bytes of an RSA key's exponent */
    WHY_SIZE = 256    /* bytes of a reason */
};

/* The end of the year 9999; a later time is refused. */
static const double TIME_MAX_S = 253402300799.0;

struct key {
    enum algorithm algorithm;
    struct kx_slice id; /* `kid`; empty: it has none */
    struct kx_slice parts[2];
};

struct key_set {
    atomic_uint users;
    size_t count;
    struct key keys[JWKS_KEYS_MAX];
};

struct issuer {
    const struct options *options;
    pthread_mutex_t lock; /* guards what follows, except `thread` */
    pthread_cond_t changed;
    struct key_set *keys; /* NULL: none were read yet */
    uint64_t next_ns;     /* when the keys are fetched again */
    uint64_t unknown_ns;  /* last fetch because of an unknown key; 0: never */
    bool wanted;          /* the keys are to be fetched now */
    atomic_uint_fast64_t generation; /* of `keys`; read without the lock */
    atomic_bool closing; /* also read by the fetch, without the lock */
    bool fetches;        /* the thread runs */
    pthread_t thread;
};

/* ---- Members of JSON objects -------------------------------------------- */

static bool has(struct kx_slice object, const char *pointer)
{
    struct kx_slice value;
    return kx_json_find(object, kx_text(pointer), &value);
}

/* Allocates texts, and notes if memory ran out. */
struct texts {
    void *memory; /* talloc context */
    bool failed;  /* memory ran out */
};

/* Reads a string. False if the member is missing or has another type, or memory
 * ran out. */
static bool read_string(struct texts *texts, struct kx_slice object,
                        const char *pointer, struct kx_slice *text_out)
{
    struct kx_slice value;
    struct kx_buffer text;
    if (!kx_json_find(object, kx_text(pointer), &value) ||
        kx_json_type(value) != KX_JSON_STRING)
        return false;
    kx_buffer_init(&text, texts->memory);
    kx_json_unescape(value, &text);
    *text_out = kx_buffer_slice(&text);
    texts->failed |= text.failed;
    return !text.failed;
}

static bool is_string(struct kx_slice object, const char *pointer,
                      const char *wanted)
{
    struct kx_slice value;
    struct kx_slice name;
    char token[64];
    snprintf(token, sizeof token, "\"%s\"", wanted);
    name = kx_text(token);
    return kx_json_find(object, kx_text(pointer), &value) &&
           kx_json_equal(value, name);
}

static bool decode(struct texts *texts, struct kx_slice text,
                   struct kx_slice *out)
{
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, texts->memory);
    bool good = kx_base64_read(text, &bytes) && !bytes.failed;
    *out = kx_buffer_slice(&bytes);
    texts->failed |= bytes.failed;
    return good;
}

/* ---- Keys ---------------------------------------------------------------- */

static gnutls_datum_t datum(struct kx_slice bytes)
{
    return (gnutls_datum_t){(unsigned char *)bytes.data, (unsigned)bytes.size};
}

/* The library's objects belong to one thread at a time, so each check makes its
 * own. Returns NULL if the key is invalid or memory ran out, which sets
 * *failed.
 */
static gnutls_pubkey_t import_key(const struct key *key, bool *failed)
{
    gnutls_pubkey_t public;
    gnutls_datum_t first = datum(key->parts[0]);
    gnutls_datum_t second = datum(key->parts[1]);
    int error = GNUTLS_E_INVALID_REQUEST;
    if (gnutls_pubkey_init(&public) < 0) {
        *failed = true;
        return NULL;
    }
    if (key->algorithm == RS256)
        error = gnutls_pubkey_import_rsa_raw(public, &first, &second);
    else if (key->algorithm == ES256)
        error = gnutls_pubkey_import_ecc_raw(public, GNUTLS_ECC_CURVE_SECP256R1,
                                             &first, &second);
    else
        error = gnutls_pubkey_import_ecc_raw(public, GNUTLS_ECC_CURVE_ED25519,
                                             &first, NULL);
    if (error >= 0)
        return public;
    *failed |= error == GNUTLS_E_MEMORY_ERROR;
    gnutls_pubkey_deinit(public);
    return NULL;
}

static struct kx_slice without_zeros(struct kx_slice number)
{
    while (number.size > 0 && number.data[0] == 0)
        number = kx_slice(number.data + 1, number.size - 1);
    return number;
}

static size_t bits_of(struct kx_slice number)
{
    size_t bits = number.size * 8;
    for (uint8_t first = number.size > 0 ? number.data[0] : 0x80;
         (first & 0x80) == 0; first <<= 1)
        bits--;
    return bits;
}

/* True for a modulus of an allowed size, and an odd exponent greater than 1. */
static bool has_rsa_sizes(struct kx_slice modulus, struct kx_slice exponent)
{
    size_t bits = bits_of(modulus);
    return bits >= JWT_RSA_BITS_MIN && bits <= JWT_RSA_BITS_MAX &&
           bits_of(exponent) > 1 && exponent.size <= EXPONENT_MAX &&
           (exponent.data[exponent.size - 1] & 1) == 1;
}

/* True if the numbers of a key have the sizes that its algorithm takes. */
static bool has_sizes(struct key *key)
{
    struct kx_slice *parts = key->parts;
    if (key->algorithm != RS256)
        return parts[0].size == 32 &&
               parts[1].size == (key->algorithm == ES256 ? 32 : 0);
    for (size_t i = 0; i < 2; i++)
        parts[i] = without_zeros(parts[i]);
    return has_rsa_sizes(parts[0], parts[1]);
}

/* True if the key is for signatures, and `key_ops` includes verifying them. */
static bool may_verify(struct kx_slice object)
{
    struct kx_slice uses;
    if (has(object, "/use") && !is_string(object, "/use", "sig"))
        return false;
    return !kx_json_find(object, kx_text("/key_ops"), &uses) ||
           json_is_or_contains(uses, kx_text("\"verify\""));
}

static bool read_parts(struct texts *texts, struct kx_slice object,
                       struct key *key)
{
    struct kx_slice text;
    for (size_t i = 0; i < 2; i++) {
        const char *pointer = ALGORITHM[key->algorithm].parts[i];
        if (pointer != NULL && (!read_string(texts, object, pointer, &text) ||
                                !decode(texts, text, &key->parts[i])))
            return false;
    }
    return true;
}

static bool find_algorithm(struct kx_slice object, enum algorithm *out)
{
    for (int i = 0; i < ALGORITHMS; i++)
        if (is_string(object, "/kty", ALGORITHM[i].kty) &&
            (ALGORITHM[i].crv == NULL ||
             is_string(object, "/crv", ALGORITHM[i].crv))) {
            *out = (enum algorithm)i;
            return !has(object, "/alg") ||
                   is_string(object, "/alg", ALGORITHM[i].name);
        }
    return false;
}

/* Reads the optional `kid`. False if it is not a string. */
static bool read_kid(struct texts *texts, struct kx_slice object,
                     struct kx_slice *id_out)
{
    return !has(object, "/kid") || read_string(texts, object, "/kid", id_out);
}

static bool can_import(const struct key *key)
{
    bool failed = false;
    gnutls_pubkey_t public = import_key(key, &failed);
    if (public != NULL)
        gnutls_pubkey_deinit(public);
    return public != NULL;
}

/* Reads a key of a set. False if it is not for one of the algorithms. */
static bool read_key(void *memory, struct kx_slice object, struct key *key_out)
{
    struct texts texts = {.memory = memory};
    *key_out = (struct key){.algorithm = RS256};
    if (kx_json_type(object) != KX_JSON_OBJECT || !may_verify(object) ||
        !find_algorithm(object, &key_out->algorithm) ||
        !read_kid(&texts, object, &key_out->id) ||
        !read_parts(&texts, object, key_out))
        return false;
    return has_sizes(key_out) && can_import(key_out);
}

static void drop_keys(struct key_set *keys)
{
    if (keys != NULL && atomic_fetch_sub(&keys->users, 1) == 1)
        talloc_free(keys);
}

/* Adds the keys of an array. Keys of other kinds are left out: an issuer may
 * have some for other uses. */
static void add_keys(struct key_set *keys, struct kx_slice array)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    size_t others = 0;
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, &value) && keys->count < JWKS_KEYS_MAX)
        if (read_key(keys, value, &keys->keys[keys->count]))
            keys->count++;
        else
            others++;
    if (keys->count > 0)
        kx_log(KX_LOG_INFO, "jwt-keys", "count=%zu unused=%zu", keys->count,
               others);
}

static bool find_array(struct kx_slice text, struct kx_slice *array_out)
{
    struct kx_fault fault = {.status = KX_OK};
    return kx_json_check(text, &fault) == KX_OK &&
           kx_json_find(text, kx_text("/keys"), array_out) &&
           kx_json_type(*array_out) == KX_JSON_ARRAY;
}

static struct key_set *read_keys(struct kx_slice text, char *why_out,
                                 size_t size)
{
    struct kx_slice array;
    struct key_set *keys = talloc_zero(NULL, struct key_set);
    snprintf(why_out, size, "it is not a JWK set, {'keys':[..]}");
    if (keys == NULL)
        return NULL;
    keys->users = 1;
    if (find_array(text, &array)) {
        add_keys(keys, array);
        snprintf(why_out, size,
                 "none of its keys is for RS256 (from %d bits), ES256 or EdDSA",
                 JWT_RSA_BITS_MIN);
    }
    if (keys->count > 0)
        return keys;
    talloc_free(keys);
    return NULL;
}

bool issuer_use_keys(struct issuer *issuer, struct kx_slice text, char *why_out,
                     size_t size)
{
    struct key_set *keys = read_keys(text, why_out, size);
    if (keys == NULL)
        return false;
    pthread_mutex_lock(&issuer->lock);
    struct key_set *previous = issuer->keys;
    issuer->keys = keys;
    atomic_fetch_add(&issuer->generation, 1);
    pthread_mutex_unlock(&issuer->lock);
    drop_keys(previous);
    return true;
}

static struct key_set *take_keys(struct issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    struct key_set *keys = issuer->keys;
    if (keys != NULL)
        atomic_fetch_add(&keys->users, 1);
    pthread_mutex_unlock(&issuer->lock);
    return keys;
}

/* ---- Fetching keys ------------------------------------------------------- */

static bool is_address(const char *keys)
{
    return strncmp(keys, "https://", 8) == 0;
}

static size_t take_body(char *data, size_t one, size_t count, void *target)
{
    struct kx_buffer *text = target;
    if (text->size + one * count > JWKS_MAX)
        return 0;
    kx_add(text, data, one * count);
    return text->failed ? 0 : one * count;
}

static int look_at_end(void *closure, curl_off_t a, curl_off_t b, curl_off_t c,
                       curl_off_t d)
{
    const struct issuer *issuer = closure;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return atomic_load(&issuer->closing);
}

/* With --jwt-ca only its authorities count. */
static bool set_authorities(CURL *curl, const char *file)
{
    return file == NULL ||
           (curl_easy_setopt(curl, CURLOPT_CAINFO, file) == CURLE_OK &&
            curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK);
}

/* A redirect is not followed: the address is the one that the operator chose.
 */
static bool set_transfer(CURL *curl, struct issuer *issuer,
                         struct kx_buffer *text, char *why)
{
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)ISSUER_FETCH_S);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_at_end);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, issuer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    return set_authorities(curl, issuer->options->jwt_ca) &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_SSLVERSION,
                            CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_USERAGENT, "kindex/" KX_VERSION) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_URL, issuer->options->jwt_keys) ==
               CURLE_OK;
}

static bool transfer(CURL *curl, struct issuer *issuer, struct kx_buffer *text,
                     char *why_out)
{
    char why[CURL_ERROR_SIZE] = "";
    long status = 0;
    if (!set_transfer(curl, issuer, text, why)) {
        snprintf(why_out, WHY_SIZE, "memory ran out");
        return false;
    }
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK)
        snprintf(why_out, WHY_SIZE, "%s",
                 why[0] != '\0' ? why : curl_easy_strerror(code));
    else if (status != 200)
        snprintf(why_out, WHY_SIZE, "it answered %ld", status);
    return code == CURLE_OK && status == 200;
}

/* Fetches the keys and uses them. If that fails, logs why. */
static bool fetch(struct issuer *issuer)
{
    char why[WHY_SIZE] = "memory ran out";
    struct kx_buffer text;
    CURL *curl = curl_easy_init();
    kx_buffer_init(&text, NULL);
    bool fetched =
        curl != NULL && transfer(curl, issuer, &text, why) &&
        issuer_use_keys(issuer, kx_buffer_slice(&text), why, sizeof why);
    curl_easy_cleanup(curl);
    kx_buffer_free(&text);
    if (!fetched && !atomic_load(&issuer->closing))
        kx_log(KX_LOG_ERROR, "jwt-keys-failed",
               "address=%s why=\"%s\" kept=\"the previous keys\"",
               issuer->options->jwt_keys, why);
    return fetched;
}

static uint64_t seconds_from_now(unsigned seconds)
{
    return kx_monotonic_ns() + seconds * (uint64_t)KX_SECOND_NS;
}

static void await_next(struct issuer *issuer)
{
    struct timespec until = {.tv_sec = (time_t)(issuer->next_ns / KX_SECOND_NS),
                             .tv_nsec = (long)(issuer->next_ns % KX_SECOND_NS)};
    pthread_cond_timedwait(&issuer->changed, &issuer->lock, &until);
}

/* The thread. */
static void *refresh(void *closure)
{
    struct issuer *issuer = closure;
    pthread_mutex_lock(&issuer->lock);
    while (!atomic_load(&issuer->closing)) {
        if (!issuer->wanted && kx_monotonic_ns() < issuer->next_ns) {
            await_next(issuer);
            continue;
        }
        issuer->wanted = false;
        pthread_mutex_unlock(&issuer->lock);
        bool fetched = fetch(issuer);
        pthread_mutex_lock(&issuer->lock);
        issuer->next_ns =
            seconds_from_now(fetched ? ISSUER_REFRESH_S : ISSUER_RETRY_S);
    }
    pthread_mutex_unlock(&issuer->lock);
    return NULL;
}

static void want_keys(struct issuer *issuer)
{
    issuer->wanted = true;
    pthread_cond_signal(&issuer->changed);
}

/* Any client can send tokens with unknown keys, so they cause few fetches. */
static void note_unknown_key(struct issuer *issuer)
{
    uint64_t now_ns = kx_monotonic_ns();
    pthread_mutex_lock(&issuer->lock);
    if (issuer->unknown_ns == 0 ||
        now_ns - issuer->unknown_ns >=
            ISSUER_UNKNOWN_KEY_S * (uint64_t)KX_SECOND_NS) {
        issuer->unknown_ns = now_ns;
        want_keys(issuer);
    }
    pthread_mutex_unlock(&issuer->lock);
}

/* ---- Opening and closing ------------------------------------------------- */

static bool read_file(struct issuer *issuer, char *why_out, size_t size)
{
    struct kx_buffer text;
    kx_buffer_init(&text, NULL);
    bool read = text_file_read(issuer->options->jwt_keys, JWKS_MAX, &text,
                               why_out, size) &&
                issuer_use_keys(issuer, kx_buffer_slice(&text), why_out, size);
    kx_buffer_free(&text);
    return read;
}

/* The first fetch is made here, so that normally no request finds the server
 * without keys. */
static bool begin_fetching(struct issuer *issuer, char *why_out, size_t size)
{
    snprintf(why_out, size, "threads or memory ran out");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return false;
    issuer->next_ns =
        seconds_from_now(fetch(issuer) ? ISSUER_REFRESH_S : ISSUER_RETRY_S);
    issuer->fetches =
        pthread_create(&issuer->thread, NULL, refresh, issuer) == 0;
    if (!issuer->fetches)
        curl_global_cleanup();
    return issuer->fetches;
}

static bool init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    bool good = pthread_cond_init(cond, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return good;
}

struct issuer *issuer_open(const struct options *options, char *why_out,
                           size_t size)
{
    struct issuer *issuer = talloc_zero(NULL, struct issuer);
    snprintf(why_out, size, "memory ran out");
    if (issuer == NULL || pthread_mutex_init(&issuer->lock, NULL) != 0 ||
        !init_cond(&issuer->changed)) {
        talloc_free(issuer);
        return NULL;
    }
    issuer->options = options;
    if (is_address(options->jwt_keys) ? begin_fetching(issuer, why_out, size)
                                      : read_file(issuer, why_out, size))
        return issuer;
    issuer_close(issuer);
    return NULL;
}

void issuer_reload(struct issuer *issuer)
{
    char why[WHY_SIZE];
    if (issuer->fetches) {
        pthread_mutex_lock(&issuer->lock);
        want_keys(issuer);
        pthread_mutex_unlock(&issuer->lock);
    } else if (!read_file(issuer, why, sizeof why))
        kx_log(KX_LOG_ERROR, "jwt-keys-failed",
               "file=%s why=\"%s\" kept=\"the previous keys\"",
               issuer->options->jwt_keys, why);
}

void issuer_close(struct issuer *issuer)
{
    if (issuer == NULL)
        return;
    if (issuer->fetches) {
        pthread_mutex_lock(&issuer->lock);
        atomic_store(&issuer->closing, true);
        pthread_cond_signal(&issuer->changed);
        pthread_mutex_unlock(&issuer->lock);
        pthread_join(issuer->thread, NULL);
        curl_global_cleanup();
    }
    drop_keys(issuer->keys);
    pthread_cond_destroy(&issuer->changed);
    pthread_mutex_destroy(&issuer->lock);
    talloc_free(issuer);
}

/* ---- The check of a token ------------------------------------------------ */

/* The three parts of a token; `signed_text` is what the signature is for. */
struct jwt_parts {
    struct kx_slice header;
    struct kx_slice claims;
    struct kx_slice signature;
    struct kx_slice signed_text;
};

static struct kx_slice up_to_dot(struct kx_slice *rest)
{
    const uint8_t *dot = memchr(rest->data, '.', rest->size);
    struct kx_slice part = *rest;
    if (dot != NULL)
        part.size = (size_t)(dot - rest->data);
    size_t used = part.size + (dot != NULL ? 1 : 0);
    *rest = kx_slice(rest->data + used, rest->size - used);
    return part;
}

/* Decodes the parts. An encrypted token has five, and is refused. */
static bool split(struct texts *texts, struct kx_slice text,
                  struct jwt_parts *parts_out)
{
    struct kx_slice rest = text;
    size_t dots = 0;
    for (size_t i = 0; i < text.size; i++)
        dots += text.data[i] == '.';
    if (dots != 2)
        return false;
    struct kx_slice header = up_to_dot(&rest);
    struct kx_slice claims = up_to_dot(&rest);
    parts_out->signed_text = kx_slice(text.data, header.size + 1 + claims.size);
    return decode(texts, header, &parts_out->header) &&
           decode(texts, claims, &parts_out->claims) &&
           decode(texts, rest, &parts_out->signature);
}

static bool is_object(struct texts *texts, struct kx_slice text)
{
    struct kx_fault fault = {.status = KX_OK};
    enum kx_status status = kx_json_check(text, &fault);
    texts->failed |= status == KX_NO_MEMORY;
    return status == KX_OK && kx_json_type(text) == KX_JSON_OBJECT;
}

/* A header that names its own key, or asks for what is not understood, is
 * refused. */
static const char *check_header(struct texts *texts, struct kx_slice header)
{
    static const char *const REFUSED[] = {"/jku", "/x5u", "/jwk", "/crit"};
    if (!is_object(texts, header))
        return "The header of the JSON Web Token is not a JSON object.";
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        if (has(header, REFUSED[i]))
            return "The header of the JSON Web Token has jku, x5u, jwk or "
                   "crit, which are refused.";
    return NULL;
}

static bool fits_header(const struct key *key, struct kx_slice header,
                        const struct kx_slice *id)
{
    return (id == NULL || kx_equal(key->id, *id)) &&
           is_string(header, "/alg", ALGORITHM[key->algorithm].name);
}

/* Finds the key that the header names by `kid`, or without `kid` the only key
 * for the header's algorithm. NULL: no key, or more than one. */
static const struct key *find_key(const struct key_set *keys,
                                  struct kx_slice header,
                                  const struct kx_slice *id)
{
    const struct key *found = NULL;
    size_t count = 0;
    for (size_t i = 0; keys != NULL && i < keys->count; i++) {
        if (!fits_header(&keys->keys[i], header, id))
            continue;
        found = &keys->keys[i];
        count++;
    }
    return count == 1 ? found : NULL;
}

/* True if a key has this id, also if it is for another algorithm. */
static bool has_id(const struct key_set *keys, struct kx_slice id)
{
    for (size_t i = 0; keys != NULL && i < keys->count; i++)
        if (kx_equal(keys->keys[i].id, id))
            return true;
    return false;
}

/* Makes DER of the two numbers of an ECDSA signature, for the library. The
 * caller frees it with gnutls_free. */
static bool to_der(struct kx_slice numbers, gnutls_datum_t *der_out,
                   bool *failed)
{
    gnutls_datum_t r = datum(kx_slice(numbers.data, 32));
    gnutls_datum_t s = datum(kx_slice(numbers.data + 32, 32));
    int error = gnutls_encode_rs_value(der_out, &r, &s);
    *failed |= error == GNUTLS_E_MEMORY_ERROR;
    return error >= 0;
}

static bool verify_data(const struct key *key, struct kx_slice text,
                        const gnutls_datum_t *signature, bool *failed)
{
    gnutls_datum_t data = datum(text);
    gnutls_pubkey_t public = import_key(key, failed);
    if (public == NULL)
        return false;
    int verified = gnutls_pubkey_verify_data2(
        public, ALGORITHM[key->algorithm].sign, 0, &data, signature);
    gnutls_pubkey_deinit(public);
    *failed |= verified == GNUTLS_E_MEMORY_ERROR;
    return verified >= 0;
}

static bool verify(const struct key *key, const struct jwt_parts *parts,
                   bool *failed)
{
    gnutls_datum_t signature = datum(parts->signature);
    size_t wanted = ALGORITHM[key->algorithm].signature;
    if (wanted != 0 && parts->signature.size != wanted)
        return false;
    if (key->algorithm != ES256)
        return verify_data(key, parts->signed_text, &signature, failed);
    if (!to_der(parts->signature, &signature, failed))
        return false;
    bool good = verify_data(key, parts->signed_text, &signature, failed);
    gnutls_free(signature.data);
    return good;
}

/* Says why no key fits a header with this `kid` (NULL: without). */
static const char *lack_key(struct issuer *issuer, const struct key_set *keys,
                            const struct kx_slice *id)
{
    if (id == NULL)
        return "The JSON Web Token has no kid, and the issuer has none or "
               "several keys for its algorithm.";
    if (has_id(keys, *id))
        return "The algorithm of the JSON Web Token is not that of its key.";
    note_unknown_key(issuer);
    return "The issuer has no key with the kid of the JSON Web Token, or its "
           "keys could not be fetched yet.";
}

static const char *check_signature(struct issuer *issuer, struct texts *texts,
                                   const struct jwt_parts *parts)
{
    struct kx_slice kid;
    const struct kx_slice *id = has(parts->header, "/kid") ? &kid : NULL;
    if (!read_kid(texts, parts->header, &kid))
        return "The kid of the JSON Web Token is not a string.";
    struct key_set *keys = take_keys(issuer);
    const struct key *key = find_key(keys, parts->header, id);
    const char *why = NULL;
    if (key == NULL)
        why = lack_key(issuer, keys, id);
    else if (!verify(key, parts, &texts->failed))
        why = "The signature of the JSON Web Token is not valid.";
    drop_keys(keys);
    return why;
}

/* ---- Claims ---------------------------------------------------------------
 */

/* Reads a time in seconds, which may have a fraction. */
static bool read_time(struct kx_slice claims, const char *pointer,
                      int64_t *at_ms_out)
{
    struct kx_slice value;
    double seconds;
    if (!kx_json_find(claims, kx_text(pointer), &value) ||
        kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &seconds) || seconds < 0 ||
        seconds > TIME_MAX_S)
        return false;
    *at_ms_out = (int64_t)(seconds * 1000);
    return true;
}

static const char *check_times(struct kx_slice claims, struct jwt *jwt)
{
    int64_t now_ms = kx_now_ms();
    int64_t at_ms;
    if (!read_time(claims, "/exp", &at_ms))
        return "The JSON Web Token has no exp, or it is not a time.";
    jwt->expires_at_ms = at_ms + JWT_SKEW_MS;
    jwt->begins_at_ms = 0;
    if (jwt->expires_at_ms <= now_ms)
        return "The JSON Web Token has expired.";
    if (!has(claims, "/nbf"))
        return NULL;
    if (!read_time(claims, "/nbf", &at_ms))
        return "The nbf of the JSON Web Token is not a time.";
    jwt->begins_at_ms = at_ms - JWT_SKEW_MS;
    return jwt->begins_at_ms > now_ms ? "The JSON Web Token is not valid yet."
                                      : NULL;
}

static const char *check_subject(struct texts *texts, struct kx_slice claims,
                                 struct jwt *jwt)
{
    jwt->subject = kx_slice(NULL, 0);
    if (has(claims, "/sub") &&
        (!read_string(texts, claims, "/sub", &jwt->subject) ||
         jwt->subject.size > JWT_SUBJECT_MAX))
        return "The sub of the JSON Web Token is not a string, or too long.";
    return NULL;
}

/* Sets `quoted` to the text as JSON. Finds the claim; false if it is missing or
 * memory ran out. */
static bool find_beside(struct kx_slice claims, const char *pointer,
                        const char *text, struct kx_buffer *quoted,
                        struct kx_slice *value)
{
    kx_buffer_clear(quoted);
    kx_json_escape(kx_text(text), quoted);
    return !quoted->failed && kx_json_find(claims, kx_text(pointer), value);
}

static const char *check_names(const struct issuer *issuer, struct texts *texts,
                               struct kx_slice claims)
{
    const struct options *options = issuer->options;
    struct kx_buffer wanted;
    struct kx_slice value;
    const char *why = NULL;
    kx_buffer_init(&wanted, texts->memory);
    if (!find_beside(claims, "/iss", options->jwt_issuer, &wanted, &value) ||
        !kx_json_equal(value, kx_buffer_slice(&wanted)))
        why = "The JSON Web Token is of another issuer.";
    else if (!find_beside(claims, "/aud", options->jwt_audience, &wanted,
                          &value) ||
             !json_is_or_contains(value, kx_buffer_slice(&wanted)))
        why = "The JSON Web Token is for another audience.";
    texts->failed |= wanted.failed;
    return why;
}

static const char *check(struct issuer *issuer, struct kx_slice text,
                         struct texts *texts, struct jwt *jwt_out)
{
    struct jwt_parts parts;
    const char *why;
    if (text.size > JWT_MAX)
        return "The credential has more bytes than a JSON Web Token may have.";
    if (!split(texts, text, &parts))
        return "The credential is neither a Kindex access token nor a JSON Web "
               "Token.";
    if ((why = check_header(texts, parts.header)) != NULL ||
        (why = check_signature(issuer, texts, &parts)) != NULL)
        return why;
    if (!is_object(texts, parts.claims))
        return "The claims of the JSON Web Token are not a JSON object.";
    jwt_out->claims = parts.claims;
    if ((why = check_names(issuer, texts, parts.claims)) != NULL ||
        (why = check_times(parts.claims, jwt_out)) != NULL)
        return why;
    return check_subject(texts, parts.claims, jwt_out);
}

const char ISSUER_NO_MEMORY[] = "Memory ran out.";

/* A lack of memory must not make a valid token look invalid. */
const char *issuer_check(struct issuer *issuer, struct kx_slice text,
                         void *memory, struct jwt *jwt_out)
{
    struct texts texts = {.memory = memory};
    const char *why = check(issuer, text, &texts, jwt_out);
    return texts.failed ? ISSUER_NO_MEMORY : why;
}

uint64_t issuer_generation(struct issuer *issuer)
{
    return atomic_load(&issuer->generation);
}
