#!/bin/bash
# A client that holds all it can get and reads nothing of it shuts out no other:
# not those of other addresses, not those with a token of their own, nor those
# that share its address. Addresses are 127.0.0.1, 127.0.0.2 and so on. Sanitizers
# see some of the attacks; all of them are for the program without them (http-broad).
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
whole=$(for door in HTTP/2 HTTP/1.1; do
    for question in 'small value' 'large value' 'large write' page stream; do
        echo "$question over $door: whole"
    done
done)
ulimit -n "$(ulimit -Hn)"
attacker='' watcher='' got='' bytes=120000000

fill() {
    { printf '"'; head -c 1000000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
    for key in large/=1 large/=2 large/=3 other/=1 other/=2 other/=3; do
        request PUT "/kv/$key" "@$work/large" "${json[@]}" "$@"
    done
    request PUT /kv/small 1 "${json[@]}" "$@"
}

# attack KIND ADDRESS [TOKEN]: until `calm`. It has begun when it holds half of
# what there is.
holds() {
    request GET /metrics '' ${watcher:+--header "Authorization: Bearer $watcher"}
    awk -v streams=8000 -v bytes="$bytes" '
        /^kindex_http_requests_in_flight/ && $2 > streams { found = 1 }
        /^kindex_http_body_bytes/ && $2 > bytes { found = 1 }
        END { exit !found }' "$answer"
}
attack() {
    node "$here/shut_out.js" 127.0.0.1 "${url##*:}" attack "$@" >"$work/attack" 2>&1 &
    attacker=$!
    wait_until holds
}
calm() {
    kill "$attacker"
    wait "$attacker" 2>/dev/null
}
ask() { timeout "$longest" node "$here/shut_out.js" 127.0.0.1 "${url##*:}" "$@" 2>&1; }

kinds='streams bodies uploads lists'
[ $partial = no ] || kinds=bodies
start_server
fill
for kind in $kinds; do
    test_case "$kind of one address leave room for another address"
    attack $kind 127.0.0.3
    is 'what it gets' "$(ask ask 127.0.0.2)" "$whole"
    calm
done
stop_server

test_case 'a list is refused before it begins while memory is short'
start_server --bodies-max 1MiB
bytes=1050000
attack slow 127.0.0.3
# On a busy machine the attacker can be so late that one of its own requests gives way, or
# it can get the end of a page. Then memory is not short, and what was got says nothing.
moves() {
    holds && grep -E '^kindex_http_stalled_total|^kindex_http_requests_total.*"/list".*2xx' "$answer"
}
asked_meanwhile() {
    before=$(moves) && got=$(ask once 127.0.0.2) && [ "$(moves)" = "$before" ]
}
wait_until asked_meanwhile
is 'what another address gets' "$got" 'small value over HTTP/2: 200 ended
large value over HTTP/2: 503 ended
large write over HTTP/2: 503 ended
page over HTTP/2: 503 ended
stream over HTTP/2: 503 ended
small value over HTTP/1.1: 200 ended
large value over HTTP/1.1: 503 ended again in 1 s
large write over HTTP/1.1: 503 ended again in 1 s
page over HTTP/1.1: 503 ended again in 1 s
stream over HTTP/1.1: 503 ended again in 1 s'

test_case 'metrics, large with many indexes, are not refused while memory is short'
name=$(printf 'x%.0s' {1..100})
for i in {10..59}; do
    request POST /indexes "{\"name\":\"$name$i\",\"prefix\":[\"none\"],\"fields\":[\"/n\"]}"
done
holds
is 'whether they tell that memory is short' $? 0
expect 200
is 'more than 64 KiB' "$(($(wc -c <"$answer") > 65536))" 1
calm
stop_server
[ $partial = no ] || { finish; exit; }

bytes=120000000
test_case 'each loop frees resources that another one needs'
start_server --loops 4
attack bodies 127.0.0.2
is 'what they get' "$(ask ask 127.0.0.2)" "$whole"
calm
stop_server

start_server
for kind in streams bodies; do
    test_case "$kind leave room for other clients of the same address"
    attack $kind 127.0.0.2
    is 'what they get' "$(ask ask 127.0.0.2)" "$whole"
    calm
done

test_case 'a metric counts exchanges that were ended in favour of others'
request GET /metrics
is 'requests that gave way, more than 100' \
    "$(awk '/^kindex_http_stalled_total/ { print ($2 > 100) }' "$answer")" 1

test_case 'a token shuts out neither other tokens of its address nor clients without one'
request POST /tokens '{"name":"all","grants":[{"scopes":["read","write","list","watch","index","admin","monitor"],"prefix":[]}]}' "${json[@]}"
watcher=$(jq -r .token "$answer")
request POST /tokens '{"name":"first","grants":[{"scopes":["read","list"],"prefix":[]}]}' \
    "${json[@]}" --header "Authorization: Bearer $watcher"
first=$(jq -r .token "$answer")
request POST /tokens '{"name":"other","grants":[{"scopes":["read","write","list"],"prefix":[]}]}' \
    "${json[@]}" --header "Authorization: Bearer $watcher"
second=$(jq -r .token "$answer")
attack bodies 127.0.0.2 "$first"
is 'beside another token' "$(ask ask 127.0.0.2 "$second")" "$whole"
calm
attack streams 127.0.0.2
is 'beside one without a token' "$(ask ask 127.0.0.2 "$second")" "$whole"
calm
finish
