#!/bin/bash
# POST /atomic: checks and mutations that hold together or not at all.
. "$(dirname "$0")/../lib/http.sh"
start_server

request PUT /kv/a '"a"'
a=$(value .versionstamp)
request PUT /kv/b '"b"'
b=$(value .versionstamp)

test_case 'a check refuses a versionstamp that is not a text'
answers 400 bad-request POST /atomic "{\"checks\":[{\"key\":[\"a\"],\"versionstamp\":1${a}1}],\"mutations\":[]}"
field .pointer /checks/0/versionstamp

test_case 'all mutations of a commit have its versionstamp'
request POST /atomic "{\"checks\":[{\"key\":[\"a\"],\"versionstamp\":\"$a\"},{\"key\":[\"new\"],\"versionstamp\":null}],
    \"mutations\":[{\"type\":\"set\",\"key\":[\"new\"],\"value\":1},{\"type\":\"set\",\"key\":[\"b\"],\"value\":2},{\"type\":\"delete\",\"key\":[\"a\"]}]}"
expect 200
field .ok true
stamp=$(value .versionstamp)
gives '[.entries[].versionstamp]' "[\"$stamp\",\"$stamp\",null]" POST /get '{"keys":[["new"],["b"],["a"]]}'

test_case 'each failed check is returned with the versionstamp of its entry'
request POST /atomic "{\"checks\":[{\"key\":[\"b\"],\"versionstamp\":\"$b\"},{\"key\":[\"none\"],\"versionstamp\":null},{\"key\":[\"a\"],\"versionstamp\":\"$a\"},{\"key\":[\"new\"],\"versionstamp\":null}],
    \"mutations\":[{\"type\":\"set\",\"key\":[\"c\"],\"value\":3}]}"
expect 409 check-failed
field '.failedChecks | length' 3
field '.failedChecks[0]' "{\"check\":0,\"key\":[\"b\"],\"expected\":\"$b\",\"actual\":\"$stamp\"}"
field '.failedChecks[1]' "{\"check\":2,\"key\":[\"a\"],\"expected\":\"$a\",\"actual\":null}"
field '.failedChecks[2]' "{\"check\":3,\"key\":[\"new\"],\"expected\":null,\"actual\":\"$stamp\"}"
answers 404 GET /kv/c

test_case 'mutations apply in order: later ones see what earlier ones did'
answers 200 POST /atomic '{"mutations":[
    {"type":"set","key":["o"],"value":1},{"type":"sum","key":["o"],"value":2},
    {"type":"max","key":["o"],"value":10},{"type":"sum","key":["o"],"value":1},
    {"type":"set","key":["p"],"value":1},{"type":"delete","key":["p"]},
    {"type":"delete","key":["q"]},{"type":"set","key":["q"],"value":{"x":1}},
    {"type":"patch","key":["q"],"value":{"y":2}}]}'
gives '[.entries[].value]' '[11,null,{"x":1,"y":2}]' POST /get '{"keys":[["o"],["p"],["q"]]}'

test_case 'checks look at the state before the commit'
request POST /atomic '{"checks":[{"key":["later"],"versionstamp":null}],"mutations":[{"type":"set","key":["later"],"value":1}]}'
expect 200
request POST /atomic '{"checks":[{"key":["later"],"versionstamp":null}],"mutations":[{"type":"delete","key":["later"]}]}'
expect 409 check-failed

test_case 'a commit with one refused mutation stores none of its mutations'
request PUT /kv/text '"text"'
answers 409 type-mismatch POST /atomic '{"mutations":[
    {"type":"set","key":["first"],"value":1},{"type":"delete","key":["b"]},
    {"type":"sum","key":["text"],"value":1},{"type":"set","key":["last"],"value":1}]}'
field .mutation 2
field .key '["text"]'
gives '[.entries[].value]' '[null,2,null]' POST /get '{"keys":[["first"],["b"],["last"]]}'

test_case 'a refused commit uses up no versionstamp'
request PUT /kv/c 1
first=$(value .versionstamp)
answers 409 type-mismatch POST /atomic '{"mutations":[{"type":"sum","key":["text"],"value":1}]}'
request PUT /kv/c 2
is 'the next versionstamp' $((16#${first:0:16} + 1)) $((16#$(value '.versionstamp[:16]')))

test_case 'a dry commit reports whether it would hold, and changes nothing'
answers 200 POST /atomic '{"dry":true,"mutations":[{"type":"set","key":["b"],"value":"changed"}]}'
field . '{"ok":true,"versionstamp":null,"dry":true}'
answers 409 check-failed POST /atomic '{"dry":true,"checks":[{"key":["b"],"versionstamp":null}],"mutations":[]}'
request GET /kv/b
body_is 2
header ETag "\"$stamp\""

test_case 'a mutation with the suffix versionstamp gets it as the last part of its key'
request POST /atomic '{"mutations":[{"type":"set","key":["log"],"value":"one","suffix":"versionstamp"},{"type":"set","key":["log","x"],"value":"two","suffix":"versionstamp"}]}'
expect 200
stamp=$(value .versionstamp)
gives '[.entries[].key]' "[[\"log\",\"$stamp\"],[\"log\",\"x\",\"$stamp\"]]" GET /list?prefix=log
request POST /atomic '{"mutations":[{"type":"set","key":["log"],"value":"three","suffix":"versionstamp"}]}'
gives '[.entries[].value]' '["one","three"]' GET '/list?prefix=log&limit=2'

test_case 'an empty commit succeeds'
answers 200 POST /atomic '{}'
field .ok true

test_case 'a commit may have checks alone'
answers 200 POST /atomic '{"checks":[{"key":["none"],"versionstamp":null}]}'

test_case 'a commit has at most 1000 checks and 1000 mutations'
request POST /atomic "$(jq -nc '{checks: [range(1000) | {key: ["m", .], versionstamp: null}], mutations: [range(1000) | {type: "set", key: ["m", .], value: .}]}')"
expect 200
gives .count 1000 GET /count?prefix=m
answers 413 commit-too-large POST /atomic "$(jq -nc '{mutations: [range(1001) | {type: "delete", key: ["m", .]}]}')"
answers 413 commit-too-large POST /atomic "$(jq -nc '{checks: [range(1001) | {key: ["n", .], versionstamp: null}]}')"
gives .count 1000 GET /count?prefix=m

# A few bytes rewrite a megabyte, and the writer has other clients to serve.
test_case 'the patches of a commit share its budget'
{ printf '{"a":0,"text":"'; head -c 999980 /dev/zero | tr '\0' x; printf '"}'; } >"$work/large"
request PUT /kv/patched "@$work/large" -H 'Content-Type: application/json'
patches() { # COUNT
    jq -nc --argjson n "$1" '{mutations: [range($n) | {type: "patch", key: ["patched"], value: {a: .}}]}'
}
answers 413 commit-too-large POST /atomic "$(patches 30)"
request GET '/kv/patched?fields=a'
body_is '{"a":0}'
answers 200 POST /atomic "$(patches 12)"
request GET '/kv/patched?fields=a'
body_is '{"a":11}'
answers 200 POST /atomic "$(jq -nc '{mutations: [range(1000) | {type: "patch", key: ["small"], value: {a: .}}]}')"
request DELETE /kv/patched

test_case 'a commit has at most 8 MiB'
{ printf '{"mutations":[]'; head -c 8388593 /dev/zero | tr '\0' ' '; } >"$work/envelope"
answers 400 bad-json POST /atomic "@$work/envelope" # one byte is missing: the brace
printf '}' >>"$work/envelope"
answers 413 payload-too-large POST /atomic "@$work/envelope" -H 'Expect:'
field .limit 8388608

test_case 'a commit with If-Match or If-None-Match is refused'
for condition in 'If-Match: "00000000000000010000"' 'If-None-Match: *'; do
    request POST /atomic '{"mutations":[{"type":"set","key":["unchecked"],"value":1}]}' -H "$condition"
    expect 400 bad-request
    is 'the header is named' "$(value ".detail | startswith(\"${condition%%:*}\")")" true
done
gives .count 0 GET /count?prefix=unchecked

test_case 'a malformed commit is refused, with a pointer'
while IFS='|' read -r document code pointer; do
    request POST /atomic "$document"
    expect 400 "$code"
    is "the pointer for $document" "$(value '.pointer // ""')" "$pointer"
done <<'END'
[]|bad-request|
{"check":[]}|unknown-member|/check
{"checks":{}}|bad-request|/checks
{"dry":1}|bad-request|/dry
{"checks":[{"key":["a"]}]}|bad-request|/checks/0
{"checks":[{"key":["a"],"versionstamp":"1"}]}|bad-request|/checks/0/versionstamp
{"checks":[{"key":["a"],"versionstamp":"00000000000000000000"}]}|bad-request|/checks/0/versionstamp
{"checks":[{"key":["a"],"versionstamp":null,"value":1}]}|unknown-member|/checks/0/value
{"checks":[{"key":["a"],"versionstamp":null},{"key":[],"versionstamp":null}]}|bad-key|/checks/1/key
{"mutations":[{"type":"put","key":["a"]}]}|bad-request|/mutations/0/type
{"mutations":[{"type":"set","key":["a"]}]}|bad-request|/mutations/0
{"mutations":[{"key":["a"],"value":1}]}|bad-request|/mutations/0
{"mutations":[{"type":"set","value":1}]}|bad-request|/mutations/0
{"mutations":[{"type":"set","key":["a"],"value":1},{"type":"set","key":["a"],"value":1,"tll":"1s"}]}|unknown-member|/mutations/1/tll
{"mutations":[{"type":"set","key":["a"],"value":1,"typed":{"type":"KvU64","value":"1"}}]}|bad-request|/mutations/0
{"mutations":[{"type":"set","key":["a"],"value":1,"ttl":60}]}|bad-request|/mutations/0/ttl
{"mutations":[{"type":"set","key":["a"],"value":1,"ttl":"soon"}]}|bad-request|/mutations/0/ttl
{"mutations":[{"type":"set","key":["a"],"value":1,"expiresAt":"2036-01-01"}]}|bad-request|/mutations/0/expiresAt
{"mutations":[{"type":"set","key":["a"],"value":1,"expiresAt":0}]}|bad-request|/mutations/0/expiresAt
{"mutations":[{"type":"set","key":["a"],"value":1,"expiresAt":1.5}]}|bad-request|/mutations/0/expiresAt
{"mutations":[{"type":"set","key":["a"],"value":1,"expiresAt":9007199254740992}]}|bad-request|/mutations/0/expiresAt
{"mutations":[{"type":"set","key":["a"],"value":1,"ttl":"1s","expiresAt":4e12}]}|bad-request|/mutations/0
{"mutations":[{"type":"delete","key":["a"],"expiresAt":4e12}]}|bad-request|/mutations/0
{"mutations":[{"type":"delete","key":["a"],"value":1}]}|bad-request|/mutations/0
{"mutations":[{"type":"sum","key":["a"],"value":"1"}]}|bad-value|/mutations/0
{"mutations":[{"type":"sum","key":["a"],"value":1,"suffix":"versionstamp"}]}|bad-request|/mutations/0
{"mutations":[{"type":"set","key":["a"],"value":1,"suffix":"ulid"}]}|bad-request|/mutations/0/suffix
{"mutations":[{"type":"set","key":["a",[1]],"value":1}]}|bad-key|/mutations/0/key/1
{"mutations":[{"type":"set","key":["a"],"typed":{"type":"KvU64","value":"x"}}]}|bad-value|/mutations/0/typed
END
request POST /atomic '{"mutations":[{"type":"set","key":["a"],"value":1,"ttl":1000}]}'
field .detail 'ttl is a string with a unit, such as "60s".'
answers 404 GET /kv/a

test_case 'a commit of another media type is refused'
answers 415 unsupported-media-type POST /atomic '{}' -H 'Content-Type: text/plain'
field .supported '["application/json"]'
answers 200 POST /atomic '{}' -H 'Content-Type: application/json; charset=utf-8'
answers 400 unknown-parameter POST '/atomic?dry=true' '{}'

finish
