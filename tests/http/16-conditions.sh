#!/bin/bash
# Conditional requests: the ETag is the versionstamp, so no client overwrites
# what somebody else has written in the meantime.
. "$(dirname "$0")/../lib/http.sh"
start_server
nobody='"ffffffffffffffff0000"'

request PUT /kv/a 1
old=$(header_value ETag)
request PUT /kv/a 2
tag=$(header_value ETag)

test_case 'If-None-Match: * creates and never replaces'
request PUT /kv/new 1 -H 'If-None-Match: *'
expect 201
request PUT /kv/new 2 -H 'If-None-Match: *'
expect 412 precondition-failed
request GET /kv/new
body_is 1

test_case 'a refused condition tells what the entry has'
request PUT /kv/a 3 -H "If-Match: $old"
expect 412 precondition-failed
field .versionstamp "$(tr -d '"' <<<"$tag")"
header ETag "$tag"
request PUT /kv/none 3 -H "If-Match: $old"
expect 412 precondition-failed
field .versionstamp null

test_case 'If-Match replaces what was seen'
request PUT /kv/a 3 -H "If-Match: $tag"
expect 200
tag=$(header_value ETag)
request GET /kv/a
body_is 3

test_case 'If-Match takes a list and spaces, but no weak tag'
request PUT /kv/a 4 -H "If-Match: $nobody , $tag"
expect 200
tag=$(header_value ETag)
request PUT /kv/a 5 -H "If-Match: W/$tag"
expect 412 precondition-failed
request DELETE /kv/a '' -H "If-Match: W/$tag"
expect 412 precondition-failed
request PUT /kv/a 5 -H "If-Match: W/$tag, $tag"
expect 200
tag=$(header_value ETag)
request PUT /kv/a 6 -H "If-Match: $nobody" -H "If-Match: $tag"
expect 200
tag=$(header_value ETag)
request PUT /kv/a 7 -H "If-Match: ${tag%\"}-gzip\""
expect 200
tag=$(header_value ETag)

test_case 'If-Match: * requires an entry'
request PUT /kv/a 8 -H 'If-Match: *'
expect 200
tag=$(header_value ETag)
request PUT /kv/none 1 -H 'If-Match: *'
expect 412 precondition-failed
request GET /kv/none
expect 404

test_case 'a tag that no entry can have matches none'
for wrong in '""' '"0"' '"x"' 'x' "$nobody"; do
    request PUT /kv/a 9 -H "If-Match: $wrong"
    expect 412 precondition-failed
done

test_case 'the answer says what is there, and which condition it breaks'
request PUT /kv/a 9 -H "If-Match: ${tag//\"/}"
expect 412 precondition-failed
field .detail "The entry [\"a\"] has the ETag $tag, which is not in If-Match."
request PUT /kv/a 9 -H 'If-None-Match: *'
field .detail "The entry [\"a\"] already exists, with the ETag $tag."
request PUT /kv/none 9 -H 'If-Match: *'
field .detail 'There is no entry ["none"], and If-Match requires one.'

test_case 'a guard that cannot be read lets nothing be written'
for wrong in '"*"' "${tag//\"/}" ',' "$old, x" "${old%\"}" 'W/'; do
    request PUT /kv/a 9 -H "If-None-Match: $wrong"
    expect 400 bad-request
    request GET /kv/a '' -H "If-None-Match: $wrong"
    expect 200
done
request DELETE /kv/a '' -H 'If-None-Match;'
expect 400 bad-request
for wrong in '*x' "* $tag" "$tag, *"; do
    request PUT /kv/none 9 -H "If-Match: $wrong"
    expect 412 precondition-failed
    request PUT /kv/a 9 -H "If-None-Match: $wrong"
    expect 400 bad-request
done

test_case 'what has no single entry to compare with takes no condition'
for guard in 'If-Match: *' "If-None-Match: $tag"; do
    request POST /kv/made 1 -H "$guard"
    expect 400 bad-request
done
request GET /count?prefix=made
field .count 0

test_case 'If-None-Match with a tag refuses that version only'
request PUT /kv/a 9 -H "If-None-Match: $tag"
expect 412 precondition-failed
request PUT /kv/a 9 -H "If-None-Match: $old"
expect 200
tag=$(header_value ETag)

test_case 'GET answers 304 to a client that has this version'
request GET /kv/a '' -H "If-None-Match: $tag"
expect 304
header ETag "$tag"
body_is ''
request GET /kv/a '' -H "If-None-Match: $old, W/$tag"
expect 304
request HEAD /kv/a '' -H 'If-None-Match: *'
expect 304
request GET /kv/a '' -H "If-None-Match: $old"
expect 200
body_is 9

test_case 'nothing follows a 304 but the next reply of the connection'
exec 5<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'GET /kv/a HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\n%s\r\n' \
    '' $'Connection: close\r\n' >&5
timeout "$patience" cat <&5 | tr -d '\r' >"$work/replies"
exec 5<&-
is 'lines' "$(sed 's/ .*//' "$work/replies" | xargs)" \
    'HTTP/1.1 Content-Length: Date: ETag: Cross-Origin-Resource-Policy: HTTP/1.1 Connection: Content-Length: Date: ETag: Cross-Origin-Resource-Policy:'
is 'lengths' "$(sed -n 's/^Content-Length: //p' "$work/replies" | xargs)" '1 1'

test_case 'other versions are answered'
request GET /kv/none '' -H "If-None-Match: $old"
expect 404

test_case 'GET with If-Match gives that version or none'
request GET /kv/a '' -H "If-Match: $tag"
expect 200
request GET /kv/a '' -H "If-Match: $old"
expect 412 precondition-failed

test_case 'PATCH and DELETE take the same conditions'
request PUT /kv/b '{"n":1}'
tag=$(header_value ETag)
request PATCH /kv/b '{"n":2}' -H "If-Match: $old"
expect 412 precondition-failed
request PATCH /kv/b '{"n":2}' -H 'If-None-Match: *'
expect 412 precondition-failed
request PATCH /kv/b '{"n":2}' -H "If-Match: $tag"
expect 200
request DELETE /kv/b '' -H "If-Match: $tag"
expect 412 precondition-failed
tag=$(header_value ETag)
request GET /kv/b
body_is '{"n":2}'
request DELETE /kv/b '' -H "If-Match: $tag"
expect 204
request DELETE /kv/b '' -H 'If-Match: *'
expect 412 precondition-failed

test_case 'of many writers that read the same version one wins'
request PUT /kv/race 0
tag=$(header_value ETag)
for i in {1..20}; do
    curl -s -o "$work/race.$i" -w '%{http_code}\n' -X PUT "$url/kv/race" -d "$i" \
        -H "If-Match: $tag" &
done >"$work/races"
wait_for_all() { [ "$(wc -l <"$work/races")" = 20 ]; }
wait_until wait_for_all
is 'the answers' "$(sort "$work/races" | uniq -c | xargs)" '1 200 19 412'

finish
