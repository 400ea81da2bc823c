#!/bin/bash
# The story of Deno's guide to secondary indexes, with pointer indexes: what
# its functions keep by hand, the service keeps by declaration.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'users are unique by email, and found by their favourite colour'
request POST /indexes '{"name":"users_by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true,"store":"pointer"}'
expect 201
field .state ready
header Location /indexes/users_by_email
request POST /indexes '{"name":"users_by_favorite_color","prefix":["users"],"fields":["/favoriteColor"]}'
expect 201

test_case 'insertUser is one PUT that does not replace'
request PUT /kv/users/ada '{"id":"ada","name":"Ada","email":"Ada@x.org","favoriteColor":"blue"}' -H 'If-None-Match: *'
expect 201
ada=$(value .versionstamp)
request PUT /kv/users/bob '{"id":"bob","name":"Bob","email":"bob@x.org","favoriteColor":"green"}' -H 'If-None-Match: *'
expect 201
request PUT /kv/users/carl '{"id":"carl","name":"Carl","email":"carl@x.org","favoriteColor":"blue"}' -H 'If-None-Match: *'
expect 201

test_case 'the index entries are keys like any other, in the shape of the guide'
request GET /kv/users_by_email/ada@x.org
expect 200
body_is '"ada"'
header ETag "\"$ada\""
request GET /list?prefix=users_by_email
field '[.entries[] | [.key[1], .value]]' '[["ada@x.org","ada"],["bob@x.org","bob"],["carl@x.org","carl"]]'
request GET /list?prefix=users_by_favorite_color
field '[.entries[] | [.key[1:][], .value]]' '[["blue","ada","ada"],["blue","carl","carl"],["green","bob","bob"]]'

test_case 'a second user with the same email is refused, with the entry that has it'
request PUT /kv/users/eve '{"id":"eve","name":"Eve","email":"ADA@X.ORG"}'
expect 409 unique-violation
field .index users_by_email
field .value '["ada@x.org"]'
field .existingKey '["users","ada"]'
field .attemptedKey '["users","eve"]'
field .mutation 0
request GET /kv/users/eve
expect 404
request GET /kv/users_by_email/ada@x.org
body_is '"ada"'

test_case 'in a commit of several the violation names its mutation, and nothing is stored'
request POST /atomic '{"mutations":[
    {"type":"set","key":["log"],"value":1},
    {"type":"set","key":["users","dan"],"value":{"email":"dan@x.org"}},
    {"type":"set","key":["users","eve"],"value":{"email":"bob@x.org"}}]}'
expect 409 unique-violation
field '[.mutation, .existingKey, .attemptedKey]' '[2,["users","bob"],["users","eve"]]'
request POST /get '{"keys":[["log"],["users","dan"],["users_by_email","dan@x.org"]]}'
field '[.entries[].versionstamp]' '[null,null,null]'

test_case 'two new users with the same email in one commit violate it too'
request POST /atomic '{"mutations":[
    {"type":"set","key":["users","x"],"value":{"email":"same@x.org"}},
    {"type":"set","key":["users","y"],"value":{"email":"SAME@x.org"}}]}'
expect 409 unique-violation
field '.existingKey != .attemptedKey' true

test_case 'getUserByEmail is one request that gives the user'
request GET /indexes/users_by_email/get/ada@x.org
expect 200
field .name Ada
header ETag "\"$ada\""
header Content-Location /kv/users/ada
request GET /indexes/users_by_email/get/ada@x.org '' -H "If-None-Match: \"$ada\""
expect 304
header Content-Location /kv/users/ada
request GET /indexes/users_by_email/get '' --url-query 'key=["bob@x.org"]'
field .name Bob
request GET /indexes/users_by_email/get/zoe@x.org
expect 404 key-not-found
field .detail 'Index users_by_email has no entry for ["zoe@x.org"].'
request GET /indexes/users_by_email/get/ada@x.org '' -H "If-None-Match: \"$ada\""
expect 304
request HEAD /indexes/users_by_email/get/ada@x.org
expect 200

test_case 'the value asked for is folded as the index declares'
request GET /indexes/users_by_email/get/ADA@x.org
expect 200
field .name Ada

test_case 'getUsersByFavoriteColor is one list, in the order of the index'
request GET '/list?index=users_by_favorite_color&prefix=blue'
expect 200
field '[.entries[] | [.key, .value.name]]' '[[["users","ada"],"Ada"],[["users","carl"],"Carl"]]'
field '.entries[0].versionstamp' "$ada"
request GET '/list?index=users_by_favorite_color&reverse=true'
field '[.entries[].value.name]' '["Bob","Carl","Ada"]'
request GET '/list?index=users_by_favorite_color&start=c'
field '[.entries[].value.name]' '["Bob"]'
request GET '/list?index=users_by_favorite_color&end=c'
field '[.entries[].value.name]' '["Ada","Carl"]'
request GET '/list?index=users_by_favorite_color&prefix=pink'
field .entries '[]'
request GET '/list?index=users_by_favorite_color&prefix=blue' '' -H 'Accept: application/x-ndjson'
is 'the names' "$(jq -r 'select(.key) | .value.name' "$answer" | xargs)" 'Ada Carl'
request GET '/count?index=users_by_favorite_color&prefix=blue'
field .count 2

test_case 'a change of email moves the entry'
request PATCH /kv/users/ada '{"email":"ada@y.org"}'
expect 200
request GET /kv/users_by_email/ada@x.org
expect 404
request GET /indexes/users_by_email/get/ada@y.org
field .name Ada
request PUT /kv/users/eve '{"id":"eve","name":"Eve","email":"ada@x.org"}'
expect 201
request DELETE /kv/users/eve
expect 204

test_case 'a change of another field does not touch the pointer'
request GET /kv/users_by_email/ada@y.org
tag=$(header_value ETag)
request PATCH /kv/users/ada '{"name":"Ada Lovelace"}'
expect 200
request GET /kv/users_by_email/ada@y.org
header ETag "$tag"
request GET /indexes/users_by_email/get/ada@y.org
field .name 'Ada Lovelace'

test_case 'an email in other letters is the same email to its owner'
request PATCH /kv/users/ada '{"email":"Ada@Y.org"}'
expect 200
request GET /kv/users_by_email/ada@y.org
header ETag "$tag"

test_case 'an index can be watched by its key in a check'
request GET /kv/users_by_email/ada@y.org
stamp=$(tr -d '"' <<<"$tag")
request POST /atomic "{\"checks\":[{\"key\":[\"users_by_email\",\"ada@y.org\"],\"versionstamp\":\"$stamp\"},{\"key\":[\"users_by_email\",\"free@x.org\"],\"versionstamp\":null}],\"mutations\":[]}"
expect 200

test_case 'deleteUser is one DELETE: its index entries go with it'
request DELETE /kv/users/ada
expect 204
request GET /kv/users_by_email/ada@y.org
expect 404
request GET /indexes/users_by_email/get/ada@y.org
expect 404 key-not-found
request GET '/list?index=users_by_favorite_color&prefix=blue'
field '[.entries[].value.name]' '["Carl"]'
request PUT /kv/users/ada2 '{"email":"ada@y.org"}'
expect 201

test_case "the guide's own insertUser, which writes both keys, runs unchanged"
request POST /atomic '{
    "checks":[{"key":["users","zoe"],"versionstamp":null},{"key":["users_by_email","zoe@x.org"],"versionstamp":null}],
    "mutations":[
        {"type":"set","key":["users","zoe"],"value":{"id":"zoe","email":"Zoe@x.org","favoriteColor":"red"}},
        {"type":"set","key":["users_by_email","zoe@x.org"],"value":"zoe"},
        {"type":"set","key":["users_by_favorite_color","red","zoe"],"value":"zoe"}]}'
expect 200
request GET /indexes/users_by_email/get/zoe@x.org
field .id zoe

test_case "and so does its deleteUser"
request GET /kv/users/zoe
stamp=$(header_value ETag | tr -d '"')
request POST /atomic "{
    \"checks\":[{\"key\":[\"users\",\"zoe\"],\"versionstamp\":\"$stamp\"}],
    \"mutations\":[{\"type\":\"delete\",\"key\":[\"users\",\"zoe\"]},{\"type\":\"delete\",\"key\":[\"users_by_email\",\"zoe@x.org\"]}]}"
expect 200
request GET '/list?index=users_by_favorite_color&prefix=red'
field .entries '[]'

test_case 'everything is as before after a restart'
stop_server
start_server
request GET /indexes/users_by_email
field '[.state, .unique, .entries]' '["ready",true,3]'
request GET /indexes/users_by_email/get/bob@x.org
field .name Bob
request PUT /kv/users/eve '{"email":"BOB@x.org"}'
expect 409 unique-violation

finish
