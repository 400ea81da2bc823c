#!/bin/bash
# What slow clients do to the others, by hand: the latencies of 64 connections
# of wrk alone, and with 500 slow requests and 100 slow readers beside them.
#
#   tests/bench/hostile.sh [SECONDS]
set -u
cd "$(dirname "$0")/../.." || exit
seconds=${1:-10}
program=${BUILD:-build}/kindex
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; wait "$server"; rm -rf "$work"' EXIT

"$program" serve --data "$work/data" --listen 127.0.0.1:0 --header-timeout \
    "$((seconds + 5))s" --body-timeout "$((seconds + 5))s" \
    --port-file "$work/port" >"$work/out" 2>"$work/log" &
server=$!
until [ -s "$work/port" ]; do sleep 0.05; done
url=http://127.0.0.1:$(cat "$work/port")
for i in $(seq 2000); do
    printf '{"key":["rows",%d],"value":"%08000d"}\n' "$i" "$i"
done | "$program" import --url "$url" >"$work/imported" 2>&1
curl --silent --output "$work/null" --request PUT --json '{"n":1}' "$url/kv/one"

load() {
    echo "$1:"
    wrk --threads 1 --connections 64 --duration "${seconds}s" --latency \
        "$url/kv/one" | grep -E '^ +(50|99)%|Requests/sec|Non-2xx'
}

load alone
node tests/http/hostile.js "${url##*:}" "$server" >"$work/hostile" &
hostile=$!
until [ "$(curl --silent "$url/metrics" |
    sed -n 's/^kindex_http_connections //p')" -gt 590 ]; do sleep 0.1; done
load 'beside them'
wait "$hostile"
cat "$work/hostile"
