#!/bin/bash
# What JSON cannot carry: JavaScript's other values, in the form of kv-utils.
# They are stored as V8 writes them, so that Deno and Node read them, and
# indexes find their fields like those of JSON.
. "$(dirname "$0")/../lib/http.sh"
start_server
typed='Content-Type: application/vnd.kindex.typed+json'

# A typed value comes back as it was sent.
same() {
    answers 201 PUT /kv/same "$1" -H "$typed"
    request GET /kv/same
    header Content-Type application/vnd.kindex.typed+json
    body_is "$1"
    request DELETE /kv/same
}

test_case 'every kind of value of JavaScript comes back as it was sent'
same '{"type":"undefined"}'
same '{"type":"bigint","value":"-123456789012345678901234567890"}'
same '{"type":"number","value":"NaN"}'
same '{"type":"number","value":"-Infinity"}'
same '{"type":"number","value":"-0"}'
same '{"type":"Date","value":"2023-04-23T00:00:00.123Z"}'
same '{"type":"Date","value":"-000001-12-31T23:59:59.999Z"}'
same '{"type":"Date","value":"Invalid Date"}'
same '{"type":"RegExp","value":"/a\\/b/gi"}'
same '{"type":"Map","value":[[{"type":"string","value":"a"},{"type":"number","value":1}]]}'
same '{"type":"Set","value":[{"type":"number","value":1},{"type":"null","value":null}]}'
same '{"type":"Array","value":[{"type":"hole"},{"type":"boolean","value":true},{"type":"hole"}]}'
same '{"type":"TypeError","value":{"message":"bad","stack":"at x","cause":{"type":"undefined"}}}'
same '{"type":"ArrayBuffer","value":"AQID","byteLength":3}'
same '{"type":"Float64Array","value":"AAAAAAAA-D8","byteLength":8}'
same '{"type":"DataView","value":"AQI","byteLength":2}'
same '{"type":"string","value":"a�","utf16":"YQAA2A"}'
same '{"type":"object","value":{"born":{"type":"Date","value":"1815-12-10T00:00:00.000Z"},"n":{"type":"bigint","value":"1"}}}'

test_case 'a value without a typed form is returned as the bytes of V8'
same '{"type":"V8","value":"_xBuAAAAAAAAFEA","byteLength":11}'
same '{"type":"V8","value":"_xBvIgRuYW1lIgFjIgRzZWxmXgB7Ag","byteLength":22}'
request PUT /kv/v8 '{"type":"V8","value":"_xBvIgFhSQJ7AQ"}' -H "$typed"
request GET /kv/v8
header Content-Type application/json
body_is '{"a":1}'

test_case 'lists and POST /get show values of JavaScript in their typed form'
request PUT /kv/list/a '{"type":"bigint","value":"1"}' -H "$typed"
request PUT /kv/list/b '{"type":"V8","value":"_xBvIgFhSQJ7AQ"}' -H "$typed"
gives '[.entries[] | [.typed, .value]]' '[[{"type":"bigint","value":"1"},null],[null,{"a":1}]]' GET /list?prefix=list
request POST /get '{"keys":[["list","a"],["list","b"]]}'
field '[.entries[] | [.typed, .value]]' '[[{"type":"bigint","value":"1"},null],[null,{"a":1}]]'
answers 200 POST /atomic '{"mutations":[{"type":"set","key":["set"],"typed":{"type":"Set","value":[]}}]}'
request GET /kv/set
body_is '{"type":"Set","value":[]}'

test_case 'If-Match and If-None-Match apply to values of JavaScript'
request PUT /kv/etag '{"type":"Map","value":[]}' -H "$typed"
etag=$(header_value ETag)
answers 304 GET /kv/etag '' -H "If-None-Match: $etag"
answers 412 PUT /kv/etag '{"type":"Set","value":[]}' -H "$typed" -H 'If-Match: "00000000000000000000"'
request GET /kv/etag
body_is '{"type":"Map","value":[]}'

test_case 'a patch of a value of JavaScript that JSON can express makes it JSON'
answers 200 PATCH /kv/v8 '{"b":[2]}'
request GET /kv/v8
body_is '{"a":1,"b":[2]}'
answers 409 type-mismatch PATCH /kv/etag '{"b":2}'

test_case 'bigints are summed exactly, up to 4096 bytes'
for n in 9007199254740993 1 -9223372036854775808 100000000000000000000; do
    request POST /atomic "{\"mutations\":[{\"type\":\"sum\",\"key\":[\"big\"],\"typed\":{\"type\":\"bigint\",\"value\":\"$n\"}}]}"
    expect 200
done
gives .value 90785635162399965186 GET /kv/big
request POST /atomic '{"mutations":[{"type":"max","key":["big"],"typed":{"type":"bigint","value":"5"}}]}'
request POST /atomic '{"mutations":[{"type":"min","key":["big"],"typed":{"type":"bigint","value":"5"}}]}'
request GET /kv/big
body_is '{"type":"bigint","value":"5"}'
answers 409 type-mismatch POST /atomic '{"mutations":[{"type":"sum","key":["big"],"value":1}]}'
field .detail 'Cannot sum BigInt with Number'
request POST /atomic '{"mutations":[{"type":"sum","key":["big"],"typed":{"type":"Date","value":"2023-04-23"}}]}'
expect 400 bad-value

test_case 'indexes find the fields of values of JavaScript'
request POST /indexes '{"name":"people_by_born","prefix":["people"],"fields":["/born"]}'
request POST /indexes '{"name":"people_by_tag","prefix":["people"],"fields":[{"path":"/tags","each":true}]}'
request POST /indexes '{"name":"people_by_id","prefix":["people"],"fields":["/id"],"unique":true,"store":{"fields":["/born","/name"]}}'
request PUT /kv/people/ada '{"type":"object","value":{"id":{"type":"bigint","value":"18446744073709551616"},"name":{"type":"string","value":"Ada"},"born":{"type":"Date","value":"1815-12-10T00:00:00.000Z"},"tags":{"type":"Set","value":[{"type":"string","value":"math"},{"type":"string","value":"poetry"}]}}}' -H "$typed"
expect 201
answers 201 PUT /kv/people/carl '{"id":7,"name":"Carl","born":-6000000000000,"tags":["math"]}'
gives '[.entries[].key[1:]]' '[["math","ada"],["math","carl"],["poetry","ada"]]' GET /list?prefix=people_by_tag
gives '[.entries[].key]' '[["people","carl"],["people","ada"]]' GET '/list?index=people_by_born'
answers 200 GET /kv/people_by_born/=-4861728000000/ada
answers 200 GET '/indexes/people_by_id/get/=18446744073709551616n'
header Content-Location /kv/people/ada
field '.value.name.value' Ada
request PUT /kv/people/eve '{"type":"object","value":{"id":{"type":"bigint","value":"18446744073709551616"}}}' -H "$typed"
expect 409 unique-violation
field .value '[{"type":"bigint","value":"18446744073709551616"}]'

test_case 'members that an index stores keep their types'
request GET /kv/people_by_id/=18446744073709551616n
body_is '{"type":"object","value":{"born":{"type":"Date","value":"1815-12-10T00:00:00.000Z"},"name":{"type":"string","value":"Ada"}}}'
request GET /kv/people_by_id/=7
body_is '{"born":-6000000000000,"name":"Carl"}'

test_case 'deleting a value of JavaScript removes its index entries'
request DELETE /kv/people/ada
gives '[.entries[].key[1:]]' '[["math","carl"]]' GET /list?prefix=people_by_tag

test_case 'an invalid typed value is refused with the reason'
refused() {
    answers 400 bad-value PUT /kv/refused "$1" -H "$typed"
    field ".detail | contains(\"$2\")" true
}
refused '{"type":"bigint","value":"1n"}' decimal
refused '{"type":"Date","value":"yesterday"}' '2023-04-23T00:00:00.123Z'
refused '{"type":"Date","value":"2023-02-29T00:00:00.000Z"}' 'string such as'
refused '{"type":"RegExp","value":"/a/gg"}' dgimsuvy
refused '{"type":"Map","value":[{"type":"null","value":null}]}' pairs
refused '{"type":"Uint16Array","value":"AQID"}' 'whole elements'
refused '{"type":"Error","value":{"code":"E1"}}' 'message, stack and cause'
refused '{"type":"Array","value":[{"type":"KvU64","value":"1"}]}' 'as a whole value'
refused '{"type":"V8","value":"_w9vIgFhSQJ7Ag"}' 'at byte'
refused '{"type":"V8","value":"_w9vIgFhSQIiAWFJBHsC"}' 'two members of one name'
refused '{"type":"hole"}' 'type hole is unknown'
refused '{"type":"Blob","value":"AQ"}' 'type Blob is unknown'
answers 404 GET /kv/refused

test_case 'values of JavaScript and their index survive a restart'
request GET /kv/etag
before=$(cat "$answer")
stop_server
start_server
request GET /kv/etag
body_is "$before"
gives '[.entries[].key[1:]]' '[["math","carl"]]' GET /list?prefix=people_by_tag

finish
