#!/bin/bash
# The official suite of JSON Schema 2020-12 against the service: each schema is a
# rule, each value an entry (schema_suite.js).
. "$(dirname "$0")/../lib/http.sh"
here=$(cd "$(dirname "$0")" && pwd)
suite=$here/../data/json-schema
start_server

test_case 'every value of the suite of JSON Schema is stored or refused as it says'
is cases "$(node "$here/schema_suite.js" "$url" "$suite" 2>&1)" '974 values, 128 schemas refused, 0 failed'

test_case 'the suite of JSON Schema fails when the opposite is expected'
is cases "$(node "$here/schema_suite.js" "$url" "$suite" planted 2>&1)" '974 values, 128 schemas refused, 974 failed'

finish
