#!/bin/bash
# Values come back as they were sent: JSON byte for byte, bytes with their
# media type, and in typed form what JSON cannot carry.
. "$(dirname "$0")/../lib/http.sh"
start_server
typed='Content-Type: application/vnd.kindex.typed+json'

kept() {
    answers 201 PUT /kv/kept "$1" -H 'Content-Type: application/json'
    request GET /kv/kept
    header Content-Type application/json
    body_is "$1"
    request DELETE /kv/kept
}

test_case 'JSON keeps its bytes: digits, spaces, order of members, escapes'
kept '{"b":0.1,"a":1.10,"c":100000000000000000000000000000000000001}'
kept ' { "a" : [ 1 , 2 ] } '
kept $'\n\t[]\r\n'
kept -0
kept 1e-400
kept 1.7976931348623157e308
kept '"\u0041\/\u00e9é🍎\ud83c\udf4e\u0000"'
kept '{"":{"":[[],{},"",null,true,false]}}'
kept null

test_case 'a list shows the bytes of JSON values unchanged'
request PUT /kv/bytes/1 ' { "b" : 0.10 , "a" : [ 1e2 ] } '
request GET /list?prefix=bytes
is 'the place of the value' "$(grep -c '{ "b" : 0.10 , "a" : \[ 1e2 \] }' "$answer")" 1

test_case 'a body without a Content-Type is JSON'
answers 201 PUT /kv/a '{"a":1}'
answers 200 PUT /kv/a '{"a":2}' -H 'Content-Type:'
request GET /kv/a
header Content-Type application/json
body_is '{"a":2}'

test_case 'a body that is no JSON is refused with its place and the way to store text'
answers 400 bad-json PUT /kv/a 'hello'
field '.detail | contains("text/plain")' true
field '.offset' 0
answers 400 bad-json PUT /kv/a $'{\n  "name": "Ada",\n  "born": 1815,\n}'
field '.detail | contains("line 4, column 1")' true
field .offset 35
request GET /kv/a
body_is '{"a":2}'

test_case 'the hint to store bytes is absent where nothing is stored'
answers 400 bad-json POST /atomic hello
field '.detail | contains("text/plain")' false

test_case 'a value of another media type comes back as the same bytes'
printf 'a\0b\xff\xfe"{' >"$work/bytes"
answers 201 PUT /kv/bytes/2 "@$work/bytes" -H 'Content-Type: image/x-test'
answers 200 GET /kv/bytes/2
header Content-Type image/x-test
header Content-Length 7
is 'the difference' "$(cmp "$work/bytes" "$answer" 2>&1)" ''
request PUT /kv/bytes/2 'x' -H 'Content-Type: text/plain; charset=utf-8'
request GET /kv/bytes/2
header Content-Type 'text/plain; charset=utf-8'
body_is x

test_case 'a browser runs nothing of what is stored'
request PUT /kv/bytes/page '<script>1</script>' -H 'Content-Type: text/html'
request GET /kv/bytes/page
header X-Content-Type-Options nosniff
header Content-Security-Policy sandbox
request PUT /kv/bytes/json 1
request GET /kv/bytes/json
is 'the header' "$(grep -ci content-security "$head")" 0

test_case 'a media type that could not be shown in a list is refused'
answers 415 unsupported-media-type PUT /kv/media x -H $'Content-Type: x/\xff'
request PUT /kv/media 1 -H 'Content-Type: application/json' -H 'Content-Type: application/json'
expect 415 unsupported-media-type
answers 201 PUT /kv/media x -H 'Content-Type: text/x; title="a, b"'
request DELETE /kv/media
answers 415 unsupported-media-type PUT /kv/media x -H "Content-Type: x/$(printf '%0126d' 0)"
answers 201 PUT /kv/media x -H "Content-Type: x/$(printf '%0125d' 0)"

test_case 'a single word is no media type, so a typing error does not turn JSON into bytes'
for type in json text/ /plain 'text; charset=utf-8'; do
    answers 415 unsupported-media-type PUT /kv/media 1 -H "Content-Type: $type"
    is 'it is named' "$(value '.detail | contains("Content-Type \"'"$type"'\"")')" true
done

test_case 'a PUT with Content-Range is refused'
for method in PUT POST; do
    request $method /kv/part abc -H 'Content-Type: image/png' -H 'Content-Range: bytes 0-2/9'
    expect 400 bad-request
    is 'it is named' "$(value '.detail | contains("Content-Range bytes 0-2/9")')" true
done
gives .count 0 GET /count?prefix=part

test_case 'an empty body can be stored as bytes, but is no JSON'
answers 201 PUT /kv/empty '' --data-binary '' -H 'Content-Type: text/plain'
answers 200 GET /kv/empty
header Content-Length 0
body_is ''
answers 400 bad-json PUT /kv/empty '' --data-binary ''

test_case 'a list shows bytes in their typed form'
request PUT /kv/shown/1 abc -H 'Content-Type: text/plain'
request PUT /kv/shown/2 abc -H 'Content-Type: application/octet-stream'
request GET /list?prefix=shown
field '.entries[0] | has("value")' false
field '.entries[0].typed' '{"type":"Uint8Array","value":"YWJj","byteLength":3,"mediaType":"text/plain"}'
field '.entries[1].typed' '{"type":"Uint8Array","value":"YWJj","byteLength":3}'

test_case 'a list shows a KvU64 in its typed form, over its whole range'
for number in 0 42 9007199254740993 18446744073709551615; do
    request PUT /kv/u64 "{\"type\":\"KvU64\",\"value\":\"$number\"}" -H "$typed"
    [ "$status" = 201 ] || expect 200
    answers 200 GET /kv/u64
    header Content-Type application/vnd.kindex.typed+json
    body_is "{\"type\":\"KvU64\",\"value\":\"$number\"}"
done
request GET '/list?prefix=[]'
field '.entries[] | select(.key == ["u64"]) | [.typed, has("value")]' \
    '[{"type":"KvU64","value":"18446744073709551615"},false]'

test_case 'typed bytes come back as bytes with their media type'
request PUT /kv/png '{"type":"Uint8Array","value":"iVBORw0KGgo","mediaType":"image/png","byteLength":8}' -H "$typed"
expect 201
request GET /kv/png
header Content-Type image/png
is 'the bytes' "$(od -An -tx1 "$answer" | tr -d ' ')" 89504e470d0a1a0a

test_case 'a typed form of plain JSON is stored as plain JSON'
request PUT /kv/plain '{"type":"object","value":{"a":{"type":"Array","value":[{"type":"number","value":0.10},{"type":"null","value":null}]},"b":{"type":"string","value":"x"}}}' -H "$typed"
expect 201
request GET /kv/plain
header Content-Type application/json
body_is '{"a":[0.10,null],"b":"x"}'

test_case 'malformed typed values are refused'
for value in '1' '{}' '[]' '{"type":"KvU64"}' '{"type":"KvU64","value":1}' \
    '{"type":"KvU64","value":"-1"}' '{"type":"KvU64","value":""}' \
    '{"type":"KvU64","value":"18446744073709551616"}' \
    '{"type":"KvU64","value":"1","more":1}' \
    '{"type":"Uint8Array","value":"AQ=="}' \
    '{"type":"Uint8Array","value":"AQID","byteLength":4}' \
    '{"type":"object","value":{"a":{"type":"KvU64","value":"1"}}}' \
    '{"type":"Symbol","value":"a"}'; do
    answers 400 bad-value PUT /kv/refused "$value" -H "$typed"
done
answers 404 key-not-found GET /kv/refused

test_case 'a value is at most 1 MiB, to the byte'
{ printf '"'; head -c 1048574 /dev/zero | tr '\0' a; printf '"'; } >"$work/large"
answers 201 PUT /kv/large "@$work/large"
request GET /kv/large
is 'the difference' "$(cmp "$work/large" "$answer" 2>&1)" ''
printf ' ' >>"$work/large"
answers 413 value-too-large PUT /kv/large "@$work/large"
field .limit 1048576
field .actual 1048577
answers 413 value-too-large PUT /kv/large "@$work/large" -H 'Transfer-Encoding: chunked'
answers 413 value-too-large PUT /kv/large "@$work/large" -H 'Content-Type: text/plain'
request GET /kv/large
header Content-Length 1048576

test_case 'a value within an envelope has the same limit and keeps its bytes'
{ printf '{"mutations":[{"type":"set","key":["e"],"value":'; cat "$work/large"; printf '}]}'; } >"$work/envelope"
answers 200 POST /atomic "@$work/envelope"
{ printf '{"mutations":[{"type":"set","key":["e"],"value":"a'; tail -c +2 "$work/large"; printf '}]}'; } >"$work/envelope"
answers 413 value-too-large POST /atomic "@$work/envelope"
field .mutation 0
request POST /atomic '{"mutations":[{"type":"set","key":["e"],"value": {"a" : 0.10} }]}'
request GET /kv/e
body_is '{"a" : 0.10}'

finish
