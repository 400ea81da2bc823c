#!/bin/bash
# A unique index over entries that have the same values: it says which, lets
# nothing become worse, and is ready by itself when the last one is resolved.
. "$(dirname "$0")/../lib/http.sh"
start_server

declare_index() {
    request POST /indexes "$1"
    [ "$status" = 202 ] || expect 201
}

# The groups of an index's conflicts, as value and keys.
groups() {
    request GET "/indexes/$1/conflicts?limit=1000"
    value '[.conflicts[] | [.value[0], (.keys | map(.[1]) | sort)]]'
}

state() {
    request GET "/indexes/$1"
    value '[.state, .entries, .conflicts]'
}

crash_server() {
    kill -KILL "$server"
    wait "$server"
} 2>"$work/null"

for user in ada:a bob:b carl:a dan:d eve:b fay:a gus:g; do
    request PUT "/kv/users/${user%:*}" "{\"email\":\"${user#*:}\",\"n\":1}"
done

test_case 'an index over duplicates is conflicted, and its groups are listed'
declare_index '{"name":"by_email","prefix":["users"],"fields":["/email"],"unique":true}'
until_field .state conflicted GET /indexes/by_email
field '[.entries, .conflicts]' '[4,3]'
answers 200 GET /indexes/by_email/conflicts
field '[.index, .state, .cursor]' '["by_email","conflicted",null]'
field '[.conflicts[].value]' '[["a"],["b"]]'
field '[.conflicts[].keys | sort]' '[[["users","ada"],["users","carl"],["users","fay"]],[["users","bob"],["users","eve"]]]'

test_case 'the groups of conflicts come in pages'
gives '[.conflicts[].value[0]]' '["a"]' GET '/indexes/by_email/conflicts?limit=1'
cursor=$(value .cursor)
request GET "/indexes/by_email/conflicts?limit=1&cursor=$cursor"
field '[.conflicts[].value[0]]' '["b"]'
field .cursor null
answers 400 cursor-mismatch GET "/list?prefix=users&cursor=$cursor"
gives '[.conflicts[].keys | length]' '[3,2]' GET '/indexes/by_email/conflicts?limit=2'
answers 400 bad-parameter GET '/indexes/by_email/conflicts?limit=0'
answers 400 unknown-parameter GET '/indexes/by_email/conflicts?prefix=a'
answers 404 index-not-found GET /indexes/by_phone/conflicts

test_case 'a conflicted index refuses reads, and says where the conflicts are'
for path in '/list?index=by_email' '/count?index=by_email' \
    '/list?prefix=by_email' '/count?prefix=by_email' /indexes/by_email/get/a /kv/by_email/a; do
    answers 409 index-not-ready GET "$path"
    field '[.index, .state, .conflicts, .listedAt]' '["by_email","conflicted",3,"/indexes/by_email/conflicts"]'
    field .detail 'index by_email is conflicted: 3 entries have a value that another entry has'
    header Retry-After ''
done
gives '.entries | length' 7 GET '/list?prefix=[]&limit=1000'

test_case 'a conflicted index refuses new duplicates, of values used once and of values used twice'
answers 409 unique-violation PUT /kv/users/new '{"email":"a"}'
field '[.index, .value, .attemptedKey]' '["by_email",["a"],["users","new"]]'
answers 409 unique-violation PUT /kv/users/new '{"email":"d"}'
field .existingKey '["users","dan"]'
answers 409 unique-violation PATCH /kv/users/gus '{"email":"b"}'
request POST /atomic '{"mutations":[{"type":"set","key":["users","ada"],"value":{"email":"x"}},{"type":"set","key":["users","new"],"value":{"email":"a"}}]}'
expect 409 unique-violation

test_case 'entries with duplicates stay writable as long as conflicts do not grow'
for user in ada carl fay; do
    answers 200 PATCH "/kv/users/$user" '{"n":2}'
done
answers 201 PUT /kv/users/hal '{"email":"h"}'
is 'the groups' "$(groups by_email)" '[["a",["ada","carl","fay"]],["b",["bob","eve"]]]'
is 'the state' "$(state by_email)" '["conflicted",5,3]'

test_case 'the others stay in a group of conflicts when any entry leaves it'
answers 204 DELETE /kv/users/ada
is 'the groups' "$(groups by_email)" '[["a",["carl","fay"]],["b",["bob","eve"]]]'
answers 200 PATCH /kv/users/eve '{"email":"e"}'
is 'the groups' "$(groups by_email)" '[["a",["carl","fay"]]]'
is 'the state' "$(state by_email)" '["conflicted",6,1]'

test_case 'conflicts survive a restart and a crash'
stop_server
start_server
is 'the groups' "$(groups by_email)" '[["a",["carl","fay"]]]'
crash_server
start_server
is 'the state' "$(state by_email)" '["conflicted",6,1]'
answers 409 unique-violation PUT /kv/users/new '{"email":"a"}'

test_case 'the commit that removes the last conflict makes the index ready'
answers 200 PATCH /kv/users/carl '{"email":"c"}'
is 'the state' "$(state by_email)" '["ready",7,null]'
is 'the groups' "$(groups by_email)" '[]'
request GET /indexes/by_email/get/a
header Content-Location /kv/users/fay
request GET '/list?index=by_email'
field '[.entries[] | [.value.email, .key[1]]]' '[["a","fay"],["b","bob"],["c","carl"],["d","dan"],["e","eve"],["g","gus"],["h","hal"]]'
request GET '/list?prefix=by_email'
field '[.entries[] | [.key[1], .value]]' '[["a","fay"],["b","bob"],["c","carl"],["d","dan"],["e","eve"],["g","gus"],["h","hal"]]'

test_case 'an index without conflicts stays ready after a crash'
crash_server
start_server
is 'the state' "$(state by_email)" '["ready",7,null]'

test_case 'expiry resolves conflicts as well'
request PUT /kv/t/1 '{"v":"same"}'
request PUT /kv/t/2 '{"v":"same"}'
declare_index '{"name":"by_v","prefix":["t"],"fields":["/v"],"unique":true}'
until_field .state conflicted GET /indexes/by_v
request PUT '/kv/t/2?ttl=500ms' '{"v":"same"}'
until_field .state ready GET /indexes/by_v
request GET /indexes/by_v/get/same
header Content-Location /kv/t/1

test_case 'the copy in a resolved index is that of the entry which got it'
for i in 1 2 3; do
    request PUT "/kv/c/$i" "{\"v\":\"same\",\"i\":$i}"
done
declare_index '{"name":"copies","prefix":["c"],"fields":["/v"],"unique":true,"store":"value"}'
until_field .state conflicted GET /indexes/copies
request PATCH /kv/c/3 '{"i":33}'
tag=$(header_value ETag)
answers 200 POST /atomic '{"mutations":[{"type":"delete","key":["c","1"]},{"type":"delete","key":["c","2"]}]}'
gives .i 33 GET /kv/copies/same
header ETag "$tag"

test_case 'a large group of conflicts comes in pages, too'
request POST /atomic "$(jq -nc '{mutations: [range(1000) | {type: "set", key: ["big", .], value: {v: 1}}]}')"
request POST /atomic "$(jq -nc '{mutations: [range(600) | {type: "set", key: ["big", . + 1000], value: {v: 1}}]}')"
declare_index '{"name":"by_big","prefix":["big"],"fields":["/v"],"unique":true}'
for i in 1 2 3; do
    crash_server
    start_server
    gives '.state == "building" or .state == "conflicted"' true GET /indexes/by_big
done
until_field .state conflicted GET /indexes/by_big
gives '[.conflicts[] | [.value, (.keys | length)]]' '[[[1],1000]]' GET /indexes/by_big/conflicts
value '.conflicts[].keys[]' >"$work/keys"
cursor=$(value .cursor)
request GET "/indexes/by_big/conflicts?cursor=$cursor"
field '[.conflicts[] | [.value, (.keys | length)]]' '[[[1],600]]'
field .cursor null
value '.conflicts[].keys[]' >>"$work/keys"
is 'the different keys' "$(sort -u "$work/keys" | wc -l)" 1600

test_case 'one DELETE of a range resolves a large group of conflicts'
gives .deleted 1000 DELETE '/list?prefix=big&limit=1000'
request DELETE '/list?prefix=big&limit=599'
is 'the state' "$(state by_big)" '["ready",1,null]'
gives '.entries | length' 1 GET /list?index=by_big

test_case 'removing many index entries beside commits that meet a conflict takes seconds, not minutes'
request PUT /kv/w/a '["x"]'
request PUT /kv/w/b '["x"]'
declare_index '{"name":"by_w","prefix":["w"],"fields":[{"path":"","each":true}],"unique":true}'
until_field .state conflicted GET /indexes/by_w
for first in {0..190..10}; do
    jq -nc --argjson first "$first" '{mutations: [range($first; $first + 10) as $e | {type: "set", key: ["w", $e], value: [range(1000) | . + 1000 * $e]}]}' >"$work/many"
    answers 200 POST /atomic "@$work/many"
done
for i in {1..500}; do
    printf 'url = "%s/kv/w/b"\nrequest = PUT\njson = "[\\"x\\"]"\nnext\n' "$url"
done | sed '$d' >"$work/conflicting"
rm -f "$work/enough"
beside=()
for i in {1..6}; do
    until [ -e "$work/enough" ]; do
        curl --silent --config "$work/conflicting" >"$work/beside$i"
    done &
    beside+=($!)
done
until_field .conflicts 1 GET /indexes/by_w
patience=$longest longest=120
for first in {0..190..10}; do
    request POST /atomic "$(jq -nc --argjson first "$first" '{mutations: [range($first; $first + 10) | {type: "delete", key: ["w", .]}]}')"
    expect 200
done
longest=$patience
touch "$work/enough"
wait "${beside[@]}"
is 'the index' "$(state by_w)" '["conflicted",1,1]'

test_case 'a conflicted index can be dropped, and leaves nothing'
request PUT /kv/d/1 '{"v":1}'
request PUT /kv/d/2 '{"v":1}'
declare_index '{"name":"by_d","prefix":["d"],"fields":["/v"],"unique":true}'
until_field .state conflicted GET /indexes/by_d
answers 204 DELETE /indexes/by_d
answers 201 PUT /kv/d/3 '{"v":1}'
declare_index '{"name":"by_d","prefix":["d"],"fields":["/v"],"unique":true}'
until_field .state conflicted GET /indexes/by_d
is 'the groups' "$(groups by_d)" '[[1,["1","2","3"]]]'

finish
