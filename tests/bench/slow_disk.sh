#!/bin/bash
# Updates that move the entries of two indexes (64 connections), lists of 100 by an index
# (16), requests for 100 entries (16), GETs (64), and GETs of one entry (4) while lists are
# asked for, of a store that is larger than its cache, on a disk that takes 150 us for each
# read of a page (READ_US; 0: what this machine takes). wrk and a compiler have to be there.
#
#   tests/bench/slow_disk.sh [ROUNDS] [ENTRIES] [OPTION...]     3 rounds, 3,000,000
#
# The options are those of `kindex serve`. BASE is another program, to compare with.
set -eu
here=$(dirname "$0")
. "$here/serve.sh"
. "$here/users.sh"
KINDEX=${KINDEX:-$here/../../build/kindex}
rounds=${1:-3} entries=${2:-3000000}
shift $(($# < 2 ? $# : 2))
options=("$@")
[ $# -gt 0 ] || options=(--cache 512MiB)
work=$(mktemp -d "${DIRECTORY:-/var/tmp}/kindex-slow.XXXXXX")
trap 'server_end KILL; rm -rf "$work"' EXIT
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/slow.so" "$here/../fault/slow_disk.c" -ldl

server_begin "$KINDEX" "${options[@]}"
users "$entries" | "$KINDEX" import - --url "$url" >"$work/reply" 2>"$work/progress"
for field in email city; do
    curl --silent --fail --output "$work/reply" --header 'Prefer: wait=300' --json \
        "{\"name\":\"by_$field\",\"prefix\":[\"users\"],\"fields\":[\"/$field\"]}" "$url/indexes"
done
[ "$(curl --silent "$url/indexes" | jq '[.indexes[].entries] | add')" = $((2 * entries)) ] ||
    { echo 'an index is not complete' >&2 && exit 1; }
server_end TERM

send() { # KIND CONNECTIONS
    wrk -t1 -c"$2" -d"${SECONDS_OF:-6}s" --latency -s "$here/large.lua" "$url" -- "$1" "$entries"
}
ask() { # KIND CONNECTIONS
    send "$@" >"$work/wrk"
    if grep -E 'Non-2xx|Socket errors' "$work/wrk" >&2; then exit 1; fi
    printf ' %s |' "$(awk '/^Requests\/sec/ { rate = int($2) } $1 == "99%" { slowest = $2 }
        END { print rate ", " slowest }' "$work/wrk")"
}

echo '| program | updates/s, p99 | lists/s, p99 | get-many/s, p99 | GETs/s, p99 | GETs of one beside lists/s, p99 |'
echo '|---|---|---|---|---|---|'
for ((round = 0; round < rounds; round++)); do
    for program in ${BASE-} "$KINDEX"; do
        export LARGE_SEED=$((2 * round)) # other entries than those in memory
        [ "$program" != "$KINDEX" ] || LARGE_SEED=$((2 * round + 1))
        export LD_PRELOAD=$work/slow.so KX_SLOW_READ_US=${READ_US-150}
        server_begin "$program" "${options[@]}"
        unset LD_PRELOAD
        printf '| %s |' "$([ "$program" = "$KINDEX" ] && echo kindex || echo base)"
        ask update 64
        ask list 16
        ask many 16
        ask get 64
        send list 16 >"$work/lists" &
        ask hot 4
        wait $!
        echo
        server_end TERM
    done
done
