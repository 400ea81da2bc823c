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

test_case 'a merge patch gives the results of the examples of RFC 7396'
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

test_case 'members that the patch does not name keep their bytes'
is 'the value' "$(patched '{"n":0.10, "big":12345678901234567890, "o":{"x":1.0}}' '{"o":{"y":2}}')" \
    '{"n":0.10, "big":12345678901234567890, "o":{"x":1.0,"y":2}}'

test_case 'a patch of a missing entry stores the patch without its nulls'
answers 201 PATCH /kv/new '{"a":1,"b":null}' -H "$merge"
request GET /kv/new
body_is '{"a":1}'
header Content-Type application/json

test_case 'a patch answers as a PUT does'
answers 200 PATCH /kv/new '{"c":[1]}' -H "$merge"
field '[.ok, .versionstamp]' "[true,$(header_value ETag)]"
answers 200 PATCH /kv/new '{"c":[2]}' -H 'Content-Type: application/json'
request GET /kv/new
body_is '{"a":1,"c":[2]}'

test_case 'a merge patch can be one mutation of several'
answers 200 POST /atomic '{"mutations":[{"type":"patch","key":["new"],"value":{"a":null,"d":true}}]}'
request GET /kv/new
body_is '{"c":[2],"d":true}'

test_case 'bytes and counters cannot be patched'
request PUT /kv/text x -H 'Content-Type: text/plain'
answers 409 type-mismatch PATCH /kv/text '{"a":1}'
field .key '["text"]'
request GET /kv/text
body_is x

test_case 'a patch that is no JSON is refused'
answers 415 unsupported-media-type PATCH /kv/new x -H 'Content-Type: text/plain'
field .supported '["application/json","application/merge-patch+json","application/json-patch+json"]'
header Accept-Patch 'application/json, application/merge-patch+json, application/json-patch+json'
answers 400 bad-json PATCH /kv/new '{"a":}'
request GET /kv/new
body_is '{"c":[2],"d":true}'

test_case 'a patch whose result exceeds the size of a value is refused'
{ printf '{"a":"'; head -c 1048500 /dev/zero | tr '\0' a; printf '"}'; } >"$work/large"
answers 201 PUT /kv/large "@$work/large"
answers 413 value-too-large PATCH /kv/large "{\"b\":\"$(printf '%0100d' 0)\"}"
request GET /kv/large
header Content-Length 1048508

finish
