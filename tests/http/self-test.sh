#!/bin/bash
# run.sh must be able to fail: it is given stories that fail always, once, with a
# report of a sanitizer, with a crash, or that end without a count. The unit tests'
# run.sh likewise. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# runs SENTENCE RUNNER STATUS RUNS UNSTEADY LINE...: a script of these lines
runs() {
    local script=$work/planted.sh said status
    rm -f "$work"/run.*
    printf '%s\n' '#!/bin/bash' "touch $work/run.\$\$" "${@:6}" >"$script"
    chmod +x "$script"
    said=$("$2" "$script" 2>&1)
    status=$?
    if [ "$status" -eq "$3" ] && [ "$(find "$work" -name 'run.*' | wc -l)" -eq "$4" ] &&
        [ "$(grep -c '^unsteady: ' <<<"$said")" -eq "$5" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: exit status $status"
        echo "$said"
    fi
}

first="[ \$(ls $work/run.* | wc -l) -eq 1 ]"
story() { runs "$1" tests/http/run.sh "${@:2}"; }
unit() { runs "$1" tests/unit/run.sh "${@:2}"; }
lost='echo "0 passed, 1 failed"; exit 1'
held='echo "1 passed, 0 failed"'
story 'a story that passes runs once' 0 1 0 "$held"
story 'a story that fails again is a failure' 1 2 0 "$lost"
story 'a story that fails once is unsteady' 0 2 1 "if $first; then $lost; fi" "$held"
story 'a report of a sanitizer is a failure, also in a story that passes' 1 1 0 \
    'touch "${ASAN_OPTIONS##*log_path=}.7"' "$held"
story 'a crash of a story is a failure' 1 1 0 "if $first; then echo 'line 9: 77 Segmentation fault'; $lost; fi" "$held"
story 'a story without a count is a failure' 1 1 0 'exit 0'

bad='echo "[  FAILED  ] 1 test(s), listed below:"; exit 1'
good='echo "[  PASSED  ] 1 test(s)."'
unit 'a unit test that fails again is a failure' 1 2 0 "$bad"
unit 'a unit test that fails once is unsteady' 0 2 1 "if $first; then $bad; fi" "$good"
unit 'a report of a sanitizer is a failure' 1 1 0 \
    "if $first; then echo 'SUMMARY: AddressSanitizer: leak'; $bad; fi" "$good"

# What a summary of failures shows of a long output.
. tests/lib/sums.sh
explains() { # SENTENCE LINE...
    { printf '%s\n' "${@:2}" && seq 100; } >"$work/output"
    if [[ $(reasons "$work/output") == *"$2"*$'\n'100 ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
    fi
}
explains 'a summary shows what a check has found' 'found: entry 3 is lost'
explains 'a summary shows the error that ended a test' 'TypeError: x is not a function' '    at run (nodes.js:3:1)'
explains 'a summary shows the assertion of a unit test' '[  ERROR   ] --- 1 != 2'
explains 'a summary shows the report of a sanitizer' '==7==ERROR: AddressSanitizer: heap-use-after-free'
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
