#!/bin/bash
# The test suite of RFC 6902 against the service: tests/patch/suite.js.
. "$(dirname "$0")/../lib/http.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
"$tests/lib/npm.sh" "$tests/patch"
start_server

test_case 'every enabled case of the test suite of JSON Patch holds'
is cases "$(node "$tests/patch/suite.js" "$url" 2>&1)" '91 cases, 0 failed, 4 disabled'

test_case 'the suite of JSON Patch fails when something else is expected'
is cases "$(node "$tests/patch/suite.js" "$url" planted 2>&1)" '91 cases, 91 failed, 4 disabled'

finish
