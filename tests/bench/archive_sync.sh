#!/bin/bash
# What an archive, and --archive-sync, cost writes: PUTs a second of 1, 16 and 64 clients to
# spread keys, without an archive, with one, with one that standbys follow, and with a server
# that answers only what the archive has. The archive is a directory on the same disk. All
# four take turns in each round, each with a new store; a figure is the median.
#
#   archive_sync.sh [ROUNDS [SECONDS]]     3 rounds, 5 seconds
set -eu
cd "$(dirname "$0")/../.." || exit
rounds=${1:-3}
seconds=${2:-5}
program=${KINDEX:-$PWD/${BUILD:-build}/kindex}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/kindex-bench.XXXXXX")
trap 'server_end KILL; rm -rf "$work"' EXIT
. tests/bench/serve.sh
fail() {
    echo "archive_sync: $*" >&2
    exit 1
}

# puts CLIENTS: a second, in $found
puts() {
    local threads=$(($1 < 2 ? 1 : 2))
    wrk --threads $threads --connections "$1" --duration "${seconds}s" \
        --script tests/bench/long_transaction.lua "$url" -- spread 200000 0 >"$work/wrk" ||
        fail 'wrk has failed'
    ! grep -E 'Non-2xx|Socket errors' "$work/wrk" >&2 || fail 'not all were answered'
    found=$(awk '/^Requests\/sec/ { printf("%d", $2) }' "$work/wrk")
}
# measure NAME OPTION...
measure() {
    local name=$1 clients
    mkdir "$work/archive"
    server_begin "$program" "${@:2}"
    until curl --silent --fail --output /dev/null --request PUT --data 1 "$url/kv/first"; do
        sleep 0.05
    done
    for clients in 1 16 64; do
        puts $clients
        echo "$found" >>"$work/$name.$clients"
    done
    server_end KILL
    rm -rf "$work/data" "$work/archive"
}
median() {
    sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

for needed in curl wrk awk; do
    [ -n "$(type -P $needed)" ] || fail "$needed is missing"
done
for ((round = 0; round < rounds; round++)); do
    measure none
    measure archive --archive "$work/archive"
    measure followed --archive "$work/archive" --followed
    measure sync --archive "$work/archive" --followed --archive-sync
done
printf '%-28s %8s %8s %8s\n' 'PUT/s of clients' 1 16 64
for name in none archive followed sync; do
    printf '%-28s %8d %8d %8d\n' "$name" \
        "$(median "$work/$name.1")" "$(median "$work/$name.16")" "$(median "$work/$name.64")"
done
