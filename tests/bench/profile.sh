#!/bin/bash
# Where the processor time of a request is spent: microseconds of each thread of the
# server for one, by library, and the functions that take most. Then what locks cost
# that threads share (cores.c). Needs perf (Debian: linux-perf) and wrk.
#
#   tests/bench/profile.sh [put|get|list] [CONNECTIONS] [OPTION...]
#
# The options are those of `kindex serve`. SECONDS_LONG (8) is how long it measures,
# LINES (12) how many functions are shown.
set -eu
TIMEFORMAT='%U %S' # processor seconds
here=$(dirname "$0")
. "$here/serve.sh"
KINDEX=${KINDEX:-$here/../../build/kindex}
kind=${1:-put} connections=${2:-64}
shift $(($# < 2 ? $# : 2))
long=${SECONDS_LONG:-8} lines=${LINES:-12} hertz=2000
for tool in perf wrk node; do
    command -v "$tool" >/dev/null || { echo "profile: $tool is not installed" >&2; exit 1; }
done
work=$(mktemp -d /var/tmp/kindex-profile.XXXXXX)
trap 'server_end TERM; rm -rf "$work"' EXIT
server_begin "$KINDEX" "$@"

# 200,000 entries of 190 bytes with scattered keys; GETs are of a thousand of them, lists
# of 100 by an index whose order is another one.
curl --silent --fail --output "$work/declared" --json \
    '{"name":"by_email","prefix":["items"],"fields":["/email"]}' "$url/indexes"
node -e '
const { write } = require(process.argv[1]);
const [, , work, kind] = process.argv;
const key = (n) => (Math.imul(n, 2654435761) >>> 0).toString(16);
const email = (i) => `user${Math.imul(i, 40503) >>> 0}@example.org`;
const body = (i) => JSON.stringify({ email: email(i), city: "city12", n: i, note: "x".repeat(110) });
const put = (i) => ({ method: "PUT", path: `/kv/items/${key(i)}`, body: body(i) });
const requests = {
    put: (i) => ({ method: "PUT", path: `/kv/plain/${key(i)}`, body: body(i) }),
    get: (i) => ({ path: `/kv/items/${key(i % 1000)}` }),
    list: (i) => ({ path: `/list?index=by_email&start=${email(i)}&limit=100` }),
};
write(`${work}/fill`, 200000, put);
write(`${work}/requests`, 200000, requests[kind]);
' "$(realpath "$here/requests.js")" "$work" "$kind"
send() { # SECONDS FILE
    { time wrk -t1 -c"$connections" -d"$1" -s "$here/replay.lua" "$url" -- "$work/$2" | tail -n 1; } 2>"$work/cpu"
}
send 4 fill >"$work/filled"

perf record -q -F $hertz -e cpu-clock -p "$server" -o "$work/perf" -- sleep $((long + 2)) 2>"$work/complaint" &
send "$long" requests >"$work/sent"
wait $!
grep -q '"status":0,"socket":0' "$work/sent" || { echo "profile: answers with errors: $(cat "$work/sent")" >&2; exit 1; }
requests=$(sed 's/.*"requests":\([0-9]*\).*/\1/' "$work/sent")
echo "$kind, $connections connections: $((requests / long)) requests/s on $(nproc) cores"
awk -v requests="$requests" '{ printf "%-12s %-20s %6.2f us\n\n", "client", "all", ($1 + $2) * 1e6 / requests }' "$work/cpu"
perf script -i "$work/perf" -F comm,ip,sym,dso 2>"$work/complaint" |
    awk -v requests="$requests" -v hertz=$hertz '
        NF >= 4 {
            library = $NF
            gsub(/[()]/, "", library)
            sub(/.*\//, "", library)
            if (library ~ /^\[/ || library ~ /kernel/) library = "kernel"
            thread[$1]++
            part[$1 " " library]++
            symbol[$1 " " library " " $(NF - 1)]++
        }
        function us(samples) { return samples * 1e6 / hertz / requests }
        END {
            for (t in thread) printf "1 %s all %.2f us\n", t, us(thread[t])
            for (p in part) if (us(part[p]) >= 0.05) printf "2 %s %.2f us\n", p, us(part[p])
            for (s in symbol) printf "3 %s %.2f us\n", s, us(symbol[s])
        }' >"$work/sums"
for level in 1 2; do
    awk -v level=$level '$1 == level { printf "%-12s %-20s %6.2f us\n", $2, $3, $4 }' "$work/sums" | sort -k1,1 -k3,3nr
    echo
done
awk '$1 == 3 { printf "%-12s %-20s %-36s %6.2f us\n", $2, $3, $4, $5 }' "$work/sums" | sort -k4,4nr | sed -n "1,${lines}p"
echo
make -s -C "$here/../.." build/libkindex.a
gcc -O2 -D_GNU_SOURCE -I"$here/../../src" "$here/cores.c" "$here/../../build/libkindex.a" -o "$work/cores" \
    -ltalloc -ldb-5.3
"$work/cores"
