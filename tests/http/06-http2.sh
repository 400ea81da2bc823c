#!/bin/bash
# HTTP/2 with prior knowledge, on the same port as HTTP/1.1: the same answers,
# and the same limits.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
limits=(--host-names kindex.test,a --streams-max 600 --bodies-max 32MiB --value-max 2MiB)
start_server "${limits[@]}"

# What a request is answered, without what differs from time to time or from
# one protocol to the other. both NAME METHOD PATH [BODY [CURL-OPTION...]]
answer_over() {
    local version=$1
    shift
    KX_RECORD='' request "${@:1:3}" "--$version" "${@:4}"
    echo "$status"
    sed -E '1,/^\r?$/!d; s/\r$//; /^HTTP/d; s/^([^:]*):/\L\1:/' "$head" |
        grep -vE '^(date|x-request-id|connection|keep-alive|transfer-encoding):|^$' | sort
    sed -E 's/"[0-9a-f]{20}"/"stamp"/g; s/"cursor":"[^"]*"/"cursor"/' "$answer"
}

same() {
    local one two
    one=$(answer_over http1.1 "$@" | sed -E 's/[0-9a-f]{20}/stamp/g')
    two=$(answer_over http2-prior-knowledge "$@" |
        sed -E 's/[0-9a-f]{20}/stamp/g')
    is "$1 $2 over HTTP/2" "$two" "$one"
}

test_case 'the protocol is recognized by the first bytes'
request GET /livez '' --http2-prior-knowledge \
    --write-out '%{http_code} %{http_version}'
is 'status and version' "$status" '200 2'
request GET /livez '' --write-out '%{http_code} %{http_version}'
is 'status and version' "$status" '200 1.1'

test_case 'reads are answered the same over HTTP/1.1 and HTTP/2'
for i in 1 2 3 4 5; do
    request PUT "/kv/both/$i" "{\"n\":$i,\"email\":\"$i@example.org\"}" "${json[@]}"
done
request PUT /kv/text 'some text' --header 'Content-Type: text/plain'
request POST /indexes '{"name":"both_by_email","prefix":["both"],
    "fields":["/email"],"unique":true}' "${json[@]}"
until_field .state ready GET /indexes/both_by_email
same GET /kv/both/1 ''
same HEAD /kv/both/1 ''
same GET /kv/text ''
same GET /kv/both/1 '' --header 'If-None-Match: *'
same GET /kv/both/1 '' --header 'If-Match: "00000000000000000000"'
same GET /kv/both/none ''
same GET /kv/%2F/%zz ''
same GET '/list?prefix=both&limit=2' ''
same GET '/list?prefix=both' '' --header 'Accept: application/x-ndjson'
same HEAD '/list?prefix=both' ''
same GET '/list?prefix=both&nonsense=1' ''
same GET '/count?prefix=both' ''
same POST /get '{"keys":[["both","1"],["both","none"]]}' "${json[@]}"
same GET /indexes/both_by_email/get/2@example.org ''
same GET /version ''
same GET /openapi.json ''
same GET /problems/key-not-found ''

test_case 'writes are answered the same over HTTP/1.1 and HTTP/2'
same PUT /kv/both/1 '{"n":6,"email":"1@example.org"}' "${json[@]}"
same PUT /kv/both/9 '{"email":"1@example.org"}' "${json[@]}"
same PATCH /kv/both/1 '{"n":null}' "${json[@]}"
same PUT /kv/both/1 '{"n":' "${json[@]}"
same DELETE /kv/none ''
same POST /atomic '{"checks":[{"key":["both","1"],"versionstamp":null}],
    "mutations":[{"type":"delete","key":["both","1"]}]}' "${json[@]}"
same POST /atomic '{"mutations":[{"type":"set","key":["a"],"value":1}]}' \
    "${json[@]}"
same POST /indexes '{"name":"both_by_email","prefix":["both"]}' "${json[@]}"
same DELETE '/list?prefix=nothing' ''

test_case 'refusals of the gates are the same over HTTP/1.1 and HTTP/2'
head -c 3000000 /dev/zero >"$work/huge"
same GET /nowhere ''
same PUT /list ''
same BREW /kv/a ''
same OPTIONS /kv/a ''
same OPTIONS /nowhere ''
same PUT /kv/a 1 "${json[@]}" --header 'Origin: http://evil.example'
same PUT /kv/a 1 "${json[@]}" --header "Origin: $url"
same PUT /kv/a "@$work/huge" --header 'Expect:'
same POST /atomic "@$work/huge" --header 'Expect:' --header 'Origin: null'
same GET /kv/a x
same GET "/kv/$(printf 'a%.0s' {1..9000})" ''
same GET /kv/a '' --header "X: $(printf 'a%.0s' {1..12000})"
same GET "/list?$(printf 'a&%.0s' {1..2000})" ''

stop_server
start_server "${limits[@]}" --idle-timeout "$((times > 4 ? 5 : 1))s"
test_case 'invalid frames are refused, floods end the connection'
node "$here/h2_attacks.js" 127.0.0.1 "${url##*:}" >"$work/attacks"
is 'the exit status' $? 0
is 'what failed' "$(grep -v '^ok' "$work/attacks" | grep -v ' 0 failed$')" ''
is 'attacks, at least' "$(($(grep -c '^ok' "$work/attacks") >= 100))" 1
request GET /metrics
is 'floods are counted' "$(awk '/^kindex_http_floods_total/ { print ($2 > 5) }' "$answer")" 1

stop_server
start_server "${limits[@]}" --bodies-max 64MiB
test_case 'unread replies over HTTP/2 take no more than the memory for bodies'
{ printf '"'; head -c 1000000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
request PUT /kv/large "@$work/large" "${json[@]}"
node "$here/h2_hold.js" 127.0.0.1 "${url##*:}" "$server" 60 >"$work/hold"
{ read -r answered refused; read -r memory; read -r taken; } <"$work/hold"
is 'the client has 16 MiB of them, the others wait for it' "$answered $refused" '17 0'
is "less than 200 MiB were needed, times $times ($memory)" "$((memory < 200 * times))" 1
is 'all that waited come when the client takes them' "$taken" 60
until_status 200 GET /kv/large '' --http2-prior-knowledge

test_case 'a client with many requests at once delays no other client'
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "{\"key\":[\"fair\",%d],\"value\":1}\n", i }' >"$work/fair"
"$KINDEX" import "$work/fair" --url "$url" 2>"$work/null"
is 'the server' "$(node "$here/h2_fair.js" 127.0.0.1 "${url##*:}" 300 10)" fair

test_case 'the server does not wait for the remainder of a request that is already answered'
node -e 'const { Connection, headers, pseudo } = require(require("path").resolve(process.argv[1]));
    const connection = new Connection();
    connection.send(headers(1, pseudo("PUT", "/nothing"), 0));
    connection.until((now) => 1 in now.reset).then((seen) => {
        console.log(seen.status[1], seen.ended[1], seen.reset[1], seen.timeout ?? "in time");
        process.exit(0);
    });' "$here/h2.js" 127.0.0.1 "${url##*:}" >"$work/rest"
is 'the reply, and how the stream ends' "$(cat "$work/rest")" '404 true 0 in time'

test_case 'a reply larger than all buffers on the way arrives whole'
for i in 1 2 3 4 5 6; do
    request PUT "/kv/whole/$i" "@$work/large" "${json[@]}"
done
for i in 1 2 3 4 5 6 7 8; do
    request GET '/list?prefix=whole' '' --http2-prior-knowledge \
        --limit-rate "$((i * 20))M"
    field '.entries | map(.value | length) | add' 5000000
done

test_case 'a server that stops sends GOAWAY, and completes what it has begun'
# In 2.5 seconds, which is how long it waits: a slow one has less to do.
parts=$((times > 4 ? 1 : 8))
for ((part = 1; part <= parts; part++)); do
    jq -cn --arg part "$part" '{mutations: [range(1000) | {type: "set",
        value: 1, key: ["stop", $part, "a key that is somewhat long", .]}]}' \
        >"$work/part"
    answers 200 POST /atomic "@$work/part" "${json[@]}"
done
node "$here/h2_stop.js" 127.0.0.1 "${url##*:}" "$server" >"$work/stop"
is 'what the client was told' "$(head -1 "$work/stop")" \
    'goaway 0 after the list, end'
is 'the last line of the list' "$(tail -1 "$work/stop")" \
    "{\"end\":true,\"count\":${parts}000}"
wait_until server_is_gone
wait "$server"
is 'the exit status' $? 0
server=''
stop_server
start_server --requests-max 64
test_case 'one address has half of the requests in flight, and half of these through connections with many'
request PUT /kv/a 1 "${json[@]}"
is 'answered and refused' "$(node "$here/h2_share.js" 127.0.0.1 "${url##*:}" 60 10 60)" '16 44
10 0
6 54'
request GET /metrics
is 'refused requests are counted' "$(awk '/^kindex_http_streams_refused_total/ { print $2 }' "$answer")" 98
finish
