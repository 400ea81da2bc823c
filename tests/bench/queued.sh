#!/bin/bash
# How long a client waits beside many requests of another one, by hand: its
# /livez and a GET of a cached entry, while the other client keeps 400 POST /get
# with 1000 ranges each, 200 GET /indexes of 240 indexes, 200 GET /metrics or 60
# of the largest POST /explain in the queue. At the end the memory that the
# server took at most, which is to stay below --cache + --bodies-max + 64 MB.
#
#   tests/bench/queued.sh [SECONDS [CASE...]]
set -u
cd "$(dirname "$0")/../.." || exit
seconds=${1:-5}
shift $(($# > 0))
[ $# -gt 0 ] || set -- get indexes metrics explain
build=${BUILD:-build}
cache=64 bodies=256
${MAKE:-make} -s --no-print-directory "$build/kindex" "$build/bench/queued" || exit
work=$(mktemp -d)
trap 'server_end TERM; rm -rf "$work"' EXIT
. tests/bench/serve.sh
server_begin "${PROGRAM:-$build/kindex}" --cache ${cache}M --bodies-max ${bodies}M
port=$(cat "$work/port")

send() { curl --silent --show-error --fail --output "$work/null" "$@"; }

for i in $(seq 2000); do
    printf '{"key":["rows",%d],"value":{"text":"%0200d"}}\n' "$i" "$i"
    [ "$i" -gt 200 ] || printf '{"key":["few",%d],"value":{"n":%d}}\n' "$i" "$i"
done | "$build/kindex" import --url "$url" >"$work/imported" 2>&1
send --request PUT --json '{"n":1}' "$url/kv/one"
for i in $(seq 240); do
    printf '{"name":"by-%d","prefix":["few"],"fields":["/n"]}\n' "$i"
done | jq -cs '[.[] | {(.name): del(.name)}] | add' >"$work/indexes"
send --request PUT --json @"$work/indexes" "$url/indexes"
while curl --silent "$url/indexes" | grep -q '"state":"building"'; do
    sleep 0.1
done

# post NAME PATH: a request with the body that standard input has.
post() {
    cat >"$work/body"
    printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n' \
        "$2" application/json "$(stat -c %s "$work/body")" |
        cat - "$work/body" >"$work/$1"
}
get() { printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$2" >"$work/$1"; }

jq -nc '{ranges: [range(1000) | {prefix: ["rows"], start: ["rows", .], limit: 1}]}' | post get /get
jq -nc '{prefix: ["few"], where: {path: "/n", in: [range(64) | "x" * 30 + tostring]}}' | post explain /explain
get indexes /indexes
get metrics /metrics
declare -A count=([get]=400 [indexes]=200 [metrics]=200 [explain]=60)

# Milliseconds of a processor that the server has taken so far.
taken() { awk '{ print ($14 + $15) * 10 }' "/proc/$server/stat"; }

for name in "$@"; do
    before=$(taken)
    printf '%-8s ' "$name"
    "$build/bench/queued" "$port" "${count[$name]}" "$seconds" "$work/$name"
    echo "         $(($(taken) - before)) ms of the server's processor time"
    until curl --silent "$url/metrics" | grep -q '^kindex_http_requests_in_flight 1$'; do
        sleep 0.1 # what the clients have left is still being answered
    done
done
awk -v most=$(((cache + bodies + 64) * 1024)) \
    '/VmHWM/ { print "its memory at most:", $2, "kB, of", most }' "/proc/$server/status"
