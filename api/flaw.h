/* What a parser found wrong with a request. Parsers know no reply, so that
 * they can be tested alone; the handler turns the flaw into a problem. */
#ifndef API_FLAW_H
#define API_FLAW_H

#include "problem.h"

enum { FLAW_POINTER_MAX = 192 };

struct flaw {
    enum problem_code code;
    char detail[KX_DETAIL_MAX];
    char pointer[FLAW_POINTER_MAX]; /* JSON Pointer into the body, or "" */
    const char *parameter;          /* the query parameter, or NULL */
    const char *suggestion;         /* the name probably meant, or NULL */
    const char *const *allowed;     /* names up to a NULL, or NULL */
};

/* Sets the flaw, with all optional members empty. Returns false, so that a
 * parser can end with it. */
bool flaw_set(struct flaw *flaw, enum problem_code code, const char *format,
              ...) __attribute__((format(printf, 3, 4)));

/* Memory is used up. Returns false. */
bool flaw_no_memory(struct flaw *flaw);

/* A fault of the core, with its pointer. Returns false. */
bool flaw_fault(struct flaw *flaw, const struct kx_fault *fault);

/* Prepends "/name" or "/number" to the pointer, on the way out of a nested
 * parser. Return false. */
bool flaw_in_member(struct flaw *flaw, const char *name);
bool flaw_in_element(struct flaw *flaw, size_t number);

/* The one of names (up to a NULL) that is nearest to text, or NULL when none
 * is near. */
const char *flaw_nearest(struct kx_slice text, const char *const *names);

/* Makes reply the problem that flaw describes. Returns DONE. */
enum progress flaw_reply(struct request *request, struct reply *reply,
                         const struct flaw *flaw);

#endif
