#!/bin/bash
# The console: its modules in Node, its pages in a real browser, and flaws that
# are planted and must be found. BUILD says where the program was built; with
# arguments only these test files; KX_SCREENSHOTS is a folder for pictures. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")"
. ../lib/path.sh
KINDEX=$(cd ../.. && realpath "${BUILD:-build}")/kindex
export KINDEX
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# Node takes files named .js as modules where package.json says so.
cp ../../api/console/*.js "$work/"
echo '{"type":"module"}' >"$work/package.json"
export KX_CONSOLE=$work

# Runs test files; sets ok and bad, and leaves what was said in $work/said.
run() {
    node --test --test-concurrency=1 --test-reporter=spec "$@" >"$work/said" 2>&1
    ok=$(sed -n 's/^ℹ pass //p' "$work/said")
    bad=$(sed -n 's/^ℹ fail //p' "$work/said")
    if [ -z "$ok" ] || [ $((ok + bad)) -eq 0 ]; then ok=0 bad=1; fi
}

# A file with a failure runs once more, as a story does: what depends on how busy the
# machine is passes then, and is said.
part() { # FILE
    run "$@"
    if [ "$bad" -gt 0 ]; then
        sed 's/^/    first: /' "$work/said"
        run "$@"
        [ "$bad" -gt 0 ] || echo "unsteady: $*"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    echo "== $*: $ok passed, $bad failed"
    [ "$bad" -eq 0 ] || cat "$work/said"
}

# planted TEST-FILE NAME FILE TEXT REPLACEMENT: the test of that name must fail.
planted() {
    KX_PLANT=$(printf '%s\t%s\t%s' "$3" "$4" "$5") run --test-name-pattern "$2" "$1"
    if [ "$bad" -gt 0 ] && ! grep -q 'the flaw can be planted' "$work/said"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "== planted in $3, and not found by \"$2\""
        cat "$work/said"
    fi
}

if ! ../lib/npm.sh .; then
    echo "the npm packages could not be installed"
    echo "0 passed, 1 failed"
    exit 1
fi
if [ $# -gt 0 ]; then
    for file in "$@"; do part "$file"; done
else
    for file in *.test.mjs *.test.js; do part "$file"; done
    . ./planted.sh
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
