#!/bin/bash
# Runs the HTTP tests in their order, or those given, against the program in
# $BUILD, which they find in $KINDEX. Each starts and stops its own server and
# ends with a line "N passed, N failed"; one that ends without it counts as a
# failure. What the server answered is then compared with openapi.yaml.
set -u
cd "$(dirname "$0")/../.."
KINDEX=$(realpath "${BUILD:-build}/kindex")
export KINDEX
own=no
[ $# -gt 0 ] || own=yes
[ $# -gt 0 ] || set -- tests/http/[0-9]*.sh
passed=0
failed=0
output=$(mktemp)
KX_RECORD=$(mktemp)
export KX_RECORD
trap 'rm -f "$output" "$KX_RECORD"' EXIT

# Runs one command and adds its last line to the sums.
count() {
    local name=$1 line ok bad status
    shift
    "$@" >"$output" 2>&1 </dev/null
    status=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 1 failed}"
    [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        echo "== $name: $ok passed, $bad failed, exit code $status"
        cat "$output"
    fi
}

for script in "$@"; do
    count "$script" bash "$script"
done
if [ $own = yes ]; then
    tests/openapi/install.sh &&
        count "answers as in openapi.yaml" \
            node tests/openapi/responses.js openapi.yaml "$KX_RECORD" ||
        failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
