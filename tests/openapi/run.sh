#!/bin/bash
# Everything about openapi.yaml: linters, comparison with the program, its
# commands against a running server, a client that a generator makes from it, and
# the self tests of these checks.
# BUILD says where the program was built.
set -u
cd "$(dirname "$0")"
. ../lib/path.sh
src=../../src
build=$(cd ../.. && realpath "${BUILD:-build}")
program=$build/kindex
document=$build/openapi.json # openapi.yaml as JSON
passed=0
failed=0

# Runs one script and adds its last line to the sums.
part() {
    local name=$1 output line
    shift
    output=$("$@" 2>&1)
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' <<<"$output" | tail -1)
    [ -n "$line" ] || line='0 passed, 1 failed'
    local ok=${line%% *} bad=${line#*, }
    passed=$((passed + ok))
    failed=$((failed + ${bad%% *}))
    echo "== $name: $line"
    [ "${bad%% *}" -eq 0 ] || echo "$output"
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
