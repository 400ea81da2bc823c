/* Parameters of a statement, and lists of rows, in the binary form of the
 * protocol. */
#ifndef PG_PARAMS_H
#define PG_PARAMS_H

#include "kindex/bytes.h"

enum { PG_PARAMS_MAX = 5 };

/* The bytes that are added must live until the statement is sent. */
struct pg_params {
    int count;
    const char *values[PG_PARAMS_MAX];
    int sizes[PG_PARAMS_MAX];
    uint64_t numbers[PG_PARAMS_MAX]; /* what is pointed to, of numbers */
};

/* Add a bytea or text, and an int8. */
void pg_params_bytes(struct pg_params *params, struct kx_slice bytes);
void pg_params_number(struct pg_params *params, int64_t number);

/* A row's key as the tables have it. An index of PostgreSQL takes at most 2,704
 * bytes of a row, so of a longer key the primary key has the first bytes and a
 * digest of the others. Order and comparison are by (k, rest), and exact. */
enum { PG_KEY_MAX = 2560 };

struct pg_key {
    struct kx_slice k;
    struct kx_slice rest; /* empty: the key is short */
    size_t digest_size;   /* 0 or KX_SHA256_SIZE */
    uint8_t digest[KX_SHA256_SIZE];
};

/* The parts point into the key. */
void pg_key_split(struct kx_slice key, struct pg_key *key_out);

/* Adds k and rest, as bound of a range. */
void pg_params_bound(struct pg_params *params, struct kx_slice key);

/* An array of bytea (bytea[]), which grows. */
struct pg_array {
    struct kx_buffer bytes;
    uint32_t count;
};

/* In talloc context mem. An array may be emptied and used again. */
void pg_array_init(struct pg_array *array, const void *mem);
void pg_array_clear(struct pg_array *array);
/* Without memory, bytes.failed is set. */
void pg_array_add(struct pg_array *array, struct kx_slice element);
/* Completes the array and adds it as a parameter. */
void pg_params_array(struct pg_params *params, struct pg_array *array);

#endif
