#!/bin/bash
# Entries per second of POST /bulk, of one client and of two, and of kindex import:
# 1,000,000 lines of about 100 bytes, each time into a new server, in rounds.
#
#   tests/bench/bulk.sh [ROUNDS] [LINES]
set -eu
. "$(dirname "$0")/serve.sh"
KINDEX=${KINDEX:-$(dirname "$0")/../../build/kindex}
rounds=${1:-5} lines=${2:-1000000}
work=$(mktemp -d "${TMPDIR:-/tmp}/kindex-bulk.XXXXXX")
trap 'server_end TERM; rm -rf "$work"' EXIT

post() { # CLIENTS
    printf '%s\n' "$work"/part.* |
        xargs -P "$1" -I '{}' curl --silent --fail "$url/bulk" --data-binary '@{}' >"$work/replies"
}

import() {
    "$KINDEX" import "$work/lines" --url "$url" 2>"$work/progress"
}

measure() { # WAY COMMAND...
    local way=$1 began ended count
    shift
    rm -rf "$work/data"
    server_begin "$KINDEX"
    began=$(date +%s%N)
    "$@"
    ended=$(date +%s%N)
    count=$(curl --silent "$url/count" | jq .count)
    server_end TERM
    [ "$count" = "$lines" ] || { echo "$way stored $count entries of $lines"; exit 1; }
    echo $((lines * 1000000000 / (ended - began))) | tee -a "$work/$way"
}

node -e '
    const { userId } = require(process.argv[1]);
    const out = [];
    for (let n = 0; n < Number(process.argv[2]); n++)
        out.push(`{"key":["users","${userId(n)}"],"value":{"name":"User ${n}","color":"blue","visits":${n % 1000}}}\n`);
    require("fs").writeFileSync(process.argv[3], out.join(""));' \
    "$(realpath "$(dirname "$0")/data.js")" "$lines" "$work/lines"
split -C 32M "$work/lines" "$work/part."
echo "$lines lines, $(wc -c <"$work/lines") bytes, $(printf '%s\n' "$work"/part.* | wc -l) requests"

for ((round = 1; round <= rounds; round++)); do
    for way in one two import; do
        printf '%-8s' "$way"
        case $way in
        one) measure one post 1 ;;
        two) measure two post 2 ;;
        import) measure import import ;;
        esac
    done
done
for way in one two import; do
    sort -n "$work/$way" | awk -v way="$way" '{ rate[NR] = $1 }
        END { printf "%-8s median %d, %d to %d entries/s\n", way, rate[int((NR + 1) / 2)], rate[1], rate[NR] }'
done
