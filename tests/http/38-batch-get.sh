#!/bin/bash
# POST /get: many keys and ranges in one consistent view.
. "$(dirname "$0")/../lib/http.sh"
start_server

request POST /atomic '{"mutations":[
    {"type":"set","key":["a"],"value":{"n": 0.10}},
    {"type":"set","key":["b",1],"value":1},
    {"type":"set","key":["b",2],"value":2},
    {"type":"set","key":["u"],"typed":{"type":"KvU64","value":"7"}},
    {"type":"set","key":["t"],"typed":{"type":"Uint8Array","value":"AQID"}}]}'

test_case 'POST /get returns entries in the order of the request, also twice'
answers 200 POST /get '{"keys":[["b",2],["a"],["b",2]]}'
field '[.entries[].key]' '[["b",2],["a"],["b",2]]'
field '[.entries[].value]' '[2,{"n":0.1},2]'
field .ranges '[]'
is 'the bytes of the value' "$(grep -c '"value":{"n": 0.10}' "$answer")" 1

test_case 'POST /get returns a missing key as an entry without versionstamp'
answers 200 POST /get '{"keys":[["a"],["none"],["b","1"]]}'
field '[.entries[] | .versionstamp != null]' '[true,false,false]'
field '.entries[1]' '{"key":["none"],"value":null,"versionstamp":null}'
field '.entries[2].key' '["b","1"]'

test_case 'a value that JSON cannot express is returned in typed form'
request POST /get '{"keys":[["u"],["t"]]}'
field '.entries[0].typed' '{"type":"KvU64","value":"7"}'
field '.entries[1].typed' '{"type":"Uint8Array","value":"AQID","byteLength":3}'
field '[.entries[] | has("value")]' '[false,false]'

test_case 'a range of POST /get takes the selection of a list'
request POST /get '{"ranges":[{"prefix":["b"]},{"prefix":["b"],"reverse":true,"limit":1},{"start":["a"],"end":["b",1]},{"prefix":["b"],"keys":true},{}]}'
expect 200
field '[.ranges[] | [.entries[].key]]' \
    '[[["b",1],["b",2]],[["b",2]],[["a"]],[["b",1],["b",2]],[["a"],["b",1],["b",2],["t"],["u"]]]'
field '.ranges[3].entries | map(has("value"))' '[false,false]'
field '[.ranges[].cursor != null]' '[false,true,false,false,false]'

test_case 'the cursor of a range continues in POST /get and in /list'
cursor=$(value '.ranges[1].cursor')
request POST /get "{\"ranges\":[{\"prefix\":[\"b\"],\"reverse\":true,\"cursor\":\"$cursor\"}]}"
field '[.ranges[0].entries[].value]' '[1]'
gives '[.entries[].value]' '[1]' GET "/list?prefix=b&reverse=true&cursor=$cursor"

test_case 'POST /get reads keys, ranges and an index in one request'
request PUT /kv/i/a '{"n":0.1}'
request POST /indexes '{"name":"by_n","prefix":["i"],"fields":["/n"]}'
until_field .state ready GET /indexes/by_n
answers 200 POST /get '{"keys":[["by_n",0.1,"a"]],"ranges":[{"index":"by_n"},{"index":"by_n","prefix":[0.2]}]}'
field '.entries[0].value' a
field '.ranges[0].entries[0].key' '["i","a"]'
field '.ranges[1].entries' '[]'

test_case 'POST /get limits the bytes of the entries that it reads'
{ printf '{"n":1,"text":"'; head -c 1000000 /dev/zero | tr '\0' x; printf '"}'; } >"$work/large"
for i in {10..29}; do
    request PUT "/kv/large/$i" "@$work/large"
done
large() { # COUNT
    seq -f '["large","%g"]' -s , 10 $((9 + $1))
}
answers 200 POST /get "{\"keys\":[$(large 16)],\"fields\":[\"n\"]}"
field '.entries | map(.value) | unique' '[{"n":1}]'
answers 413 payload-too-large POST /get "{\"keys\":[$(large 20)],\"fields\":[\"n\"]}"
field .limit 16777216
answers 200 POST /get '{"ranges":[{"prefix":["large"],"fields":["n"]},{"prefix":["large"],"keys":true}]}'
field '[.ranges[] | [(.entries | length), .more, .cursor != null]]' '[[5,true,true],[5,true,true]]'
cursor=$(value '.ranges[1].cursor')
request POST /get "{\"ranges\":[{\"prefix\":[\"large\"],\"keys\":true,\"cursor\":\"$cursor\"}]}"
field '[.ranges[0].entries[].key[1]]' '["15","16","17","18","19"]'
request POST /get "{\"ranges\":[$(for i in {1..20}; do printf '%s{"prefix":["large"],"limit":1,"keys":true}' ${sep-}; sep=,; done)]}"
expect 413 payload-too-large

test_case 'POST /get without keys and ranges returns no entries'
answers 200 POST /get '{}'
field . '{"entries":[],"ranges":[]}'

test_case 'POST /get refuses a key that is too long'
answers 400 key-too-long POST /get "{\"keys\":[[\"a\"],[\"$(printf '%03000d' 0)\"]]}"
field .pointer /keys/1

test_case 'POST /get refuses a malformed document, with a pointer'
while IFS='|' read -r document code pointer; do
    request POST /get "$document"
    expect 400 "$code"
    is "the pointer for $document" "$(value '.pointer // ""')" "$pointer"
done <<'END'
[]|bad-request|
{"keys":{}}|bad-request|/keys
{"keys":["a"]}|bad-key|/keys/0
{"keys":[["a"],[]]}|bad-key|/keys/1
{"keys":[["a"],[9007199254740993]]}|key-number-inexact|/keys/1/0
{"key":[["a"]]}|unknown-member|/key
{"ranges":[{"prefx":["a"]}]}|unknown-member|/ranges/0/prefx
{"ranges":[{"prefix":"a"}]}|bad-key|/ranges/0/prefix
{"ranges":[{"limit":0}]}|bad-request|/ranges/0/limit
{"ranges":[{"prefix":["a"],"cursor":"x"}]}|cursor-invalid|/ranges/0
{"ranges":[{},{"start":["b"],"end":["a"]}]}|bad-request|/ranges/1
END

test_case 'POST /get names an index that is absent'
answers 404 index-not-found POST /get '{"ranges":[{"index":"none"}]}'
field .index none

test_case 'POST /get has at most 1000 keys and entries of ranges together'
answers 200 POST /get "$(jq -nc '{keys: [range(1000) | ["b", .]]}')"
field '[.entries[] | select(.versionstamp)] | length' 2
answers 400 bad-request POST /get "$(jq -nc '{keys: [range(1001) | ["b", .]]}')"
answers 200 POST /get "$(jq -nc '{ranges: [range(1000) | {prefix: ["b"], limit: 1}]}')"
answers 400 bad-request POST /get '{"keys":[["a"]],"ranges":[{"limit":900},{}]}'

test_case 'POST /get reads one view: two keys that change together are never seen apart'
for i in {1..500}; do
    echo next
    echo "url = $url/atomic"
    echo "output = $work/null"
    echo 'data = "{\"mutations\":[{\"type\":\"sum\",\"key\":[\"p\"],\"value\":1},{\"type\":\"sum\",\"key\":[\"q\"],\"value\":1}]}"'
done | tail -n +2 >"$work/writes"
curl -s -K "$work/writes" &
writer=$!
: >"$work/apart"
while kill -0 $writer 2>"$work/null"; do
    KX_RECORD= request POST /get '{"keys":[["p"],["q"]],"ranges":[{"prefix":["nothing"]}]}'
    [ "$(value '.entries[0].value == .entries[1].value and .entries[0].versionstamp == .entries[1].versionstamp')" = true ] || cp "$answer" "$work/apart"
done
is 'the pair seen apart' "$(cat "$work/apart")" ''
request GET /kv/p
body_is 500

finish
