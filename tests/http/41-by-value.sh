#!/bin/bash
# Entries that a commit names by a value in a unique index.
. "$(dirname "$0")/../lib/http.sh"
start_server

request POST /indexes '{"name":"by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true}'
request POST /indexes '{"name":"by_color","prefix":["users"],"fields":["/color"]}'
request PUT /kv/users/ada '{"email":"ada@x.org","color":"blue","n":1}'
ada=$(value .versionstamp)
by() { echo "\"by\":{\"index\":\"${2:-by_email}\",\"value\":[\"$1\"]}"; }
# MUTATIONS [CHECKS]
commit() {
    request POST /atomic "{\"mutations\":[$1],\"checks\":[${2:-}]}"
}

test_case 'mutations of every type find their entry by its value, folded as the index has it'
commit "{\"type\":\"patch\",$(by ADA@x.org),\"value\":{\"n\":2},\"return\":\"new\"}"
expect 200
field '.results[0] | [.key, .value.n]' '[["users","ada"],2]'
commit "{\"type\":\"set\",$(by ada@x.org),\"value\":{\"email\":\"love@x.org\",\"n\":3},\"return\":\"old\"}"
field '.results[0].value.n' 2
request GET /kv/users/ada
body_is '{"email":"love@x.org","n":3}'
commit "{\"type\":\"delete\",$(by love@x.org),\"return\":\"old\"}"
field '.results[0].key' '["users","ada"]'
answers 404 GET /kv/users/ada

test_case 'a mutation by a value that no entry has is refused, and nothing is stored'
commit "{\"type\":\"set\",\"key\":[\"other\"],\"value\":1},{\"type\":\"delete\",$(by love@x.org)}"
expect 404 key-not-found
field '[.detail, .index, .value, .mutation]' '["no entry has the value [\"love@x.org\"] in the index by_email","by_email",["love@x.org"],1]'
answers 404 GET /kv/other

test_case 'values are looked up in the state before the commit'
commit "{\"type\":\"set\",\"key\":[\"users\",\"bo\"],\"value\":{\"email\":\"bo@x.org\"}},{\"type\":\"patch\",$(by bo@x.org),\"value\":{\"n\":1}}"
expect 404 key-not-found
request PUT /kv/users/bo '{"email":"bo@x.org","n":1}'
bo=$(value .versionstamp)
commit "{\"type\":\"patch\",$(by bo@x.org),\"value\":{\"email\":\"bob@x.org\"}},{\"type\":\"patch\",$(by bo@x.org),\"value\":{\"n\":2}}" "{$(by bo@x.org),\"versionstamp\":\"$bo\"}"
expect 200
request GET /kv/users/bo
body_is '{"email":"bob@x.org","n":2}'

test_case 'a check by a value that no entry has sees an absent entry'
commit '' "{$(by bob@x.org),\"exists\":true},{$(by bo@x.org),\"exists\":false},{$(by bo@x.org),\"versionstamp\":null},{$(by bob@x.org),\"where\":{\"path\":\"/n\",\"eq\":2}}"
expect 200
commit '' "{$(by bo@x.org),\"exists\":true},{$(by bob@x.org),\"versionstamp\":null},{$(by bo@x.org),\"where\":{\"path\":\"/n\",\"eq\":2}}"
expect 409 check-failed
field '[.failedChecks[] | [.by.value[0], .key, .exists, .where, .actual == null]]' \
    '[["bo@x.org",null,true,null,true],["bob@x.org",["users","bo"],null,null,false],["bo@x.org",null,null,{"path":"/n","eq":2},true]]'

test_case 'a dry commit finds an entry by its value'
request POST /atomic "{\"dry\":true,\"mutations\":[{\"type\":\"delete\",$(by bob@x.org),\"return\":\"old\"}]}"
field '.results[0].key' '["users","bo"]'

test_case 'a mutation by the value of an expired entry finds none'
request PUT '/kv/users/soon?ttl=1ms' '{"email":"soon@x.org"}'
until_status 404 GET /kv/users/soon
commit "{\"type\":\"delete\",$(by soon@x.org)}"
expect 404 key-not-found

test_case 'a mutation by value needs a unique index'
commit "{\"type\":\"delete\",$(by blue by_color)}"
expect 409 index-not-unique
field '[.index, .mutation]' '["by_color",0]'
commit '' "{$(by blue none),\"exists\":true}"
expect 404 index-not-found
field '[.index, .mutation]' '["none",null]'

test_case 'contradictory members of a mutation by value are refused, with a pointer'
while IFS='|' read -r mutation pointer; do
    commit "$mutation"
    expect 400
    field .pointer "$pointer"
done <<END
{"type":"delete","key":["a"],$(by a)}|/mutations/0
{"type":"delete"}|/mutations/0
{"type":"set",$(by a),"value":1,"suffix":"versionstamp"}|/mutations/0
{"type":"delete","by":{"index":"by_email"}}|/mutations/0/by
{"type":"delete","by":{"index":"by_email","value":[]}}|/mutations/0/by/value
{"type":"delete","by":{"index":1,"value":["a"]}}|/mutations/0/by/index
END
commit '' "{$(by a),\"prefix\":[\"a\"],\"none\":true}"
expect 400 bad-request
field .pointer /checks/0

# Each of four clients moves the value to the entry of another key: every move finds
# the entry that has it then.
test_case 'concurrent mutations by value change the entry that has the value then'
request PUT /kv/users/baton/1 '{"email":"baton","n":0}'
move() { # N
    local n
    for n in $(seq 40); do
        curl -s "$url/atomic" -d "{\"mutations\":[{\"type\":\"delete\",$(by baton)},{\"type\":\"set\",\"key\":[\"users\",\"baton\",$1,$n],\"value\":{\"email\":\"baton\"}},{\"type\":\"sum\",\"key\":[\"moves\"],\"value\":1}]}" >>"$work/moved.$1"
    done
}
clients=()
for i in 1 2 3 4; do
    move "$i" &
    clients+=($!)
done
wait "${clients[@]}"
request GET /kv/moves
body_is 160
gives .count 1 GET '/count?prefix=users/baton'

test_case 'a mutation by value needs the rights for the prefix of the index'
stop_server
start_server --token-file "$work/token"
admin=$(cat "$work/token")
try() { # SCOPES PREFIX STATUS CODE
    request POST /tokens "{\"name\":\"t\",\"grants\":[{\"scopes\":$1,\"prefix\":$2}]}" --oauth2-bearer "$admin"
    token=$(value .token)
    request POST /atomic "{\"mutations\":[{\"type\":\"patch\",$(by bob@x.org),\"value\":{\"n\":1}}]}" --oauth2-bearer "$token"
    expect "$3" "${@:4}"
}
try '["read","write"]' '["users"]' 200
try '["read"]' '["users"]' 403 forbidden
try '["write"]' '["users"]' 403 forbidden
try '["read","write"]' '["users","bo"]' 403 forbidden
try '["read","write"]' '["by_email"]' 403 forbidden

finish
