#!/bin/bash
# Runs the HTTP tests, or those given, against the program in $BUILD, which they
# find in $KINDEX; as many at a time as there are processors. Each starts and
# stops its own server and ends with a line "N passed, N failed"; one that ends
# without it, or not within twenty minutes, counts as a failure. What the servers
# answered is then compared with openapi.yaml.
set -u
cd "$(dirname "$0")/../.."
KINDEX=$(realpath "${BUILD:-build}/kindex")
export KINDEX
compare=no
[ $# -gt 0 ] || compare=yes
[ $# -gt 0 ] || set -- tests/http/[0-9]*.sh
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Leaves NAME.output, NAME.status and NAME.record in $work.
run_one() {
    local name=$1/$(basename "$2")
    KX_RECORD=$name.record timeout --kill-after=10 1200 bash "$2" \
        >"$name.output" 2>&1 </dev/null
    echo $? >"$name.status"
}
export -f run_one

# Adds the last line of an output to the sums. count TITLE OUTPUT STATUS
count() {
    local line ok bad
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$2" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 1 failed}"
    [ "$3" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        echo "== $1: $ok passed, $bad failed, exit code $3"
        cat "$2"
    fi
}

printf '%s\0' "$@" |
    xargs -0 -n 1 -P "$(nproc)" bash -c 'run_one "$0" "$1"' "$work"
for script in "$@"; do
    name=$work/$(basename "$script")
    count "$script" "$name.output" "$(cat "$name.status")"
done

if [ $compare = yes ]; then
    tests/lib/npm.sh tests/openapi >"$work/compare" 2>&1 &&
        node tests/openapi/responses.js openapi.yaml "$work"/*.record \
            >"$work/compare" 2>&1
    count "answers as in openapi.yaml" "$work/compare" $?
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
