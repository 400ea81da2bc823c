#!/bin/bash
# Runs cmocka programs and ends with "N passed, N failed". A program that
# dies, that runs no test, or that waits for ever (ten minutes) for what never
# comes, counts as one failure; only failures are shown.
set -u
passed=0
failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

for program in "$@"; do
    timeout --kill-after=10 600 "$program" >"$output" 2>&1 </dev/null
    status=$?
    ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$output" |
         awk '{ sum += $1 } END { print sum + 0 }')
    bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$output" |
          awk '{ sum += $1 } END { print sum + 0 }')
    if [ "$bad" -eq 0 ] && { [ $status -ne 0 ] || [ "$ok" -eq 0 ]; }; then
        bad=1
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        echo "== $program: $ok passed, $bad failed, exit code $status"
        grep -v -E '^\[( RUN |       OK )' "$output"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
