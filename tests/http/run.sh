#!/bin/bash
# Runs the HTTP tests, or those given, against the program in $BUILD, which they
# find in $KINDEX; as many at a time as there are processors. Each starts and
# stops its own server and ends with a line "N passed, N failed"; one that ends
# without it, or not within twenty minutes, counts as a failure. What the servers
# answered is then compared with openapi.yaml, unless only some are run.
#
# With ENGINE=postgresql the servers keep their rows in a PostgreSQL that is
# started for the run. The stories that do not apply to it are in ENGINES.
# http-postgresql-14 and -18 start a version of tests/postgresql, others the installed one.
#
# A story that fails runs a second time, with nothing of this run beside it: on a busy
# machine a client can be so late that the server rightly treats it as a slow one. Both
# outputs are shown, and a line "unsteady: STORY". What a sanitizer reports, a server
# that crashed and a story that took longer than ten minutes have no second run.
#
#   run.sh [http-broad | http-postgresql[-14 | -18] | FILE...]
set -u
cd "$(dirname "$0")/../.."
. tests/lib/path.sh
. tests/lib/sums.sh
KINDEX=$(realpath "${BUILD:-build}/kindex")
export KINDEX

# Stories that measure the program's memory or how other clients fare, which sanitizers
# change, and those of long loads. They run without sanitizers; the first runs with
# sanitizers too.
broad='46-watch 77-hostile 77-shares 84-prometheus 86-backup-load 94-memory'
export compare=
version=

# All stories, without those that sanitizers would only slow down.
stories() {
    if grep -q __asan_init "$KINDEX"; then
        # shellcheck disable=SC2086 # a list of words
        printf '%s\n' tests/http/[0-9]*.sh | grep -vxF "$(printf 'tests/http/%s.sh\n' ${broad#* })"
    else
        printf '%s\n' tests/http/[0-9]*.sh
    fi
}

case ${1:-all} in
all)
    compare=yes
    # shellcheck disable=SC2046 # paths without spaces
    set -- $(stories) ;;
http-broad)
    # shellcheck disable=SC2086 # a list of words
    set -- $(printf 'tests/http/%s.sh ' $broad) ;;
http-postgresql*)
    ENGINE=postgresql version=${1#http-postgresql} version=${version#-}
    # shellcheck disable=SC2046 # a list of words
    set -- $(sed -nE "s#^(short${version:+|each}) ([^ ]*).*#tests/http/\2.sh#p" tests/http/ENGINES) ;;
esac
export ENGINE=${ENGINE:-bdb}
passed=0
failed=0
work=$(mktemp -d)
trap 'end_run' EXIT
end_run() {
    [ -z "${KX_POSTGRES-}" ] || postgres_stop
    rm -rf "$work"
}

# Drops the stories that do not apply from the list, unless it is one by hand.
applying() {
    local script name
    for script in "$@"; do
        name=$(basename "$script" .sh)
        grep -q -E "^(none|each) $name " tests/http/ENGINES || echo "$script"
    done
}
if [ "$ENGINE" = postgresql ]; then
    . tests/lib/postgres.sh
    [ -z "$version" ] || postgres_version "$version" "$work/programs" ||
        { echo "0 passed, 1 failed"; exit 1; }
    postgres_start "$work/postgres" || { echo "0 passed, 1 failed"; exit 1; }
    # shellcheck disable=SC2046 # paths without spaces
    [ -z "$compare" ] || set -- $(applying "$@")
fi

# Leaves NAME.output, NAME.status and, to compare, NAME.record in $work. A report of
# a sanitizer, of any process, is in NAME.report.*.
run_one() {
    local name=$1/$(basename "$2") begun=$SECONDS
    KX_RECORD=${compare:+$name.record} \
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$name.report \
        UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}log_path=$name.report \
        timeout --kill-after=10 1200 bash "$2" >"$name.output" 2>&1 </dev/null
    echo $? >"$name.status"
    echo $((SECONDS - begun)) >"$name.seconds"
    if compgen -G "$name.report.*" >"$name.reports"; then
        cat "$name".report.* >>"$name.output"
        echo 66 >"$name.status"
    fi
}
export -f run_one

failed_by_chance() {
    [ "$(cat "$1.status")" -ne 0 ] && [ ! -s "$1.reports" ] &&
        [ "$(cat "$1.seconds")" -lt 600 ] &&
        ! grep -qE 'Segmentation fault|Aborted|dumped core|core dumped' "$1.output"
}

# Adds the last line of an output to the sums. count TITLE OUTPUT STATUS
count() {
    local ok bad
    add_count "$3" "$2"
    if [ "$bad" -gt 0 ]; then
        echo "== $1: $ok passed, $bad failed, exit code $3"
        cat "$2"
    fi
}

printf '%s\0' "$@" |
    xargs -0 -n 1 -P "$(nproc)" bash -c 'run_one "$0" "$1"' "$work"
for script in "$@"; do
    name=$work/$(basename "$script")
    if failed_by_chance "$name"; then
        mv "$name.output" "$name.first"
        run_one "$work" "$script"
        [ "$(cat "$name.status")" -ne 0 ] || echo "unsteady: $script"
        sed 's/^/    first: /' "$name.first"
    fi
    count "$script" "$name.output" "$(cat "$name.status")"
done

if [ -n "$compare" ]; then
    tests/lib/npm.sh tests/openapi >"$work/compare" 2>&1 &&
        node tests/openapi/responses.js "${BUILD:-build}/openapi.json" "$work"/*.record \
            >"$work/compare" 2>&1
    count "answers as in openapi.yaml" "$work/compare" $?
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
