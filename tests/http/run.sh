#!/bin/bash
# Runs the HTTP tests in their order, or those given, against the program in
# $BUILD (which they find in $KINDEX). Each starts and stops its own server and ends with a line
# "N passed, N failed"; one that ends without it counts as a failure.
set -u
cd "$(dirname "$0")/../.."
KINDEX=$(realpath "${BUILD:-build}/kindex")
export KINDEX
[ $# -gt 0 ] || set -- tests/http/[0-9]*.sh
passed=0
failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

for script in "$@"; do
    bash "$script" >"$output" 2>&1 </dev/null
    status=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 1 failed}"
    [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        echo "== $script: $ok passed, $bad failed, exit code $status"
        cat "$output"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
