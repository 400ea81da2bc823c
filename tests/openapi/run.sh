#!/bin/bash
# Everything about openapi.yaml: linters, comparison with the program, its
# commands against a running server, a client that a generator makes from it, and
# the self tests of these checks.
# BUILD says where the program was built.
set -u
cd "$(dirname "$0")"
. ../lib/path.sh
. ../lib/sums.sh
src=../../src
build=$(cd ../.. && realpath "${BUILD:-build}")
program=$build/kindex
document=$build/openapi.json # openapi.yaml as JSON
output=$(mktemp)
trap 'rm -f "$output"' EXIT
passed=0
failed=0

# Runs one script and adds its last line to the sums.
part() {
    local name=$1 ok bad
    shift
    "$@" >"$output" 2>&1
    add_count $? "$output"
    echo "== $name: $ok passed, $bad failed"
    [ "$bad" -eq 0 ] || cat "$output"
}

if ! ../lib/npm.sh .; then
    echo "the npm packages could not be installed"
    echo "0 passed, 1 failed"
    exit 1
fi
part 'YAML as JSON' node yaml.js ../../openapi.yaml "$build/yaml_to_json"
part 'lint' ./lint.sh
part 'lint, self test' ./lint.sh --self-test "$document"
part 'compare' node compare.js $document "$program" $src
part 'compare, self test' node compare.js $document "$program" $src \
    --self-test
part 'responses, self test' node responses.js $document --self-test
part 'examples' node examples.js $document "$program"
part 'a generated client' node client/run.js $document "$program"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
