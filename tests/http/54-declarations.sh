#!/bin/bash
# A file of declarations: what it would change, what it changes in one commit,
# and that the same file again changes nothing.
. "$(dirname "$0")/../lib/http.sh"
start_server

changes='[.indexes[] | [.name, .change]]'
for i in 1 2 3; do
    request PUT "/kv/users/$i" "{\"email\":\"e$i@x.org\",\"age\":$((i / 3)),\"tag\":\"t\"}"
done
file='{"by_email":{"prefix":["users"],"fields":["/email"],"unique":true},
       "by_age":{"prefix":["users"],"fields":["/age"],"store":"value"}}'

test_case 'a dry PUT /indexes shows the changes and their sizes, and changes nothing'
answers 200 PUT '/indexes?dry=1' "$file"
field .dry true
field "$changes" '[["by_email","declared"],["by_age","declared"]]'
field '[.indexes[].estimate | .entries, .conflicts, (.bytes > 0), (.seconds >= 0)]' '[3,0,true,true,3,0,true,true]'
field '[.indexes[] | .warnings, .declaration.missing, has("state")]' '[[],"skip",false,[],"skip",false]'
gives .indexes '[]' GET /indexes
request PUT '/indexes?dry=1' '{"by_tag":{"prefix":["users"],"fields":["/tag"],"unique":true}}'
field '.indexes[0].estimate.conflicts' 2

test_case 'PUT /indexes declares a file by one commit, and a second time changes nothing'
request PUT /indexes "$file"
field .dry false
field "$changes" '[["by_email","declared"],["by_age","declared"]]'
until_field '[.indexes[].state]' '["ready","ready"]' GET /indexes
gives '[.entries[].key[1]]' '["1","2","3"]' GET /list?index=by_age\&keys=true
answers 200 PUT /indexes "$file"
field "$changes" '[["by_email","unchanged"],["by_age","unchanged"]]'
field '[.indexes[] | .state, .entries, (.bytes > 0)]' '["ready",3,true,"ready",3,true]'

test_case 'GET /indexes?declarations=1 returns such a file'
answers 200 GET '/indexes?declarations=1'
field '.by_email' '{"prefix":["users"],"fields":[{"path":"/email"}],"unique":true,"store":"pointer","missing":"skip"}'
field 'keys' '["by_age","by_email"]'
cp "$answer" "$work/indexes.json"
answers 200 PUT '/indexes?prune=true' "@$work/indexes.json"
field '[.indexes[].change] | unique' '["unchanged"]'

test_case 'PUT /indexes migrates indexes that can change in place, and keeps those that the file lacks'
changed='{"by_age":{"prefix":["users"],"fields":["/age"],"store":"pointer"}}'
request PUT '/indexes?dry=1' "$changed"
field "$changes" '[["by_age","changed"]]'
field '.indexes[0] | [.state, .estimate.entries, .declaration.store]' '["ready",3,"pointer"]'
gives "$changes" '[["by_age","changed"]]' PUT /indexes "$changed"
gives "$changes" '[["by_age","unchanged"]]' PUT /indexes "$changed"
until_field '[.state,.store]' '["ready","pointer"]' GET /indexes/by_age
gives .state ready GET /indexes/by_email
changed='{"by_email":{"prefix":["users"],"fields":["/email"],"store":"value"},
          "by_age":{"prefix":["users"],"fields":["/age"],"store":{"fields":["/tag"]}}}'
gives "$changes" '[["by_email","changed"],["by_age","changed"]]' PUT /indexes "$changed"
until_field '[.state,.store,.unique]' '["ready","value",false]' GET /indexes/by_email
until_field '[.state,.store]' '["ready",{"fields":["/tag"]}]' GET /indexes/by_age

test_case 'a refused file changes nothing, and the answer points at the error'
request GET '/indexes?declarations=1'
cp "$answer" "$work/before"
while IFS='|' read -r body status code pointer; do
    request PUT /indexes "$body"
    expect "$status" "$code"
    field .pointer "$pointer"
    request PUT '/indexes?dry=1' "$body"
    expect "$status" "$code"
    request GET '/indexes?declarations=1'
    cmp -s "$answer" "$work/before" || is 'the declarations' changed 'as before'
done <<'END'
{"first":{"prefix":["a"],"fields":["/a"]},"second":{"prefix":["a"],"feilds":["/a"]}}|400|bad-index-definition|/second/feilds
{"first":{"prefix":["a"],"fields":["/a"]},"by_age":{"prefix":["first"],"fields":["/age"]}}|400|bad-index-definition|/by_age/prefix
{"first":{"prefix":["a"],"fields":["/a"]},"second":{"prefix":["first"],"fields":["/a"]}}|400|bad-index-definition|/second/prefix
{"first":{"prefix":["a"],"fields":["/a"]},"users":{"prefix":["a"],"fields":["/a"]}}|400|bad-index-definition|/users/name
{"first":{"prefix":["a"],"fields":["/a"]},"no name":{"prefix":["a"],"fields":["/a"]}}|400|bad-index-definition|/no name/name
END
request PUT /kv/taken/1 1
request PUT /indexes '{"first":{"prefix":["a"],"fields":["/a"]},"taken":{"prefix":["a"],"fields":["/a"]}}'
expect 409 index-name-used
field .index taken
for body in '[]' '{"a":1}' '{"a":{"name":"b","prefix":["a"],"fields":["/a"]}}' \
    "$(jq -cn '[range(257) | {key: "i\(.)", value: {prefix: ["a"], fields: ["/a"]}}] | from_entries')"; do
    answers 400 bad-index-definition PUT /indexes "$body"
done
answers 400 bad-json PUT /indexes '{"a":'
answers 400 unknown-parameter PUT /indexes?paused=1 '{}'
request PUT /indexes "$(jq -cn '[range(256) | {key: "i\(.)", value: {prefix: ["a"], fields: ["/a"]}}] | from_entries')"
expect 409 too-many-indexes
request GET '/indexes?declarations=1'
cmp -s "$answer" "$work/before" || is 'the declarations' changed 'as before'

test_case 'PUT /indexes with prune drops other indexes, whose names the same file can use'
request PUT /indexes '{"old":{"prefix":["a"],"fields":["/a"]},"on_old":{"prefix":["b"],"fields":["/a"]}}'
swap='{"by_age":{"prefix":["users"],"fields":["/age"],"store":{"fields":["/tag"]}},"new":{"prefix":["old"],"fields":["/a"]}}'
answers 400 bad-index-definition PUT /indexes "$swap"
answers 200 PUT '/indexes?prune=1&dry=1' "$swap"
field "$changes" '[["by_age","unchanged"],["new","declared"],["by_email","dropped"],["old","dropped"],["on_old","dropped"]]'
field '.indexes[2] | [.entries, (.bytes > 0)]' '[3,true]'
answers 200 PUT '/indexes?prune=1' "$swap"
field "$changes" '[["by_age","unchanged"],["new","declared"],["by_email","dropped"],["old","dropped"],["on_old","dropped"]]'
gives keys '["by_age","new"]' GET '/indexes?declarations=1'
gives "$changes" '[["by_age","dropped"],["new","dropped"]]' PUT '/indexes?prune=1' '{}'
answers 200 PUT '/indexes?prune=1' '{}'
field .indexes '[]'

test_case 'a migrating index refuses another change, and its declaration is the new one'
request PUT /indexes '{"m":{"prefix":["users"],"fields":["/tag"]}}'
until_field .state ready GET /indexes/m
request POST /indexes/m/pause
request PATCH /indexes/m '{"store":"value"}'
gives .m.store value GET '/indexes?declarations=1'
answers 202 PUT /indexes '{"m":{"prefix":["users"],"fields":["/tag"],"store":"value"}}'
field "$changes" '[["m","unchanged"]]'
answers 409 index-migrating PUT /indexes '{"m":{"prefix":["users"],"fields":["/tag"]}}'
field .index m
gives "$changes" '[["m","dropped"]]' PUT '/indexes?prune=1' '{}'

test_case 'PUT /indexes restarts a failed build'
request PUT /kv/users/4 '{"email":1}'
request PUT /indexes '{"f":{"prefix":["users"],"fields":["/tag"],"missing":"error"}}'
until_field .state failed GET /indexes/f
request PUT /kv/users/4 '{"tag":1}'
gives "$changes" '[["f","rebuilt"]]' PUT /indexes '{"f":{"prefix":["users"],"fields":["/tag"],"missing":"error"}}'
until_field .state ready GET /indexes/f

# Another node would first have to wait for the lease.
if [ "$ENGINE" = bdb ]; then
    test_case 'a kill between two files leaves the indexes of one of them'
    request PUT '/indexes?prune=1' '{}'
    for name in a b; do
        jq -cn --arg name "$name" '[range(20) | {key: "\($name)\(.)", value: {prefix: ["users"], fields: ["/\($name)"]}}] | from_entries' >"$work/$name.json"
    done
    request PUT '/indexes?prune=1' "@$work/a.json"
    alternate() {
        while curl -sf -o "$work/null" -X PUT -H 'Content-Type: application/json' --data-binary "@$work/b.json" "$url/indexes?prune=1" &&
            echo >>"$work/turns" &&
            curl -sf -o "$work/null" -X PUT -H 'Content-Type: application/json' --data-binary "@$work/a.json" "$url/indexes?prune=1"; do
            echo >>"$work/turns"
        done
    }
    for round in 1 2 3; do
        : >"$work/turns"
        alternate &
        turns=0
        while [ "$turns" -lt $((2 + round)) ] && kill -0 $!; do turns=$(wc -l <"$work/turns"); done
        { kill -KILL "$server"; wait "$server"; } 2>"$work/null"
        wait
        start_server
        request GET '/indexes?declarations=1'
        is 'the indexes are those of one file' "$(value '[keys[] | .[:1]] | group_by(.) | map([.[0], length])' | sed 's/a/b/')" '[["b",20]]'
    done
fi

finish
