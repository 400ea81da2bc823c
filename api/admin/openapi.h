/* openapi.yaml, put into the program as it is: it is written in the JSON subset
 * of YAML, so it is served without being converted. */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include "kindex.h"

/* The document. Lives as long as the program. */
struct kx_slice openapi_document(void);

#endif
