#!/bin/bash
# The bodies of all requests and replies together have a limit, so that neither
# many large ones nor clients that do not read can take all memory.
. "$(dirname "$0")/../lib/http.sh"
start_server --bodies-max 1MiB --value-max 4MiB

test_case 'bodies beyond --bodies-max are refused with 503, and nothing is stored'
{ printf '"'; head -c 1500000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
answers 503 overloaded PUT /kv/large "@$work/large"
header Retry-After 1
answers 404 GET /kv/large

test_case 'KV Connect refuses bodies beyond --bodies-max in plain text, with a status that clients repeat'
request POST /v2/atomic_write "@$work/large"
is status "$status" 503
header Content-Type 'text/plain*'
header Retry-After 1

test_case 'refused bodies take no memory: bodies within the limit are still accepted'
head -c 900000 "$work/large" >"$work/fits"
printf '"' >>"$work/fits"
for i in 1 2 3; do
    answers 201 PUT "/kv/fits/$i" "@$work/fits"
done
stop_server

test_case 'clients that do not read get a limited part of the memory, and small requests are answered'
start_server --bodies-max 8MiB
{ printf '"'; head -c 500000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
for i in {1..12}; do
    answers 201 PUT "/kv/large/=$i" "@$work/large" --header 'Content-Type: application/json'
done
request PUT /kv/small 1 --header 'Content-Type: application/json'
node "$(dirname "$0")/slow_readers.js" 127.0.0.1 "${url##*:}" >"$work/seen"
is 'what was seen' "$(cat "$work/seen")" 'most lists: refused
lists true true
beside lists: 200 200 200 201
after lists: 200 200 200 200
streams true true
beside streams: 200 200 200 200
whole, or known not to be: 20
streams over HTTP/2 true true
beside them: 200 200 200 200
whole, or known not to be: 64
after them: 200 200 200 200'
answers 200 GET /kv/large/=1
stop_server

# A program under sanitizers needs more memory, of which nothing is said. What the
# cache may take is taken: it is full before.
if [ "$times" -eq 1 ]; then
    start_server --bodies-max 64MiB --connections-per-address 4096
    test_case 'the process takes at most --cache, --bodies-max and 64 MiB, and returns memory'
    { printf '"'; head -c 1000000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
    for i in {1..40}; do
        answers 201 PUT "/kv/values/=$i" "@$work/large" --header 'Content-Type: application/json'
    done
    for ((n = 0; n < 600; n++)); do
        printf '{"key":["small",%d],"value":"%090d"}\n' $n $n
    done >"$work/rows"
    "$KINDEX" import "$work/rows" --url "$url" >"$work/imported" 2>&1
    for i in {1..8}; do
        request POST /indexes "{\"name\":\"wide_$i\",\"prefix\":[\"wide\"],\"fields\":[{\"path\":\"/a\",\"each\":true}]}"
    done
    timeout "$longest" node "$(dirname "$0")/memory.js" 127.0.0.1 "${url##*:}" \
        "$server" $((16 + 64 + 64)) $((16 + 64)) 64 >"$work/seen" 2>&1
    is 'memory' "$(cat "$work/seen")" 'values held given back
values over HTTP/2 held given back
lists held given back
streams held given back
small lists over HTTP/2 held given back
ranges held given back
commits beside lists held given back
bodies held given back'
    stop_server
fi

# 6 KiB. The HTTP library has 16 KiB for each, of which a short request uses few.
start_server --connections-per-address 4096
test_case 'idle connections take little memory'
read -r each answered < <(node "$(dirname "$0")/idle_many.js" 127.0.0.1 \
    "${url##*:}" "$server" 900)
is 'answer, of 900' "$answered" 900
is "$each KiB for each are less than 9" "$((${each%.*} < 9 * times))" 1
finish
