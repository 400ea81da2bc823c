#!/bin/bash
# Runs every part of the test in order, shows name, result and time of each,
# and ends with the sum: "N passed, N failed". A part is a make target; the
# last line "N passed, N failed" that it prints is its count. A part that
# fails, or that counts nothing, fails the whole. With arguments: these parts.
set -u
cd "$(dirname "$0")/.."
make=${MAKE:-make}
logs=${BUILD:-build}/test-logs
mkdir -p "$logs"

# Target, and what it shows. The order is from quick to slow.
parts='
format-check      the code has one format
clang             the second compiler has no warning
shape             layers, sizes, contracts
shape-self-test   each shape check finds a planted violation
cppcheck          static analysis has nothing to say
openapi-check     openapi.yaml, routes and errors agree
unit              modules
asan-unit         modules, under sanitizers
fuzz-short        what random input finds
http              the service over HTTP
asan-http         the service over HTTP, under sanitizers
deno              unmodified Deno and @deno/kv programs
packaging         the Debian package, its unit, the manual page
fault             killed and restarted, nothing acknowledged is lost
instructions      instructions per request
'
[ $# -eq 0 ] || parts=$(printf '%s\n' "$@")

passed=0
failed=0
began=$SECONDS

# Adds a part's count to the sums; says what was wrong.
count() {
    local part=$1 status=$2 log=$3 line
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
    local ok=${line%% *} bad=${line#*, }
    bad=${bad%% *}
    if [ -z "$line" ] || [ $((ok + bad)) -eq 0 ]; then
        ok=0 bad=1
        echo "$part: ran no test (exit code $status)" >>"$log"
    elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "$part: exit code $status" >>"$log"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    verdict="$ok passed, $bad failed"
    [ "$bad" -eq 0 ]
}

echo "building"
if ! $make -s --no-print-directory -j"${JOBS:-2}" all </dev/null; then
    echo "0 passed, 1 failed"
    exit 1
fi

while read -r part shows; do
    [ -n "$part" ] || continue
    started=$SECONDS
    $make -s --no-print-directory -j"${JOBS:-2}" "$part" \
        >"$logs/$part.log" 2>&1 </dev/null
    if count "$part" $? "$logs/$part.log"; then
        mark=ok
    else
        mark=FAILED
    fi
    printf '%-6s %-16s %-24s %4d s  %s\n' "$mark" "$part" "$verdict" \
        $((SECONDS - started)) "$shows"
    [ $mark = ok ] || sed 's/^/    /' "$logs/$part.log"
done <<<"$parts"

echo "in $((SECONDS - began)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
