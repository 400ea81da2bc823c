#!/bin/bash
# Unmodified Deno and @deno/kv programs against the server in $BUILD: each story
# runs in Deno and in Node, each time with a server of its own. Ends with "N
# passed, N failed". With arguments: these stories.
set -u
cd "$(dirname "$0")"
. ../lib/path.sh
export KINDEX
KINDEX=$(realpath "../../${BUILD:-build}/kindex")
. ../lib/http.sh
. ../lib/sums.sh
[ $# -gt 0 ] || set -- [a-z]*[a-z].mjs

if ! ../lib/npm.sh . || ! deno=$(node -p 'require("./deno.js")'); then
    echo "the npm packages could not be installed"
    exit 1
fi
export DENO_PROGRAM=$deno
export DENO=$deno DENO_DIR=$work/deno DENO_NO_UPDATE_CHECK=1 NO_COLOR=1
export DENO_KV_ACCESS_TOKEN='any token'

run_in() {
    local world=$1
    shift
    case $world in
    Node) timeout 600 node "$@" ;;
    Deno) timeout 600 "$deno" run --quiet --no-config --unstable-kv \
        --allow-all "$@" ;;
    esac
}

# said NAME STATUS OUTPUT: adds its count, shows one with a failure.
said() {
    local ok bad
    printf '%s\n' "$3" >"$work/said"
    add_count "$2" "$work/said"
    echo "== $1: $ok passed, $bad failed"
    [ "$bad" -eq 0 ] || reasons "$work/said"
}

# What the nodes of a story have in common.
new_database() {
    [ -n "${KX_POSTGRES-}" ] || own_database
    postgres_database "$1" || exit 1
    export KX_ENGINE=$found KX_LOG=$work/node
}

story() {
    local output
    rm -rf "$work/data"
    [ "$2" != failover.mjs ] || new_database "$1"
    start_server
    output=$(run_in "$1" "$2" "$url" 2>&1)
    said "$1 $2" $? "$output"
    stop_server || said "the server after $1 $2" 1 "$(tail -5 "$log")"
}

for name in "$@"; do
    [ "$name" != kv.mjs ] || continue
    story Node "$name"
    story Deno "$name"
done
ended=yes
