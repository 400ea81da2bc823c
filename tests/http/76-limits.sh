#!/bin/bash
# The limits of connections and requests have names, and each says which one it
# is where it can still be said.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')

# A text of so many bytes.
bytes() {
    head -c "$1" /dev/zero | tr '\0' x
}

# A file with so many headers, for curl.
headers() {
    seq "$1" | sed 's/.*/X&: &/' >"$work/headers"
    echo "@$work/headers"
}

start_server --headers-max 4KiB --header-count-max 10

for version in http1.1 http2-prior-knowledge; do
    test_case "over $version: --headers-max and --header-count-max are held"
    answers 200 GET /livez '' "--$version" --header "X: $(bytes 3000)"
    answers 431 headers-too-large GET /livez '' "--$version" --header "X: $(bytes 4096)"
    answers 200 GET /livez '' "--$version" --header "$(headers 7)"
    answers 431 headers-too-large GET /livez '' "--$version" --header "$(headers 10)"
done

# Says something over a plain connection; the answer becomes the last one.
say() {
    exchange="the bytes $1"
    exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
    # shellcheck disable=SC2059 # the text has its line ends as \r\n
    printf "$1" >&3
    hear
}

# The answer to what was said over descriptor 3, until the server closes.
hear() {
    timeout "$longest" cat <&3 >"$work/whole" 2>"$work/null"
    exec 3>&-
    sed '/^\r$/q' "$work/whole" >"$head"
    sed '1,/^\r$/d' "$work/whole" >"$answer"
    status=$(sed -n '1s/^HTTP\/1.1 \([0-9]*\).*/\1/p' "$head")
}

stop_server
start_server --host-names kindex.test,x --header-timeout 500ms --body-timeout 500ms
test_case 'headers that stay incomplete are refused with 408'
say 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: '
expect 408 request-timeout
header Connection close
say 'G'
expect 408 request-timeout
field '.detail | test("--header-timeout")' true

test_case 'a body that stays incomplete is refused with 408'
say 'PUT /kv/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhal'
expect 408 request-timeout
field '.detail | test("--body-timeout")' true
say 'PUT /kv/slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhal\r\n'
expect 408 request-timeout
say 'PUT /kv/slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\nA: b'
expect 408 request-timeout
answers 404 GET /kv/slow

test_case 'a request is answered before the slow one that follows it'
say 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHost'
is 'both' "$(grep -ao 'HTTP/1.1 [0-9]*' "$work/whole" | tr '\n' ' ')" \
    'HTTP/1.1 200 HTTP/1.1 408 '

test_case 'a slow head over HTTP/2 ends the connection, a slow body its stream'
is 'they' "$(timeout "$longest" node "$here/h2_slow.js" 127.0.0.1 "${url##*:}")" \
    $'head: goaway 0\nbody: 408 200 reset 0\ndribble: 408'

stop_server
start_server --bodies-max 1MiB --body-timeout 1h
test_case 'a stalled body gives way to others that need its memory, with a refusal'
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'PUT /kv/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 700000\r\n\r\n' >&3
bytes 600000 >&3
bytes 100000 >"$work/other"
# It stalls for a second before it gives way.
is_written() {
    request PUT /kv/other "@$work/other" --header 'Content-Type: text/plain'
    [ "$status" != 503 ]
}
wait_until is_written
expect 201
exchange='the slow request'
hear
expect 408 request-timeout
field '.detail | test("--body-timeout")' false
field '.detail | test("--bodies-max")' true

stop_server
test_case 'a warning names a limit that excludes the largest values'
for limits in '--value-max 9MiB --body-max 8MiB' '--value-max 3MiB --bodies-max 2MiB' \
    '--value-max 8MiB --body-max 8MiB'; do
    : >"$log"
    # shellcheck disable=SC2086 # a list of words
    start_server $limits
    stop_server
    grep -o 'event=value-max .* is above --bod[a-z-]*' "$log"
done >"$work/told"
is 'what was told' "$(grep -o -e '--bod.*' "$work/told")" $'--body-max\n--bodies-max'

start_server --idle-timeout "$((times > 4 ? 20 : 3))s" --value-max 4MiB
test_case 'a client that reads none of its replies is disconnected, over HTTP/2, too'
{ printf '"'; bytes 1000000; printf '"'; } >"$work/large"
answers 201 PUT /kv/large "@$work/large"
is 'the requests' \
    "$(timeout "$longest" node "$here/h2_unread.js" 127.0.0.1 "${url##*:}")" \
    'held, given up'

stop_server
start_server --connections-per-address 3 --idle-timeout 1h
# One connection more that says nothing. The end of former ones may be on its
# way, so that one of these was refused, or a request still is.
fds=()
hold_one_more() {
    exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
    fds+=("$fd")
    for _ in 1 2 3; do
        KX_RECORD='' request GET /livez
        [ "$status" = 503 ] || return 1
    done
}

test_case 'one address may have --connections-per-address connections'
wait_until hold_one_more
is 'three of them' "$((${#fds[@]} >= 3))" 1
answers 503 overloaded GET /livez
header Retry-After 1
field '.detail | test("--connections-per-address")' true
for fd in "${fds[@]}"; do
    exec {fd}>&-
done
until_status 200 GET /livez

test_case 'connections that have ended no longer count for their address'
for _ in 1 2 3 4 5 6 7 8; do
    KX_RECORD='' until_status 200 GET /livez
done
stop_server

test_case 'the largest values of all limits hold'
start_server --headers-max 60KiB --header-count-max 1000
for version in http1.1 http2-prior-knowledge; do
    answers 200 GET /livez '' "--$version" --header "X: $(bytes 61000)"
    answers 200 GET /livez '' "--$version" --header "$(headers 990)"
done

finish
