#!/bin/bash
# A standby in front of the active node: what it answers is what the active node
# answers, over both protocols; and when that one is frozen or killed, nothing is done
# twice, and the standby takes over.
ENGINE=postgresql THROUGH=standby
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/watch.sh"
needs openssl
needs zstd
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
start_server --compress on
standby_url=$url

# Status, headers and body of an answer, without what differs each time. A request that
# is slow, as on a busy machine, has Server-Timing.
shown() {
    echo "$status"
    grep -viE '^(date|kindex-node|x-request-id|server-timing|connection|transfer-encoding):' "$head" |
        sort -f | tr -d '\r'
    cat "$answer"
}

# same METHOD PATH [BODY [CURL-OPTION...]]: both nodes give the same answer
same() {
    local version
    for version in --http1.1 --http2-prior-knowledge; do
        url=$active_url
        request "$1" "$2" "${3-}" $version "${@:4}"
        shown >"$work/direct"
        url=$standby_url
        request "$1" "$2" "${3-}" $version "${@:4}"
        shown >"$work/through"
        is "whether $1 $2 gets the same" "$(cmp "$work/direct" "$work/through" 2>&1)" ''
        cmp --silent "$work/direct" "$work/through" ||
            diff --text "$work/direct" "$work/through" | cut -c1-200 | head -20
    done
}

test_case 'a standby forwards to the active node, over both protocols and in all sizes'
answers 201 PUT '/kv/a/x%2Fy' '{"n":1}' "${json[@]}"
header Kindex-Node active
head -c 700000 /dev/zero | tr '\0' x | sed 's/^/"/; s/$/"/' >"$work/large"
for n in {1..6}; do
    answers 201 PUT "/kv/large/$n" "@$work/large" "${json[@]}"
done
etag=$(request GET /kv/large/1 && header_value ETag)
same GET '/kv/a/x%2Fy'
same HEAD '/kv/a/x%2Fy'
same GET /kv/large/1
same HEAD /kv/large/1
same GET /kv/large/1 '' --header "If-None-Match: $etag"
same GET '/list?prefix=large&limit=1000'
for coding in gzip zstd; do
    same GET /kv/large/1 '' --header "Accept-Encoding: $coding"
    is 'the coding' "$(header_value Content-Encoding), $(header_value Vary)" "$coding, Accept-Encoding"
    same GET '/list?prefix=large' '' --header 'Accept: application/x-ndjson' --header "Accept-Encoding: $coding"
    { [ $coding = gzip ] && gzip -nc || zstd -qc; } <<<'{"packed":true}' >"$work/packed"
    under=(--header "Content-Encoding: $coding" --header "Idempotency-Key: \"$coding\"")
    request PUT /kv/packed "@$work/packed" "${under[@]}"
    same PUT /kv/packed "@$work/packed" "${under[@]}"
    gives .packed true GET /kv/packed
done
same PUT /kv/packed 1 --header 'Content-Encoding: deflate'
same HEAD '/list?prefix=large&limit=1000'
same GET '/list?prefix=a&fields=/n'
same GET '/count?prefix=large'
same GET '/kv?key=%5B%22a%22%2C%22x%2Fy%22%5D'
same POST /get '{"keys":[["a","x/y"],["none"]]}' "${json[@]}"
same GET /indexes

test_case 'a standby sends clients of KV Connect to its own address'
for version in 1 2 3; do
    answers 200 POST / "{\"supportedVersions\":[$version]}" "${json[@]}"
    header Kindex-Node active
    field '.endpoints[0].url | ltrimstr("'"$url"'")' /v2
done

test_case 'a standby refuses KV Connect as the active node does'
same GET /kv/none
same GET '/list?limit=x'
same PUT /kv/a '{'
same DELETE /indexes
same OPTIONS /kv/a
same GET /nowhere
same GET /backup
same GET /kv/a '' --header 'Host: evil.example'
same PUT /kv/a 1 --header 'Origin: https://evil.example'
same PUT /kv/none 1 --header "If-Match: $etag"
same POST /atomic '{"checks":[{"key":["none"],"versionstamp":"00000000000000010000"}],"mutations":[]}'
same POST /v2/snapshot_read nonsense

test_case 'a write through the standby is applied once'
answers 200 POST /atomic '{"mutations":[{"type":"sum","key":["sum"],"value":1},
    {"type":"set","key":["b",1],"value":1}]}' "${json[@]}"
for n in 1 2; do
    answers 200 POST /atomic '{"mutations":[{"type":"sum","key":["sum"],"value":1}]}' \
        "${json[@]}" --header 'Idempotency-Key: "one"'
done
header Idempotency-Replayed true
request GET /kv/sum
body_is 2
answers 200 PATCH /kv/b/=1 2 --header 'Content-Type: application/merge-patch+json'
answers 201 POST /kv/b '3' "${json[@]}"
header Location '/kv/b/*'
answers 204 DELETE /kv/b/=1
for n in {1..3000}; do
    echo "{\"key\":[\"bulk\",$n],\"value\":$n}"
done >"$work/lines"
answers 200 POST /bulk "@$work/lines" --header 'Content-Type: application/x-ndjson'
is 'lines that were stored' "$(grep -c '"end":true,"lines":3000' "$answer")" 1
gives .count 3000 GET '/count?prefix=bulk'

test_case 'a standby forwards a large body, with and without Expect'
{
    printf '{"mutations":[{"type":"set","key":["body"],"value":"'
    cat "$work/large" | tr -d '"\n'
    printf '"}],"checks":[]%7000000s}' ''
} >"$work/body"
answers 200 POST /atomic "@$work/body" "${json[@]}"
answers 200 POST /atomic "@$work/body" "${json[@]}" --header 'Expect: 100-continue'
answers 200 POST /atomic "@$work/body" "${json[@]}" --header 'Transfer-Encoding: chunked'
answers 200 POST /atomic "@$work/body" "${json[@]}" --http2-prior-knowledge

for version in --http1.1 --http2-prior-knowledge; do
    test_case "a forwarded watch sends each event when it happens ($version)"
    watch 'prefix=w' $version
    request PUT /kv/w/1 '"one"'
    wait_until has_events 2
    event 2 '[.entries[].value]' '["one"]'
    request DELETE /kv/w/1
    wait_until has_events 3
    event 3 '[.entries[].versionstamp]' '[null]'
    end_watch
done

test_case 'a standby forwards each header that a handler reads, or handles it itself'
grep -rhoE '(header|says)\(request, "[^"]+"' "$here"/../../api | sed 's/.*"\(.*\)"/\1/' | sort -u >"$work/read"
sed -n '/^static const char \*const SENT/,/};/s/^ *"\(.*\)",$/\1/p' "$here/../../api/forward/transfer.c" >"$work/sent"
printf '%s\n' Access-Control-Request-Method Content-Length Expect Origin Sec-Fetch-Mode Sec-Fetch-Site \
    Service-Worker X-Request-Id >>"$work/sent"
is 'headers that are read' "$(($(wc -l <"$work/read") > 15))" 1
is 'of them, those that do not' "$(grep -vxFf "$work/sent" "$work/read")" ''

test_case 'a standby does not forward requests that another node has forwarded'
answers 503 no-active-node GET /kv/a '' --header 'Kindex-Hop: 1'
header Kindex-Node standby
header Retry-After 1

test_case 'a standby counts the requests that it has forwarded'
request GET /metrics
is 'answered' "$(($(sed -n 's/^kindex_forwarded_total{result="answered"} //p' "$answer") > 50))" 1
is 'anything else' "$(grep '^kindex_forwarded_total' "$answer" | grep -v answered | grep -vc ' 0$')" 0

test_case 'a write forwarded to a frozen node is unknown, and not sent again'
kill -STOP "$active"
curl --silent --output "$work/write" --request PUT --data '"late"' "$url/kv/frozen" &
writer=$!
curl --silent --output "$work/read" "$url/kv/frozen" &
reader=$!
wait $writer $reader
is 'the write' "$(jq -r .code "$work/write")" commit-unknown
is 'the read' "$(jq -r .code "$work/read")" no-active-node
until_status 404 GET /kv/frozen
header Kindex-Node standby
kill -KILL "$active"
wait "$active" 2>"$work/null"
gives .count 3000 GET '/count?prefix=bulk'

test_case 'a standby checks the certificate of the active node, by --peer-ca'
active=''
stop_server
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -addext basicConstraints=critical,CA:FALSE \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/openssl" || cat "$work/openssl"
export CURL_CA_BUNDLE=$work/cert.pem
files=(--tls-cert "$work/cert.pem" --tls-key "$work/key.pem")
"$KINDEX" serve --engine "$database" --peer-ca "$work/nowhere" 2>"$work/refused"
is 'a file that is not there' "$(cat "$work/refused")" "kindex: cannot read $work/nowhere: No such file or directory"
start_server "${files[@]}"
url=https://${url#http://}
answers 503 no-active-node GET /kv/a/x%2Fy
field '.detail | test("certificate")' true
stop_server
start_server "${files[@]}" --peer-ca "$work/cert.pem" --token-file "$work/token"
url=https://${url#http://}
answers 401 unauthorized GET /kv/a/x%2Fy
header Kindex-Node active
answers 200 GET /kv/a/x%2Fy '' --oauth2-bearer "$(cat "$work/token")"
body_is '{"n":1}'
request GET /kv/large/1 '' --oauth2-bearer "$(cat "$work/token")"
is 'the large one' "$(cmp "$answer" "$work/large" 2>&1)" ''
watch 'key=a/x%2Fy' --oauth2-bearer "$(cat "$work/token")"
answers 200 PUT /kv/a/x%2Fy '{"n":2}' "${json[@]}" --oauth2-bearer "$(cat "$work/token")"
wait_until has_events 2
event 2 '[.entries[].value.n]' '[2]'

test_case 'a forwarded watch ends in order when the active node is killed'
kill -KILL "$active"
wait "$watcher"
is 'the exit status of curl' $? 0
wait "$active"
active=''

finish
