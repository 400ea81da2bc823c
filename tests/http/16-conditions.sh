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
answers 201 PUT /kv/new 1 -H 'If-None-Match: *'
answers 412 precondition-failed PUT /kv/new 2 -H 'If-None-Match: *'
request GET /kv/new
body_is 1

test_case 'a refused condition returns the versionstamp of the entry'
answers 412 precondition-failed PUT /kv/a 3 -H "If-Match: $old"
field .versionstamp "$(tr -d '"' <<<"$tag")"
header ETag "$tag"
answers 412 precondition-failed PUT /kv/none 3 -H "If-Match: $old"
field .versionstamp null

test_case 'If-Match replaces what was seen'
answers 200 PUT /kv/a 3 -H "If-Match: $tag"
tag=$(header_value ETag)
request GET /kv/a
body_is 3

test_case 'If-Match takes a list and spaces, but no weak tag'
answers 200 PUT /kv/a 4 -H "If-Match: $nobody , $tag"
tag=$(header_value ETag)
answers 412 precondition-failed PUT /kv/a 5 -H "If-Match: W/$tag"
answers 412 precondition-failed DELETE /kv/a '' -H "If-Match: W/$tag"
answers 200 PUT /kv/a 5 -H "If-Match: W/$tag, $tag"
tag=$(header_value ETag)
answers 200 PUT /kv/a 6 -H "If-Match: $nobody" -H "If-Match: $tag"
tag=$(header_value ETag)
answers 200 PUT /kv/a 7 -H "If-Match: ${tag%\"}-gzip\""
tag=$(header_value ETag)

test_case 'If-Match: * requires an entry'
answers 200 PUT /kv/a 8 -H 'If-Match: *'
tag=$(header_value ETag)
answers 412 precondition-failed PUT /kv/none 1 -H 'If-Match: *'
answers 404 GET /kv/none

test_case 'an ETag that no entry can have matches none'
for wrong in '""' '"0"' '"x"' 'x' "$nobody"; do
    answers 412 precondition-failed PUT /kv/a 9 -H "If-Match: $wrong"
done

test_case 'a 412 names the condition and the versionstamp of the entry'
answers 412 precondition-failed PUT /kv/a 9 -H "If-Match: ${tag//\"/}"
field .detail "The entry [\"a\"] has the ETag $tag, which is not in If-Match."
gives .detail "The entry [\"a\"] already exists, with the ETag $tag." PUT /kv/a 9 -H 'If-None-Match: *'
gives .detail 'There is no entry ["none"], and If-Match requires one.' PUT /kv/none 9 -H 'If-Match: *'

test_case 'a malformed condition refuses the write'
for wrong in '"*"' "${tag//\"/}" ',' "$old, x" "${old%\"}" 'W/'; do
    answers 400 bad-request PUT /kv/a 9 -H "If-None-Match: $wrong"
    answers 200 GET /kv/a '' -H "If-None-Match: $wrong"
done
answers 400 bad-request DELETE /kv/a '' -H 'If-None-Match;'
for wrong in '*x' "* $tag" "$tag, *"; do
    answers 412 precondition-failed PUT /kv/none 9 -H "If-Match: $wrong"
    answers 400 bad-request PUT /kv/a 9 -H "If-None-Match: $wrong"
done

test_case 'POST of a new entry refuses conditions'
for guard in 'If-Match: *' "If-None-Match: $tag"; do
    answers 400 bad-request POST /kv/made 1 -H "$guard"
done
gives .count 0 GET /count?prefix=made

test_case 'If-None-Match with a tag refuses that version only'
answers 412 precondition-failed PUT /kv/a 9 -H "If-None-Match: $tag"
answers 200 PUT /kv/a 9 -H "If-None-Match: $old"
tag=$(header_value ETag)

test_case 'GET answers 304 to a client that has this version'
answers 304 GET /kv/a '' -H "If-None-Match: $tag"
header ETag "$tag"
body_is ''
answers 304 GET /kv/a '' -H "If-None-Match: $old, W/$tag"
answers 304 HEAD /kv/a '' -H 'If-None-Match: *'
answers 200 GET /kv/a '' -H "If-None-Match: $old"
body_is 9

test_case 'the next reply of a connection follows the head of a 304'
exec 5<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'GET /kv/a HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\n%s\r\n' \
    '' $'Connection: close\r\n' >&5
timeout "$patience" cat <&5 | tr -d '\r' >"$work/replies"
exec 5<&-
is 'lines' "$(sed 's/ .*//' "$work/replies" | xargs)" \
    'HTTP/1.1 Content-Length: Date: ETag: Cross-Origin-Resource-Policy: HTTP/1.1 Connection: Content-Length: Date: ETag: Cross-Origin-Resource-Policy:'
is 'lengths' "$(sed -n 's/^Content-Length: //p' "$work/replies" | xargs)" '1 1'

test_case 'GET with If-None-Match of another version is answered in full'
answers 404 GET /kv/none '' -H "If-None-Match: $old"

test_case 'GET with If-Match returns that version or 412'
answers 200 GET /kv/a '' -H "If-Match: $tag"
answers 412 precondition-failed GET /kv/a '' -H "If-Match: $old"

test_case 'PATCH and DELETE take the same conditions'
request PUT /kv/b '{"n":1}'
tag=$(header_value ETag)
answers 412 precondition-failed PATCH /kv/b '{"n":2}' -H "If-Match: $old"
answers 412 precondition-failed PATCH /kv/b '{"n":2}' -H 'If-None-Match: *'
answers 200 PATCH /kv/b '{"n":2}' -H "If-Match: $tag"
answers 412 precondition-failed DELETE /kv/b '' -H "If-Match: $tag"
tag=$(header_value ETag)
request GET /kv/b
body_is '{"n":2}'
answers 204 DELETE /kv/b '' -H "If-Match: $tag"
answers 412 precondition-failed DELETE /kv/b '' -H 'If-Match: *'

test_case 'one of many writers that read the same version wins'
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
