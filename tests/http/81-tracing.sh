#!/bin/bash
# What tells one request from the others: identifiers, traces, where its time
# went, its line in the log, and the list of those that took long.
. "$(dirname "$0")/../lib/http.sh"
trace=4bf92f3577b34da6a3ce929d0e0e4736
parent=00f067aa0ba902b7
# However slow the machine is, no request is a slow one where none is wanted.
unhurried=(--slow-ms 3600000)
start_server "${unhurried[@]}"

# The lines of an event with this identifier.
lines_of() {
    grep "event=$1 " "$log" | grep -F "id=$2 "
}
# The value of a field of a line of logfmt.
field_of() {
    sed -nE "s/^(.* )?$1=([^ ]*).*/\2/p" <<<"$2"
}
# The line of a request is written when its reply is sent.
wait_for_line() {
    logged() { [ -n "$(lines_of "$1" "$2")" ]; }
    wait_until logged "$1" "$2"
    lines_of "$1" "$2"
}

test_case 'the X-Request-Id of a client comes back'
for version in http1.1 http2-prior-knowledge; do
    request PUT /kv/a/1 '{"n":1}' -H 'X-Request-Id: mine-1' "--$version"
    header X-Request-Id mine-1
    request GET /kv/a/1 '' -H "traceparent: 00-$trace-$parent-00" "--$version"
    header X-Request-Id $trace
    request GET /kv/a/1 '' -H "traceparent: 00-$trace-$parent-00" \
        -H 'X-Request-Id: mine-2' "--$version"
    header X-Request-Id mine-2
done

test_case 'a malformed X-Request-Id or traceparent is replaced by a new identifier'
for id in 'a b' 'a"b' "$(printf 'x%.0s' {1..65})" 'a=b' ''; do
    answers 404 GET /kv/a/none '' -H "X-Request-Id: $id"
    header X-Request-Id '????????????????'
done
request GET /kv/a/none '' -H "traceparent: 00-$trace-0000000000000000-01"
header X-Request-Id '????????????????'
header Server-Timing ''

test_case 'a successful reply has no identifier and no timing unless requested'
request GET /kv/a/1
header X-Request-Id ''
header Server-Timing ''


test_case 'every error has an identifier of its own'
request GET /kv/a/none
first=$(header_value X-Request-Id)
request GET /kv/a/none
header X-Request-Id '????????????????'
is 'one is the other' "$([ "$first" = "$(header_value X-Request-Id)" ] && echo yes)" ''
request GET /nowhere
header X-Request-Id '????????????????'

test_case 'a client that asks for it gets Server-Timing'
request GET /kv/a/1 '' -H 'Prefer: server-timing'
header Server-Timing 'total;dur=*.*, handle;dur=*'
request PUT /kv/a/1 '{"n":1}' -H 'Prefer: wait=1, server-timing'
header Server-Timing 'total;dur=*, handle;dur=*, plan;dur=*, flush;dur=*'
request GET /kv/a/1 '' -H "traceparent: 00-$trace-$parent-01" --http2-prior-knowledge
header Server-Timing 'total;dur=*, handle;dur=*'
request GET /kv/a/1 '' -H 'Prefer: server-timings'
header Server-Timing ''

test_case 'the largest head has room for both headers of tracing'
answers 200 GET /kv/a/1 '' -H 'X-Request-Id: large' -H 'Prefer: server-timing' \
    -H "X-Fill: $(printf 'x%.0s' {1..10500})"
header X-Request-Id large
header Server-Timing 'total;*'

test_case 'the log has no line for a request unless it is requested'
is 'lines about requests' "$(grep -c 'event=\(request\|slow-request\) ' "$log")" 0

stop_server
start_server --access-log "${unhurried[@]}"

test_case '--access-log writes a line for each request'
request PUT /kv/secretkey/1 '{"name":"secretvalue"}' \
    -H "traceparent: 00-$trace-$parent-00" -H 'X-Request-Id: put-1'
line=$(wait_for_line request put-1)
is level "$(field_of level "$line")" info
is method "$(field_of method "$line")" PUT
is route "$(field_of route "$line")" /kv/...
is status "$(field_of status "$line")" 201
is 'the trace' "$(field_of trace "$line") $(field_of parent "$line")" "$trace $parent"
is 'bytes of the body' "$(field_of bytes_in "$line")" 22
is 'bytes of the reply' "$(field_of bytes_out "$line")" "$(stat -c %s "$answer")"
is mutations "$(field_of mutations "$line")" 1
is 'phases' "$(grep -oE '(handle|plan|flush)_ms=[0-9]+\.[0-9]{3}' <<<"$line" | wc -l)" 3
is 'its lines' "$(lines_of request put-1 | wc -l)" 1
request GET /kv/secretkey/1
id=$(header_value X-Request-Id)
line=$(wait_for_line request "$id")
is 'entries read' "$(field_of entries_read "$line")" 1
request GET '/nowhere?secretkey=1' '' --http2-prior-knowledge
id=$(header_value X-Request-Id)
line=$(wait_for_line request "$id")
is 'what has no route' "$(field_of route "$line") $(field_of status "$line")" 'none 404'

test_case '--access-log writes a line for input that is not a request'
answers 400 bad-request GET /kv/a/1 '' --http1.1 -H Host:
id=$(header_value X-Request-Id)
line=$(wait_for_line request "$id")
is 'what is known of it' "$(field_of route "$line") $(field_of status "$line")" 'none 400'

test_case 'every reply with a line in the log has an identifier of its own'
ids() {
    local version method path body
    for version in http1.1 http2-prior-knowledge; do
        for reply in 'GET /kv/a/1' 'GET /kv/a/none' 'HEAD /kv/a/1' 'PUT /kv/a/2 2' \
            'DELETE /kv/a/2' 'POST /kv/a 1' 'GET /nowhere' 'BREW /kv/a' \
            'OPTIONS /kv/a' 'GET /list?prefix=a' 'GET /list?limit=x' \
            'POST /atomic {}' 'POST /indexes x' 'POST / x' 'GET /metrics' \
            'POST /v2/snapshot_read x' 'GET /livez' 'GET /openapi.json'; do
            read -r method path body <<<"$reply"
            request "$method" "$path" "$body" "--$version" \
                -H 'Content-Type: application/json'
            header_value X-Request-Id
            echo
        done
        request GET /list '' "--$version" -H 'Accept: application/x-ndjson'
        header_value X-Request-Id
        echo
        request GET /kv/a/1 '' "--$version" -H 'If-None-Match: *'
        header_value X-Request-Id
        echo
    done
}
ids >"$work/ids"
is 'how many' "$(grep -cE '^[0-9a-f]{16}$' "$work/ids") $(sort -u "$work/ids" | wc -l)" '40 40'

test_case 'the log has no key and no value'
is 'lines with a key or a value' "$(grep -c 'secret' "$log")" 0

stop_server
start_server --slow-ms 0

test_case 'slow requests are logged with the number of entries that they read'
answers 201 POST /indexes '{"name":"by_n","prefix":["m"],"fields":["/n"]}'
for n in 1 2 3 4 5; do
    answers 201 PUT "/kv/m/$n" "{\"n\":$n,\"fill\":\"$(printf 'x%.0s' {1..400})\"}"
done
request GET '/list?index=by_n&limit=3' '' -H 'X-Request-Id: list-1'
header Server-Timing 'total;*'
line=$(wait_for_line slow-request list-1)
is level "$(field_of level "$line")" warning
is 'route and index' "$(field_of route "$line") $(field_of index "$line")" '/list by_n'
read_rows=$(field_of entries_read "$line")
is 'entries read: three of the index, three that these point to, and one to know that there is more' \
    "$((read_rows >= 6 && read_rows <= 8))" 1
is 'bytes read' "$(($(field_of bytes_read "$line") > 1200))" 1
request GET '/list?prefix=m' '' -H 'Accept: application/x-ndjson' -H 'X-Request-Id: stream-1'
line=$(wait_for_line slow-request stream-1)
is 'entries of a stream' "$(($(field_of entries_read "$line") >= 5))" 1
is 'bytes of a stream' "$(field_of bytes_out "$line")" "$(stat -c %s "$answer")"
is 'the time of a stream' "$(field_of stream_ms "$line" | grep -cE '^[0-9]+\.[0-9]{3}$')" 1

test_case '/slow has slow requests, the newest first'
answers 200 GET /slow
field .slowMs 0
field '.requests[0] | [.method, .route, .target, .status, .requestId, .entriesRead >= 5]' \
    '["GET","/list","/list?prefix=m",200,"stream-1",true]'
field '.requests[1] | [.requestId, .index]' '["list-1","by_n"]'
field '.requests[1].phases | has("handle")' true
field '.requests[2] | [.method, .mutations, .bytesIn > 400, (.phases | has("flush"))]' '["PUT",1,true,true]'
is 'values in it' "$(grep -c 'xxxxxxxx' "$answer")" 0
gives '.requests | length' 2 GET '/slow?limit=2'
answers 400 bad-parameter GET '/slow?limit=0'
answers 400 unknown-parameter GET '/slow?n=1'

test_case 'a target that is no text is shown with its bytes escaped, also where it is cut'
# curl would escape them.
for target in $'/kv/\xff"' "/kv/a$(printf 'é%.0s' {1..200})"; do
    exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$target" >&3
    cat <&3 >"$work/null"
    exec 3>&-
done
request GET '/slow?limit=2'
field '.requests[1].target' '/kv/%FF"'
field '.requests[0].target | [.[0:11], .[-6:], length]' '["/kv/a%C3%A9","%A9%C3",758]'

test_case 'a limited number of slow requests is kept, in order'
curl --silent --output "$work/null" "$url/kv/m/[1-5]?x=[1-40]"
request GET '/slow?limit=1000'
field '.requests | length' 128
field '[.requests[].endedAt] | . == (sort | reverse)' true

test_case 'log lines name the token, and /slow is for administrators'
stop_server
start_server --slow-ms 0 --token-file "$work/token"
admin=$(head -1 "$work/token")
answers 401 unauthorized GET /slow
id=$(header_value X-Request-Id)
denied() { grep -q "event=audit-denied .* id=$id\$" "$log"; }
wait_until denied
is 'the denial is in the audit log under the same name' $? 0
request POST /tokens '{"name":"reader","grants":[{"prefix":[],"scopes":["read"]}]}' -H "Authorization: Bearer $admin"
expect 201
reader=$(value .token)
answers 200 GET /kv/m/1 '' -H "Authorization: Bearer $reader" -H 'X-Request-Id: read-1'
line=$(wait_for_line slow-request read-1)
is 'the token' "$(field_of token "$line" | grep -cE '^[0-9a-f]+$')" 1
is 'its secret in the log' "$(grep -cF "$reader" "$log")" 0
answers 403 forbidden GET /slow '' -H "Authorization: Bearer $reader"
answers 200 GET /slow '' -H "Authorization: Bearer $admin"
field '[.requests[] | select(.requestId == "read-1") | [.token, .target]]' "[[\"$(field_of token "$line")\",\"/kv/m/1\"]]"

test_case 'fast requests are not kept in the list of slow ones'
stop_server
rm -r "$work/data" # with the tokens
start_server "${unhurried[@]}"
request GET /kv/m/1
gives . '{"slowMs":3600000,"requests":[]}' GET /slow

finish
