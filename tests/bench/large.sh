#!/bin/bash
# What grows with the data: import of scattered keys, the same through sort(1), with the
# time that it takes, the build of two indexes, GETs
# (64 connections), lists of 100 by an index (16), updates that move both index
# entries (64), a restart after SIGKILL under writes, and a count of all, each with a
# million entries, or SMALL, and with more, in turn. wrk has to be there.
#
#   tests/bench/large.sh [ENTRIES] [OPTION...]     20,000,000 entries; make bench-large
#
# The options are those of `kindex serve`. BASE is another program, to compare with;
# with COLD=1 the system's memory has no file when the restart begins (as root).
# The rows of others at the same size follow (large_peers.sh), unless PEERS is "no".
# DIRECTORY is where the data lie: 1000 bytes for each entry must be free there.
set -eu
here=$(dirname "$0")
. "$here/serve.sh"
. "$here/users.sh"
KINDEX=${KINDEX:-$here/../../build/kindex}
large=${1:-20000000}
shift || :
options=("$@")
[ $# -gt 0 ] || options=(--cache 3GiB)
directory=${DIRECTORY:-/var/tmp}
free=$(df --output=avail -B1 "$directory" | tail -n 1)
if [ "$free" -lt $((large * 1000)) ]; then
    echo "$directory has $((free >> 20)) MiB free; $large entries need $((large * 1000 >> 20))" >&2
    exit 1
fi
work=$(mktemp -d "$directory/kindex-large.XXXXXX")
trap 'server_end KILL; rm -rf "$work"' EXIT

now() { date +%s%N; }
rate() { echo $(($1 * 1000000000 / ($(now) - $2))); }

index() { # NAME FIELD
    curl --silent --fail "$url/indexes" --json \
        "{\"name\":\"$1\",\"prefix\":[\"users\"],\"fields\":[\"$2\"]}" >"$work/reply"
}

# The seconds left by the estimate, at a tenth, at a half and at nine tenths of the
# build, and those that were left: "$work/estimates" has lines "MS PERCENT ETA".
watch_builds() { # BEGAN
    local line
    : >"$work/estimates"
    while line=$(curl --silent "$url/indexes" | jq -r '[.indexes[] | .build | select(.)] |
            max_by(.etaSeconds) | select(.) | "\(.percent) \(.etaSeconds)"') && [ -n "$line" ]; do
        echo "$((($(now) - $1) / 1000000)) $line" >>"$work/estimates"
        sleep 0.2
    done
}

estimates() { # MILLISECONDS of the build
    awk -v took="$1" 'BEGIN { at[1] = 0.1; at[2] = 0.5; at[3] = 0.9 }
        $3 != "null" { for (i = 1; i <= 3; i++) if (!done[i] && $1 >= took * at[i]) {
            done[i] = 1
            printf("%s%d of %.1f s", (i > 1 ? ", " : ""), $3, (took - $1) / 1000) } }' "$work/estimates"
}

# Sets $rate, a second, and $slowest, the 99th percentile. A request that fails is an
# error: the entries were not what they should be.
ask() { # KIND CONNECTIONS ENTRIES
    wrk -t1 -c"$2" -d"${SECONDS_OF:-10}s" --latency -s "$here/large.lua" "$url" -- "$1" "$3" >"$work/wrk"
    if grep -E 'Non-2xx|Socket errors' "$work/wrk" >&2; then exit 1; fi
    rate=$(awk '/^Requests\/sec/ { printf("%d", $2) }' "$work/wrk")
    slowest=$(awk '$1 == "99%" { print $2 }' "$work/wrk")
}

sort_keys() {
    LC_ALL=C sort --buffer-size=1G --temporary-directory="$work"
}

# Into an empty store, which stays open; sets $imported, a second.
import() { # PROGRAM ENTRIES FILTER
    local began
    rm -rf "$work/data"
    server_begin "$1" "${options[@]}"
    began=$(now)
    users "$2" | "$3" | "$1" import - --url "$url" 2>"$work/progress" >"$work/reply"
    imported=$(rate "$2" "$began")
}

measure() { # PROGRAM ENTRIES
    local gets lists updates
    local began took imported sorted built restarted counted
    import "$1" "$2" sort_keys
    sorted=$imported
    server_end KILL
    import "$1" "$2" cat
    began=$(now)
    index by_email /email
    index by_city /city
    watch_builds "$began"
    took=$((($(now) - began) / 1000000))
    built=$((2 * $2 * 1000 / took))
    [ "$(curl --silent "$url/indexes" | jq '[.indexes[].entries] | add')" = $((2 * $2)) ] ||
        { echo 'an index is not complete' >&2 && exit 1; }
    ask warm 16 "$2"
    ask get 64 "$2" && gets=$rate
    ask list 16 "$2" && lists=$rate
    ask update 64 "$2" && updates="$rate, $slowest"
    users $(($2 < 200000 ? $2 : 200000)) | sed 's/city\([0-9]\)/town\1/' | timeout --signal=KILL 5 "$1" import - --overwrite --url "$url" >"$work/reply" 2>&1 || :
    server_end KILL
    [ -z "${COLD-}" ] || { sync && echo 3 >/proc/sys/vm/drop_caches; }
    began=$(now)
    server_begin "$1" "${options[@]}"
    restarted=$((($(now) - began) / 1000000))
    began=$(now)
    [ "$(curl --silent "$url/count" | jq .count)" = $((3 * $2)) ] || { echo 'entries are missing' >&2 && exit 1; }
    counted=$((($(now) - began) / 1000000))
    server_end TERM
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "${3-}$2" "$imported" "$sorted" "$built" \
        "$((took / 1000)).$((took % 1000 / 100))" "$(estimates "$took")" "$gets" "$lists" "$updates" \
        "$restarted" "$counted"
}

echo '| entries | import/s | sorted, import/s | index entries built/s | s | estimate at 0.1, 0.5, 0.9 | GET/s | lists/s | updates/s, p99 | restart, ms | count, ms |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
for entries in "${SMALL:-1000000}" "$large"; do
    [ -z "${BASE-}" ] || measure "$BASE" "$entries" 'base: '
    measure "$KINDEX" "$entries"
done
[ "${PEERS-yes}" = no ] || "$here/large_peers.sh" "$large"
