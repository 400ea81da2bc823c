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

test_case 'a JSON Patch gives the results of the examples of RFC 6902'
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

test_case 'set makes parents, arrays are sets, and other members keep their bytes'
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

test_case 'sum counts within an object, from 0 where nothing is, and integers stay exact'
while IFS='|' read -r value operations result; do
    is "$value by $operations" "$(patched "$value" "[$operations]")" "$result"
done <<'END'
{ "n" : 1.00, "m":2 }|{"op":"sum","path":"/m","value":3}|{ "n" : 1.00, "m":5 }
{}|{"op":"sum","path":"/a/b","value":2},{"op":"sum","path":"/a/b","value":-5}|{"a":{"b":-3}}
{"n":9007199254740993}|{"op":"sum","path":"/n","value":2}|{"n":9007199254740995}
{"n":1.5}|{"op":"sum","path":"/n","value":1e0}|{"n":2.5}
[1,2]|{"op":"sum","path":"/1","value":1},{"op":"sum","path":"/-","value":7}|[1,3,7]
{"n":4}|{"op":"sum","path":"/n","value":1,"min":0,"max":5,"out":"refuse"}|{"n":5}
{"n":4}|{"op":"sum","path":"/n","value":9,"max":5,"out":"clamp"},{"op":"sum","path":"/m","value":-1,"min":0,"out":"clamp"}|{"n":5,"m":0}
{"n":4}|{"op":"sum","path":"/n","value":9,"max":5,"out":"skip"},{"op":"sum","path":"/m/k","value":-1,"min":0,"out":"skip"},{"op":"set","path":"/s","value":1}|{"n":4,"s":1}
{"n":9007199254740992}|{"op":"sum","path":"/n","value":1,"max":9007199254740992,"out":"clamp"}|{"n":9007199254740992}
END

test_case 'numbers are equal by their decimal values, not as doubles'
while IFS='|' read -r value operations result; do
    is "$value by $operations" "$(patched "$value" "[$operations]")" "$result"
done <<'END'
[9007199254740993]|{"op":"include","path":"","value":9007199254740992}|[9007199254740993,9007199254740992]
[9007199254740993,9007199254740992]|{"op":"exclude","path":"","value":9007199254740992.0}|[9007199254740993]
[1.0,{"a":10}]|{"op":"include","path":"","value":1},{"op":"include","path":"","value":{"a":1e1}}|[1.0,{"a":10}]
{"n":0.10}|{"op":"test","path":"/n","value":1e-1},{"op":"set","path":"/n","value":1}|{"n":1}
END

test_case 'a failed test and a wrong path are conflicts that name the operation and change nothing'
request PUT /kv/v '{"a":{"b":1},"s":"x","n":1,"huge":1e308,"big":9007199254740993}'
while IFS='|' read -r operations expected pointer; do
    request PATCH /kv/v "[{\"op\":\"set\",\"path\":\"/changed\",\"value\":1},$operations]" -H "$json_patch"
    # shellcheck disable=SC2086
    expect $expected
    field '[.pointer, .mutation, .key]' "[\"$pointer\",0,[\"v\"]]"
    is 'members with the place' "$(grep -o '"pointer":' "$answer" | wc -l)" 1
done <<'END'
{"op":"test","path":"/a","value":{"b":2}}|409 test-failed|/1/path
{"op":"remove","path":"/none"}|409 path-not-found|/1/path
{"op":"replace","path":"/none","value":1}|409 path-not-found|/1/path
{"op":"add","path":"/s/t","value":1}|409 path-not-found|/1/path
{"op":"add","path":"/none/t","value":1}|409 path-not-found|/1/path
{"op":"remove","path":""}|409 path-not-found|/1/path
{"op":"move","from":"/a","path":"/a/b"}|409 path-not-found|/1/path
{"op":"append","path":"/s","value":1}|409 type-mismatch|/1/path
{"op":"test","path":"/big","value":9007199254740992}|409 test-failed|/1/path
{"op":"sum","path":"/s","value":1}|409 type-mismatch|/1/path
{"op":"sum","path":"/s/t","value":1}|409 path-not-found|/1/path
{"op":"sum","path":"/huge","value":1e308}|409 number-out-of-range|/1/path
{"op":"sum","path":"/n","value":"1"}|400 bad-value|/1/value
{"op":"sum","path":"/n"}|400 bad-value|/1/value
{"op":"sum","path":"/n","value":1,"min":null}|400 bad-value|/1/min
{"op":"sum","path":"/n","value":1,"max":"5"}|400 bad-value|/1/max
{"op":"sum","path":"/n","value":1,"min":3,"max":2.5}|400 bad-value|/1/min
{"op":"sum","path":"/n","value":1,"max":2,"out":"no"}|400 bad-value|/1/out
{"op":"sum","path":"/n","value":1,"out":"skip"}|400 bad-value|/1/out
{"op":"spam","path":"/s"}|400 bad-value|/1/op
{"path":"/s"}|400 bad-value|/1/op
{"op":"remove","path":"s"}|400 bad-value|/1/path
{"op":"copy","path":"/s"}|400 bad-value|/1/from
{"op":"add","path":"/s"}|400 bad-value|/1/value
END
request GET /kv/v
body_is '{"a":{"b":1},"s":"x","n":1,"huge":1e308,"big":9007199254740993}'
answers 400 bad-value PATCH /kv/v '{"op":"remove"}' -H "$json_patch"

test_case 'a JSON Patch takes a missing entry as {}, and conditions and a ttl as a merge patch does'
request PATCH '/kv/new?ttl=1h' '[{"op":"include","path":"/tags","value":"a"}]' -H "$json_patch" -H 'If-None-Match: *'
expect 201
request PATCH /kv/new '[{"op":"include","path":"/tags","value":"b"}]' -H "$json_patch" -H 'Prefer: return=representation'
expect 200
body_is '{"tags":["a","b"]}'
find_header Kindex-Expires-At
is 'it keeps its time' "$((found > 0))" 1
request PUT /kv/text x -H 'Content-Type: text/plain'
answers 409 type-mismatch PATCH /kv/text '[]' -H "$json_patch"

test_case 'a JSON Patch in /atomic changes the entry and its index'
request POST /indexes '{"name":"by_tag","prefix":["d"],"fields":[{"path":"/tags","each":true}]}'
until_field .state ready GET /indexes/by_tag
answers 200 POST /atomic '{"mutations":[
    {"type":"patch","key":["d","1"],"ops":[{"op":"include","path":"/tags","value":"x"},{"op":"include","path":"/tags","value":"y"}]},
    {"type":"patch","key":["d","1"],"ops":[{"op":"exclude","path":"/tags","value":"x"}],"return":"new"}]}'
field '.results[1].value' '{"tags":["y"]}'
gives '[.entries[].key]' '[["by_tag","y","1"]]' GET '/list?prefix=by_tag'
answers 409 test-failed POST /atomic '{"mutations":[{"type":"set","key":["e"],"value":1},
    {"type":"patch","key":["d","1"],"ops":[{"op":"test","path":"/tags/0","value":"x"}]}]}'
field '[.pointer, .mutation]' '["/0/path",1]'
request POST /indexes '{"name":"by_stock","prefix":["stock"],"fields":[{"path":"/pens/n"}]}'
until_field .state ready GET /indexes/by_stock
sell() { # MORE
    request POST /atomic "{\"mutations\":[{\"type\":\"set\",\"key\":[\"other\"],\"value\":1},
        {\"type\":\"patch\",\"key\":[\"stock\",\"a\"],\"return\":\"new\",\"ops\":[{\"op\":\"set\",\"path\":\"/sold\",\"value\":true},$1]}]}"
}
sell '{"op":"sum","path":"/pens/n","value":3,"min":0}'
field '.results[1].value' '{"sold":true,"pens":{"n":3}}'
request DELETE /kv/other
sell '{"op":"sum","path":"/pens/n","value":-4,"min":0}'
expect 409 out-of-bounds
field '[.present, .pointer, .mutation, .key]' '[3,"/1/path",1,["stock","a"]]'
field .detail 'operation 1 of the patch, "/pens/n": the sum would be less than min'
sell '{"op":"sum","path":"/rulers","value":11,"max":10}'
expect 409 out-of-bounds
field '[.present, .pointer]' '[null,"/1/path"]'
answers 404 GET /kv/other
sell '{"op":"sum","path":"/pens/n","value":-1,"min":0}'
gives '[.entries[].key]' '[["by_stock",2,"a"]]' GET '/list?prefix=by_stock'
for mutation in '"type":"set","ops":[]' '"type":"patch","ops":[],"value":1' '"type":"patch","ops":{}'; do
    answers 400 bad-request POST /atomic "{\"mutations\":[{\"key\":[\"d\"],$mutation}]}"
done

test_case 'a JSON Patch has a limited depth and a limited cost'
deep=$(printf '/a%.0s' $(seq 65))
answers 400 json-too-deep PATCH /kv/new "[{\"op\":\"set\",\"path\":\"$deep\",\"value\":1}]" -H "$json_patch"
{ printf '{"a":"'; head -c 1000000 /dev/zero | tr '\0' a; printf '"}'; } >"$work/large"
request PUT /kv/large "@$work/large"
{ printf '[{"op":"test","path":"/b","value":1}'; for _ in $(seq 200); do printf ',{"op":"set","path":"/b","value":1}'; done; printf ']'; } >"$work/ops"
sed -i 's/"op":"test","path":"\/b","value":1/"op":"set","path":"\/b","value":1/' "$work/ops"
answers 413 commit-too-large PATCH /kv/large "@$work/ops" -H "$json_patch"

finish
