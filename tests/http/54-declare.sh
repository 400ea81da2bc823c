#!/bin/bash
# Declaring indexes: what is accepted, what is answered, what is refused.
. "$(dirname "$0")/../lib/http.sh"
start_server

email='{"name":"by_email","prefix":["users"],"fields":["/email"],"unique":true}'

test_case 'a declaration is answered with all its defaults'
answers 201 POST /indexes "$email"
header Location /indexes/by_email
field 'del(.state, .entries, .leftOut)' '{"name":"by_email","prefix":["users"],"fields":[{"path":"/email"}],"unique":true,"store":"pointer","missing":"skip"}'
field '[.state, .entries]' '["ready",0]'
answers 200 GET /indexes/by_email
field .unique true

test_case 'the same declaration again succeeds and changes nothing'
answers 200 POST /indexes "$email"
request POST /indexes '{ "unique": true, "missing": "skip", "store": "pointer", "fields": [{"path": "/email", "fold": "none"}], "prefix": ["users"], "name": "by_email" }'
expect 200
field .name by_email

test_case 'another declaration under the same name is refused with the difference'
answers 409 index-exists POST /indexes '{"name":"by_email","prefix":["users"],"fields":["/mail"]}'
field .index by_email
field '.detail | contains("/email") and contains("/mail") and contains("unique")' true
field '.hint | contains("PATCH /indexes/{name} changes it")' true
gives '.fields[0].path' /email GET /indexes/by_email

test_case 'the indexes are listed by name'
request POST /indexes '{"name":"a_first","prefix":["x",1,true],"depth":2,"fields":[{"path":"/a","fold":"lower"},"/b/0"],"store":"value"}'
expect 201
answers 200 GET /indexes
field '[.indexes[].name]' '["a_first","by_email"]'
field '.indexes[0] | [.prefix, .depth, .fields, .unique, .store]' '[["x",1,true],2,[{"path":"/a","fold":"lower"},{"path":"/b/0"}],false,"value"]'

test_case 'an absent index is not found, by any route'
answers 404 index-not-found GET /indexes/nothing
field .index nothing
answers 404 index-not-found DELETE /indexes/nothing
answers 404 index-not-found GET /indexes/nothing/get/x
answers 404 index-not-found GET /list?index=nothing

test_case 'a declaration is refused if there are entries under its name'
request PUT /kv/used/1 1
answers 409 index-name-used POST /indexes '{"name":"used","prefix":["users"],"fields":["/a"]}'
field .index used
request DELETE /kv/used/1
answers 201 POST /indexes '{"name":"used","prefix":["users"],"fields":["/a"]}'

test_case 'a wrong declaration is refused, with a pointer'
while IFS='|' read -r declaration pointer; do
    answers 400 bad-index-definition POST /indexes "$declaration"
    is "the pointer for $declaration" "$(value '.pointer // ""')" "$pointer"
done <<'END'
[]|
{}|
{"prefix":["a"],"fields":["/a"]}|
{"name":"i","fields":["/a"]}|
{"name":"i","prefix":["a"]}|
{"name":"","prefix":["a"],"fields":["/a"]}|/name
{"name":"1st","prefix":["a"],"fields":["/a"]}|/name
{"name":"a b","prefix":["a"],"fields":["/a"]}|/name
{"name":"a/b","prefix":["a"],"fields":["/a"]}|/name
{"name":"é","prefix":["a"],"fields":["/a"]}|/name
{"name":1,"prefix":["a"],"fields":["/a"]}|/name
{"name":"i","prefix":"a","fields":["/a"]}|/prefix
{"name":"i","prefix":[null],"fields":["/a"]}|/prefix
{"name":"i","prefix":["a"],"depth":0,"fields":["/a"]}|/depth
{"name":"i","prefix":["a"],"depth":1.5,"fields":["/a"]}|/depth
{"name":"i","prefix":["a"],"fields":"/a"}|/fields
{"name":"i","prefix":["a"],"fields":["a"]}|/fields/0
{"name":"i","prefix":["a"],"fields":["/a","/b~2"]}|/fields/1
{"name":"i","prefix":["a"],"fields":["/a",{"fold":"lower"}]}|/fields/1
{"name":"i","prefix":["a"],"fields":[{"path":"/a","fold":"upper"}]}|/fields/0/fold
{"name":"i","prefix":["a"],"fields":[{"path":"/a","size":1}]}|/fields/0/size
{"name":"i","prefix":["a"],"fields":[1]}|/fields/0
{"name":"i","prefix":["a"],"fields":["/a"],"unique":"yes"}|/unique
{"name":"i","prefix":["a"],"fields":["/a"],"store":"copy"}|/store
{"name":"i","prefix":["a"],"fields":["/a"],"missing":"fail"}|/missing
{"name":"i","prefix":["a"],"fields":["/a"],"uniqe":true}|/uniqe
END
answers 400 bad-index-definition POST /indexes '{"name":"i","prefix":["a"],"fields":[]}'
for store in '"copy"' 1; do
    request POST /indexes "{\"name\":\"i\",\"prefix\":[\"a\"],\"fields\":[\"/a\"],\"store\":$store}"
    field .detail 'store is "pointer", "value", {"fields":["/name"]} or {"aggregate":{"count":true}}'
done

test_case 'a name has at most 128 bytes, and an index at most 16 fields'
long=$(printf 'n%.0s' {1..128})
answers 201 POST /indexes "{\"name\":\"$long\",\"prefix\":[\"a\"],\"fields\":[\"/a\"]}"
answers 400 bad-index-definition POST /indexes "{\"name\":\"${long}n\",\"prefix\":[\"a\"],\"fields\":[\"/a\"]}"
request POST /indexes "$(jq -nc '{name: "wide", prefix: ["a"], fields: [range(17) | "/f\(.)"]}')"
expect 400 bad-index-definition
answers 201 POST /indexes "$(jq -nc '{name: "wide", prefix: ["a"], fields: [range(16) | "/f\(.)"]}')"

test_case 'an index of index entries, or of itself, is refused'
answers 400 bad-index-definition POST /indexes '{"name":"again","prefix":["by_email"],"fields":["/a"]}'
answers 400 bad-index-definition POST /indexes '{"name":"again","prefix":["again"],"fields":["/a"]}'
answers 400 bad-index-definition POST /indexes '{"name":"users","prefix":["x"],"fields":["/a"]}'

test_case 'a declaration that is no JSON is refused as such'
answers 400 bad-json POST /indexes '{"name":"i",}'
answers 400 bad-json POST /indexes '{"name":"i","name":"j","prefix":["a"],"fields":["/a"]}'
answers 415 unsupported-media-type POST /indexes "$email" -H 'Content-Type: text/plain'

test_case 'a declaration has at most 64 KiB'
declaration() { # NAME VALUES
    jq -nc --arg name "$1" --argjson values "$2" '{name: $name, prefix: ["huge"], fields: ["/a"],
        where: {path: "/b", in: [range($values) | tostring * 1500]}}'
}
declaration much 60 >"$work/much"
answers 400 bad-index-definition POST /indexes "@$work/much"
field '.detail | contains("65536")' true
declaration less 10 >"$work/less"
answers 201 POST /indexes "@$work/less"
request DELETE /indexes/less

test_case 'a store has at most 256 indexes'
request GET /indexes
have=$(value '.indexes | length')
for i in $(seq $((have + 1)) 256); do
    echo next; echo "url = $url/indexes"; echo "output = $work/null"
    echo "data = \"{\\\"name\\\":\\\"n$i\\\",\\\"prefix\\\":[\\\"n\\\"],\\\"fields\\\":[\\\"/$i\\\"]}\""
done | tail -n +2 >"$work/declarations"
curl -s -K "$work/declarations"
gives '.indexes | length' 256 GET /indexes
answers 409 too-many-indexes POST /indexes '{"name":"n257","prefix":["n"],"fields":["/257"]}'
answers 200 POST /indexes "$email"
answers 204 DELETE /indexes/n256
until_status 201 POST /indexes '{"name":"n257","prefix":["n"],"fields":["/257"]}'

test_case 'declarations survive a restart'
stop_server
start_server
request GET /indexes
field '.indexes | length' 256
field '[.indexes[].state] | unique' '["ready"]'

finish
