#!/bin/bash
# The console: its modules in Node, its pages in a real browser, and flaws that are planted
# and must be found. Several run at a time, each with its own browser and servers, for they
# spend most of their time waiting: a test that finds a flaw waits for what never comes.
# BUILD says where the program was built; with arguments only these test files;
# KX_SCREENSHOTS is a folder for pictures. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")"
. ../lib/path.sh
. ../lib/sums.sh
KINDEX=$(cd ../.. && realpath "${BUILD:-build}")/kindex
export KINDEX
export work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# Node takes files named .js as modules where package.json says so. The modules are those that
# browsers get.
cp "${KINDEX%/*}"/served/*.js "$work/"
echo '{"type":"module"}' >"$work/package.json"
export KX_CONSOLE=$work

# run OUTPUT OPTION-OR-FILE...: runs test files; the output ends with their count.
run() {
    local ok bad
    node --test --test-concurrency=1 --test-reporter=spec "${@:2}" >"$1" 2>&1 </dev/null
    ok=$(sed -n 's/^ℹ pass //p' "$1")
    bad=$(sed -n 's/^ℹ fail //p' "$1")
    if [ -z "$ok" ] || [ $((ok + bad)) -eq 0 ]; then ok=0 bad=1; fi
    echo "$ok passed, $bad failed" >>"$1"
}

# finds OUTPUT TEST-FILE NAME REASON FILE TEXT REPLACEMENT: the test of that name must fail on
# this flaw, and say the reason. A test that would wait a minute for what the flaw prevents
# waits 20 seconds.
finds() {
    KX_WAIT_MS=20000 KX_PLANT=$(printf '%s\t%s\t%s' "$5" "$6" "$7") run "$1" --test-name-pattern "$3" "$2"
    read_count 0 "$1"
    if [ "$bad" -gt 0 ] && grep -qE -- "$4" "$1"; then
        echo '1 passed, 0 failed' >>"$1"
    else
        echo "FAILED: planted in $5, and not found by \"$3\" for \"$4\"" >>"$1"
        echo '0 passed, 1 failed' >>"$1"
    fi
}

# step NUMBER WHAT...: WHAT is a test file, or the words of a flaw
step() {
    if [ $# -eq 2 ]; then run "$work/$1.output" "$2"; else finds "$work/$1.output" "${@:2}"; fi
}
export -f run finds read_count step

# A file with a failure runs once more, with nothing of this run beside it, as a story does:
# what depends on how busy the machine is passes then, and is said.
conclude() { # NUMBER WHAT...
    local output=$work/$1.output ok bad
    read_count 0 "$output"
    if [ "$bad" -gt 0 ] && [ $# -eq 2 ]; then
        sed 's/^/    first: /' "$output"
        run "$output" "$2"
        read_count 0 "$output"
        [ "$bad" -gt 0 ] || echo "unsteady: $2"
    fi
    add_count 0 "$output"
    [ $# -gt 2 ] || echo "== $2: $ok passed, $bad failed"
    [ "$bad" -eq 0 ] || cat "$output"
}

if ! ../lib/npm.sh .; then
    echo "the npm packages could not be installed"
    echo "0 passed, 1 failed"
    exit 1
fi
steps=()
planted() { # TEST-FILE [NAME REASON FILE TEXT REPLACEMENT]
    steps+=("$((${#steps[@]} + 1))$(printf ' %q' "$@")")
}
if [ $# -eq 0 ]; then
    set -- *.test.mjs *.test.js
    . ./planted.sh
fi
for file in "$@"; do planted "$file"; done
printf '%s\n' "${steps[@]}" | tac |
    xargs -d '\n' -n 1 -P $((2 * $(nproc))) bash -c 'eval "step $1"' step
for words in "${steps[@]}"; do eval "conclude $words"; done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
