#!/bin/bash
# PATCH with application/json-patch+json is RFC 6902; ops of a patch in /atomic
# are the same list.
. "$(dirname "$0")/../lib/http.sh"
start_server
json_patch='Content-Type: application/json-patch+json'

# The result of the operations on a value.
patched() {
    curl -s -o "$work/null" -X PUT "$url/kv/p" -d "$1"
    curl -s -o "$work/null" -X PATCH "$url/kv/p" -H "$json_patch" -d "$2"
    curl -s "$url/kv/p"
}

test_case 'the examples of RFC 6902 hold'
while IFS='|' read -r value operations result; do
    is "$value by $operations" "$(patched "$value" "[$operations]")" "$result"
done <<'END'
{"foo":"bar"}|{"op":"add","path":"/baz","value":"qux"}|{"foo":"bar","baz":"qux"}
{"foo":["bar","baz"]}|{"op":"add","path":"/foo/1","value":"qux"}|{"foo":["bar","qux","baz"]}
{"baz":"qux","foo":"bar"}|{"op":"remove","path":"/baz"}|{"foo":"bar"}
{"foo":["bar","qux","baz"]}|{"op":"remove","path":"/foo/1"}|{"foo":["bar","baz"]}
{"baz":"qux","foo":"bar"}|{"op":"replace","path":"/baz","value":"boo"}|{"baz":"boo","foo":"bar"}
{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}|{"op":"move","from":"/foo/waldo","path":"/qux/thud"}|{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}
{"foo":["all","grass","cows","eat"]}|{"op":"move","from":"/foo/1","path":"/foo/3"}|{"foo":["all","cows","eat","grass"]}
{"baz":"qux","foo":["a",2,"c"]}|{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}|{"baz":"qux","foo":["a",2,"c"]}
{"foo":"bar"}|{"op":"add","path":"/child","value":{"grandchild":{}}}|{"foo":"bar","child":{"grandchild":{}}}
{"foo":"bar"}|{"op":"add","path":"/baz","value":"qux","xyz":123}|{"foo":"bar","baz":"qux"}
{"/":9,"~1":10}|{"op":"test","path":"/~01","value":10},{"op":"add","path":"/a~1b~0","value":1}|{"/":9,"~1":10,"a/b~":1}
{"foo":["bar"]}|{"op":"add","path":"/foo/-","value":["abc","def"]}|{"foo":["bar",["abc","def"]]}
{"a":1}|{"op":"replace","path":"","value":[1]}|[1]
{"a":{"b":1}}|{"op":"copy","from":"/a","path":"/a/c"}|{"a":{"b":1,"c":{"b":1}}}
[]|{"op":"add","path":"/0","value":1},{"op":"add","path":"/1","value":2},{"op":"add","path":"/0","value":0}|[0,1,2]
END

test_case 'set makes parents, arrays are sets, and what is not named keeps its bytes'
while IFS='|' read -r value operations result; do
    is "$value by $operations" "$(patched "$value" "[$operations]")" "$result"
done <<'END'
{ "n" : 1.00 }|{"op":"set","path":"/a/b/c","value":1}|{ "n" : 1.00,"a":{"b":{"c":1}} }
{ "n" : 1.00 }|{"op":"append","path":"/t/u","value":1},{"op":"append","path":"/t/u","value":1}|{ "n" : 1.00,"t":{"u":[1,1]} }
{"t":[ "a" ], "z":1e2}|{"op":"include","path":"/t","value":"a"},{"op":"include","path":"/t","value":"b"}|{"t":[ "a","b" ], "z":1e2}
{"t":["a", "b", "a" ]}|{"op":"exclude","path":"/t","value":"a"},{"op":"exclude","path":"/u","value":"a"}|{"t":[ "b" ]}
{ "a":1, "b":2, "c":3 }|{"op":"remove","path":"/a"},{"op":"remove","path":"/c"}|{ "b":2 }
{ "a":1 }|{"op":"remove","path":"/a"}|{ }
END

test_case 'a failed test and a wrong path are conflicts; the operation is named, and nothing is changed'
request PUT /kv/v '{"a":{"b":1},"s":"x"}'
while IFS='|' read -r operations expected pointer; do
    request PATCH /kv/v "[{\"op\":\"set\",\"path\":\"/changed\",\"value\":1},$operations]" -H "$json_patch"
    # shellcheck disable=SC2086
    expect $expected
    field '[.pointer, .mutation, .key]' "[\"$pointer\",0,[\"v\"]]"
done <<'END'
{"op":"test","path":"/a","value":{"b":2}}|409 test-failed|/1/path
{"op":"remove","path":"/none"}|409 path-not-found|/1/path
{"op":"replace","path":"/none","value":1}|409 path-not-found|/1/path
{"op":"add","path":"/s/t","value":1}|409 path-not-found|/1/path
{"op":"add","path":"/none/t","value":1}|409 path-not-found|/1/path
{"op":"remove","path":""}|409 path-not-found|/1/path
{"op":"move","from":"/a","path":"/a/b"}|409 path-not-found|/1/path
{"op":"append","path":"/s","value":1}|409 type-mismatch|/1/path
{"op":"spam","path":"/s"}|400 bad-value|/1/op
{"path":"/s"}|400 bad-value|/1/op
{"op":"remove","path":"s"}|400 bad-value|/1/path
{"op":"copy","path":"/s"}|400 bad-value|/1/from
{"op":"add","path":"/s"}|400 bad-value|/1/value
END
request GET /kv/v
body_is '{"a":{"b":1},"s":"x"}'
request PATCH /kv/v '{"op":"remove"}' -H "$json_patch"
expect 400 bad-value

test_case 'a missing entry is taken as {}, and conditions and times are as for merge patches'
request PATCH '/kv/new?ttl=1h' '[{"op":"include","path":"/tags","value":"a"}]' -H "$json_patch" -H 'If-None-Match: *'
expect 201
request PATCH /kv/new '[{"op":"include","path":"/tags","value":"b"}]' -H "$json_patch" -H 'Prefer: return=representation'
expect 200
body_is '{"tags":["a","b"]}'
find_header Kindex-Expires-At
is 'it keeps its time' "$((found > 0))" 1
request PUT /kv/text x -H 'Content-Type: text/plain'
request PATCH /kv/text '[]' -H "$json_patch"
expect 409 type-mismatch

test_case 'ops of a patch in /atomic, and the index follows'
request POST /indexes '{"name":"by_tag","prefix":["d"],"fields":[{"path":"/tags","each":true}]}'
until_field .state ready GET /indexes/by_tag
request POST /atomic '{"mutations":[
    {"type":"patch","key":["d","1"],"ops":[{"op":"include","path":"/tags","value":"x"},{"op":"include","path":"/tags","value":"y"}]},
    {"type":"patch","key":["d","1"],"ops":[{"op":"exclude","path":"/tags","value":"x"}],"return":"new"}]}'
expect 200
field '.results[1].value' '{"tags":["y"]}'
request GET '/list?prefix=by_tag'
field '[.entries[].key]' '[["by_tag","y","1"]]'
request POST /atomic '{"mutations":[{"type":"set","key":["e"],"value":1},
    {"type":"patch","key":["d","1"],"ops":[{"op":"test","path":"/tags/0","value":"x"}]}]}'
expect 409 test-failed
field '[.pointer, .mutation]' '["/0/path",1]'
for mutation in '"type":"set","ops":[]' '"type":"patch","ops":[],"value":1' '"type":"patch","ops":{}'; do
    request POST /atomic "{\"mutations\":[{\"key\":[\"d\"],$mutation}]}"
    expect 400 bad-request
done

test_case 'the levels and the work of a patch have limits'
deep=$(printf '/a%.0s' $(seq 65))
request PATCH /kv/new "[{\"op\":\"set\",\"path\":\"$deep\",\"value\":1}]" -H "$json_patch"
expect 400 json-too-deep
{ printf '{"a":"'; head -c 1000000 /dev/zero | tr '\0' a; printf '"}'; } >"$work/large"
request PUT /kv/large "@$work/large"
{ printf '[{"op":"test","path":"/b","value":1}'; for _ in $(seq 30); do printf ',{"op":"set","path":"/b","value":1}'; done; printf ']'; } >"$work/ops"
sed -i 's/"op":"test","path":"\/b","value":1/"op":"set","path":"\/b","value":1/' "$work/ops"
request PATCH /kv/large "@$work/ops" -H "$json_patch"
expect 413 commit-too-large

finish
