#!/bin/bash
# PATCH is RFC 7396: members replace members, null removes one.
. "$(dirname "$0")/../lib/http.sh"
start_server
merge='Content-Type: application/merge-patch+json'

# The result of a patch on a value.
patched() {
    curl -s -o "$work/null" -X PUT "$url/kv/p" -d "$1"
    curl -s -o "$work/null" -X PATCH "$url/kv/p" -d "$2"
    curl -s "$url/kv/p"
}

test_case 'the examples of RFC 7396 hold'
while IFS='|' read -r value patch result; do
    is "$value patched by $patch" "$(patched "$value" "$patch")" "$result"
done <<'END'
{"a":"b"}|{"a":"c"}|{"a":"c"}
{"a":"b"}|{"b":"c"}|{"a":"b","b":"c"}
{"a":"b"}|{"a":null}|{}
{"a":"b","b":"c"}|{"a":null}|{"b":"c"}
{"a":["b"]}|{"a":"c"}|{"a":"c"}
{"a":"c"}|{"a":["b"]}|{"a":["b"]}
{"a":{"b":"c"}}|{"a":{"b":"d","c":null}}|{"a":{"b":"d"}}
{"a":[{"b":"c"}]}|{"a":[1]}|{"a":[1]}
["a","b"]|["c","d"]|["c","d"]
{"a":"b"}|["c"]|["c"]
{"a":"foo"}|null|null
{"a":"foo"}|"bar"|"bar"
{"e":null}|{"a":1}|{"e":null,"a":1}
[1,2]|{"a":"b","c":null}|{"a":"b"}
{}|{"a":{"bb":{"ccc":null}}}|{"a":{"bb":{}}}
END

test_case 'what the patch does not name keeps its bytes'
is 'the value' "$(patched '{"n":0.10, "big":12345678901234567890, "o":{"x":1.0}}' '{"o":{"y":2}}')" \
    '{"n":0.10, "big":12345678901234567890, "o":{"x":1.0,"y":2}}'

test_case 'a missing entry takes the patch, without its nulls'
request PATCH /kv/new '{"a":1,"b":null}' -H "$merge"
expect 201
request GET /kv/new
body_is '{"a":1}'
header Content-Type application/json

test_case 'a patch answers as a PUT does'
request PATCH /kv/new '{"c":[1]}' -H "$merge"
expect 200
field '[.ok, .versionstamp]' "[true,$(header_value ETag)]"
request PATCH /kv/new '{"c":[2]}' -H 'Content-Type: application/json'
expect 200
request GET /kv/new
body_is '{"a":1,"c":[2]}'

test_case 'a patch can be one mutation of several'
request POST /atomic '{"mutations":[{"type":"patch","key":["new"],"value":{"a":null,"d":true}}]}'
expect 200
request GET /kv/new
body_is '{"c":[2],"d":true}'

test_case 'bytes and counters cannot be patched'
request PUT /kv/text x -H 'Content-Type: text/plain'
request PATCH /kv/text '{"a":1}'
expect 409 type-mismatch
field .key '["text"]'
request GET /kv/text
body_is x

test_case 'a patch is JSON'
request PATCH /kv/new x -H 'Content-Type: text/plain'
expect 415 unsupported-media-type
field .supported '["application/json","application/merge-patch+json","application/json-patch+json"]'
header Accept-Patch 'application/json, application/merge-patch+json, application/json-patch+json'
request PATCH /kv/new '{"a":}'
expect 400 bad-json
request GET /kv/new
body_is '{"c":[2],"d":true}'

test_case 'a result larger than a value may be is refused'
{ printf '{"a":"'; head -c 1048500 /dev/zero | tr '\0' a; printf '"}'; } >"$work/large"
request PUT /kv/large "@$work/large"
expect 201
request PATCH /kv/large "{\"b\":\"$(printf '%0100d' 0)\"}"
expect 413 value-too-large
request GET /kv/large
header Content-Length 1048508

finish
