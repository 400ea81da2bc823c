#!/bin/bash
# Runs cmocka programs and ends with "N passed, N failed". A program that
# dies, that runs no test, or that waits for ever (ten minutes) for what never
# comes, counts as one failure; only failures are shown. One that fails runs a second
# time, as those of tests/http do (run.sh there says why), unless a sanitizer reported
# something or it died or waited; a line "unsteady: PROGRAM" says so.
set -u
passed=0
failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

run() {
    timeout --kill-after=10 600 "$1" >"$output" 2>&1 </dev/null
    status=$?
}

# The status of a cmocka program is the number of its failures.
failed_by_chance() {
    [ $status -gt 0 ] && [ $status -lt 66 ] && grep -q '^\[  FAILED  \]' "$output" &&
        ! grep -qE 'Sanitizer|runtime error:' "$output"
}

for program in "$@"; do
    run "$program"
    if failed_by_chance; then
        sed 's/^/    first: /' "$output"
        run "$program"
        [ $status -ne 0 ] || echo "unsteady: $program"
    fi
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
