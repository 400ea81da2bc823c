#!/bin/bash
# Thousands of connections that end somewhere in the middle, over both protocols
# and TLS: of none of them anything is left.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
streams=20
many=$(some_of 1000)

sample() {
    sed -n "s/^$1 //p" "$answer"
}

# What is left when only the request that asks is there.
left() {
    KX_RECORD='' request GET /metrics '' "${allowed[@]}"
    sed -nE "s/^kindex_($counts) /\\1=/p" "$answer" | sort | tr '\n' ' '
}

counts='http_requests_in_flight|http_connections|http_body_bytes|watch_streams|commits_queued'
nothing='commits_queued=0 http_body_bytes=0 http_connections=1 http_requests_in_flight=1 watch_streams=0 '

nothing_is_left() {
    [ "$(left)" = "$nothing" ]
}

# The server opens some files for a moment, such as the next log file.
as_many_descriptors() {
    nothing_is_left && [ "$(sample process_open_fds)" = "$1" ]
}

start() {
    start_server --token-file "$work/token" --token-rate 100000000 \
        --token-streams $streams --idle-timeout 5s --header-timeout 5s \
        --body-timeout 5s "$@"
    allowed=(--oauth2-bearer "$(cat "$work/token")")
}

# Two changes: by the first the server learns that the watching client is gone.
wake() {
    for i in 1 2; do
        request PUT /kv/e/1 $i "${allowed[@]}" --header 'Content-Type: application/json'
        request PUT /kv/e/2 $i "${allowed[@]}" --header 'Content-Type: application/json'
    done
    answers 200 POST /indexes/paused/resume '' "${allowed[@]}"
}

# early_ends WHERE [CA]
early_ends() {
    local descriptors
    test_case "connections that end early are all accepted, $1"
    answers 202 POST '/indexes?paused=true' '{"name":"paused","prefix":["rows"],"fields":["/n"]}' "${allowed[@]}"
    wait_until test -e "$work/data/next-log"
    wait_until nothing_is_left
    descriptors=$(sample process_open_fds)
    is 'all of them' "$(timeout "$longest" node "$here/early_ends.js" "${url##*:}" \
        "$(cat "$work/token")" "$many" "${KX_TEST_SEED:-20240229}" "${@:2}")" "$many connections"
    wake
    test_case "connections that ended early leave nothing, $1"
    wait_until as_many_descriptors "$descriptors"
    is 'what is left' "$(left)" "$nothing"
    is 'descriptors' "$(sample process_open_fds)" "$descriptors"
    answers 204 DELETE /indexes/paused '' "${allowed[@]}"
}

# half_closed WHERE [CA]
half_closed() {
    test_case "a client that closes its half of a connection gets all of its answers, $1"
    node "$here/half_closed.js" "${url##*:}" "$(cat "$work/token")" 20 "${@:2}" >"$work/halves"
    is 'kinds of requests' "$(wc -l <"$work/halves")" 11
    is 'without all answers' "$(awk '{ split($0, n, ": "); split(n[2], w, " ");
        if (w[1] != w[3] || w[1] < 20) print }' "$work/halves")" ''
}

# No deadline is near: the server has to notice by the end alone.
cut_uploads() {
    test_case "a request whose client ends within its body is discarded at once, $1"
    request DELETE /kv/cut '' "${allowed[@]}"
    node "$here/cut_uploads.js" "${url##*:}" "$(cat "$work/token")" "${@:2}" >"$work/cut"
    is 'each of them' "$(cat "$work/cut")" 'no byte of a body: nothing
half a body: nothing
half a chunk: nothing
a chunk and no other: nothing
half a trailer: nothing
a request and half a body: HTTP/1.1 201
half a body over HTTP/2: nothing'
    wait_until nothing_is_left
    is 'what is left' "$(left)" "$nothing"
}

# All the token's streams can be open again, but not more.
streams_are_free() {
    test_case "a token gets all of its streams back, $1"
    for ((i = 0; i < streams; i++)); do
        curl --silent --no-buffer "${allowed[@]}" "$url/watch?key=e/1" >"$work/watch.$i" &
    done
    watched() {
        left >"$work/null"
        [ "$(sample kindex_watch_streams)" = $streams ]
    }
    wait_until watched
    is 'streams' "$(sample kindex_watch_streams)" $streams
    is 'what is open is not nothing' "$(nothing_is_left || echo 'something is left')" 'something is left'
    answers 429 too-many-streams GET '/watch?key=e/1' '' "${allowed[@]}"
}

for i in {1..3000}; do
    printf '{"key":["rows",%d],"value":{"n":%d,"text":"%0500d"}}\n' $i $i $i
done >"$work/rows"

start
KINDEX_TOKEN=$(cat "$work/token") "$KINDEX" import "$work/rows" --url "$url" >"$work/imported" 2>&1
request POST /indexes '{"name":"by_n","prefix":["rows"],"fields":["/n"]}' "${allowed[@]}"
{ printf '"'; head -c 60000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
answers 201 PUT /kv/large "@$work/large" "${allowed[@]}" --header 'Content-Type: application/json'
early_ends 'without TLS'
streams_are_free 'without TLS'

test_case 'the server stops with all these connections open'
stop_server
is 'exit status' $? 0
wait

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -keyout "$work/key" -out "$work/certificate" -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' >"$work/openssl" 2>&1
export CURL_CA_BUNDLE=$work/certificate
start --tls-cert "$work/certificate" --tls-key "$work/key"
url=https://${url#http://}
early_ends 'over TLS' "$work/certificate"
streams_are_free 'over TLS'
half_closed 'over TLS' "$work/certificate"
stop_server
is 'exit status' $? 0

never=(--idle-timeout 1h --header-timeout 1h --body-timeout 1h)
start "${never[@]}" --tls-cert "$work/certificate" --tls-key "$work/key"
url=https://${url#http://}
cut_uploads 'over TLS' "$work/certificate"
stop_server

start "${never[@]}"
cut_uploads 'without TLS'
half_closed 'without TLS, and is not waited for'
stop_server
is 'exit status' $? 0
wait
finish
