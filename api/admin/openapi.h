/* The document of the interface, in the program. It lives as long as the
 * program. */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include "kindex.h"

/* openapi.yaml as it is in the source. */
struct kx_slice openapi_yaml(void);

/* The same document as JSON, which the build makes from openapi.yaml
 * (deploy/yaml_to_json.c). */
struct kx_slice openapi_json(void);

#endif
